"""What an ablation does to a batch, here or in a worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import torch

from headscope.encode import Batch
from headscope.models import Model
from headscope.models.sending import ModelWork
from headscope.runs.ablate.importance import head_importance
from headscope.runs.ablate.objectives import Objective
from headscope.runs.ablate.outputs import BatchOutputs, finite_outputs
from headscope.runs.ablate.plan import NOTHING, Disabled
from headscope.runs.ablate.sweep import Means, Sweep


class AblationWork(ModelWork):
    """All passes over a batch. It is sent to each worker once.

    Parameters
    ----------
    model, objective
        The model, and what it is judged by.
    stack
        The stack whose heads are disabled.
    way
        How: uniform, zero or mean.
    means, choosing_means
        For the way mean: the mean output of every head, over all examples, and over those that
        choose the heads of a pruning curve.
    seed
        Set before the first batch, for objectives that draw random numbers.
    """

    made_there = ("sweep",)

    def __init__(
        self,
        model: Model,
        objective: Objective,
        *,
        stack: str,
        way: str,
        means: Means | None = None,
        choosing_means: Means | None = None,
        seed: int = 0,
    ) -> None:
        self.model, self.objective, self.stack, self.way = model, objective, stack, way
        self.means, self.choosing_means, self.seed = means, choosing_means, seed

    @cached_property
    def sweep(self) -> Sweep:
        """Runs batches with heads disabled."""
        torch.manual_seed(self.seed)
        return Sweep(self.model, self.objective, self.stack, self.way)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {
            "objective": _exchanged(self.objective, self.model, _TheModel)
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.objective = _exchanged(self.objective, _TheModel, self.model)

    def __call__(
        self,
        batch: Batch,
        passes: Sequence[Disabled],
        base: Disabled = NOTHING,
        *,
        pruning: bool = False,
        importance: bool = False,
        update: Callable[[int], None] | None = None,
    ) -> tuple[BatchOutputs, bool]:
        """Run all passes over a batch.

        Parameters
        ----------
        batch
            The examples.
        passes
            What is disabled in each pass.
        base
            What all of them disable.
        pruning
            Whether the passes are those of a pruning curve.
        importance
            Whether gradient importance is computed.
        update
            Called with the number of passes done.

        Returns
        -------
        outputs : BatchOutputs
            What the passes gave.
        skips : bool
            Whether layers below the first disabled head were skipped.
        """
        sweep, question = self.sweep, self.objective.ask(batch)
        means = self.choosing_means if pruning else self.means
        outputs, losses = sweep.outputs(question, passes, base=base, means=means, update=update)
        values = None
        if importance:
            values = head_importance(self.model, self.objective, question, self.stack)
        return finite_outputs(batch, question, outputs, losses, values), sweep.cache.skips


class _TheModel:
    """Stands for the model of the work in an objective that is sent with it."""


def _exchanged(objective: Objective, one: Any, other: Any) -> Objective:
    """A copy of an objective with one attribute's value in place of another."""
    changed = copy(objective)
    for name, value in vars(objective).items():
        if value is one:
            setattr(changed, name, other)
    return changed
