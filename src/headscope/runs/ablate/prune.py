"""The pruning curve: a model's score with fewer and fewer heads.

Heads are removed in three orders: by gradient importance, computed once; greedily, where the loss
decides at each step; and at random. Every second example chooses the heads, and the curve is that
of the others: the examples that chose the heads would flatter them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.encode import Batch, Encoded
from headscope.errors import UserError
from headscope.heads import Head, head_names, parse_heads
from headscope.models import Model
from headscope.runs.ablate.greedy import GreedySearch, GreedyState
from headscope.runs.ablate.importance import head_importance
from headscope.runs.ablate.objectives import Objective
from headscope.runs.ablate.outputs import BatchOutputs, join_outputs, outputs_dataset
from headscope.runs.ablate.parts import OutputParts
from headscope.runs.ablate.plan import NOTHING, Disabled, disabled_set
from headscope.runs.workers import Engine, Task

CANDIDATES = 3
POINTS = 20
SOURCE = "Michel et al. 2019, §4.2"
TITLE = "Loss with fewer and fewer heads"


@dataclass(frozen=True)
class PruneSettings:
    """How a pruning curve is computed.

    Parameters
    ----------
    candidates
        How many heads are tried at each step of the greedy order: those whose removal cost least
        when they were last tried.
    budget
        The greedy order ends after this many trials, passes over half of the examples. By default
        it has enough for all heads.
    points
        The curves are computed at ``points - 1`` numbers of remaining heads, evenly spaced.
    """

    candidates: int = CANDIDATES
    budget: int | None = None
    points: int = POINTS

    def __post_init__(self) -> None:
        for name, given, least in (
            ("number of candidates", self.candidates, 1),
            ("budget of trials", self.budget, 0),
            ("number of points", self.points, 2),
        ):
            if given is not None and given < least:
                raise UserError(f"the {name} must be {least} or more, got {given} instead")


class Pruning:
    """The steps of a pruning curve: a greedy search, then batches of the other examples.

    Parameters
    ----------
    model, objective
        The model, and what it is judged by.
    stack, way
        The stack whose heads are removed, and how.
    items
        All encoded examples.
    settings
        See :class:`PruneSettings`.
    batch_size, seed
        Examples per forward pass; the seed of the random order.

    Raises
    ------
    UserError
        If there are fewer than two examples.

    References
    ----------
    Michel et al. 2019, "Are Sixteen Heads Really Better than One?", §4.2.
    """

    def __init__(
        self,
        model: Model,
        objective: Objective,
        *,
        stack: str,
        way: str,
        items: Sequence[Encoded],
        settings: PruneSettings,
        batch_size: int,
        seed: int,
    ) -> None:
        if len(items) < 2:
            raise UserError(
                "a pruning curve needs two examples or more: one half chooses the heads, the other "
                "is scored",
                hint="give more examples",
            )
        self.model, self.objective, self.stack, self.way = model, objective, stack, way
        self.shape, self.seed = model.shape(stack), seed
        self.heads = self.shape.every_head
        self.choosing, self.scored = (
            list(model.batches(items[half::2], size=batch_size)) for half in (0, 1)
        )
        self.chosen_on = len(items) - len(items) // 2
        every, points = len(self.heads), settings.points
        counts = {round(every * step / points) for step in range(1, points)}
        self.counts = sorted(counts - {0, every})
        budget = settings.budget
        self.trials = every * (1 + settings.candidates) if budget is None else budget
        self.search = GreedySearch(
            self.heads, self._mean_losses, candidates=settings.candidates, budget=self.trials
        )
        self.parts = OutputParts()
        self.workers: Engine | None = None
        """Those who run batches with heads disabled: set before the first step."""

    @property
    def steps(self) -> int:
        """The number of steps, at most one per head for the search, and one per scored batch."""
        return len(self.heads) + len(self.scored)

    @property
    def total(self) -> int:
        """The work in all steps: passes times examples."""
        scored = sum(len(batch) for batch in self.scored)
        return self.trials * self.chosen_on + (3 * len(self.counts) + 1) * scored

    def work_after(self, step: int) -> int:
        """The work that is done after a step, in the units of :attr:`total`."""
        trials = self.trials if step >= len(self.heads) - 1 else self.search.state.trials
        return trials * self.chosen_on + (3 * len(self.counts) + 1) * self.parts.examples

    def do(self, step: int) -> None:
        """Do a step. Doing one again changes nothing."""
        if step >= len(self.heads):
            self.parts.add(step, self._outputs([self.scored_batch(step)], self.passes))
        elif not self.search.finished:
            self.search.step()

    def scored_batch(self, step: int) -> Batch:
        """The batch that is scored in a step after the search."""
        return self.scored[step - len(self.heads)]

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a checkpoint must hold."""
        kept = asdict(self.search.state) | {"removed": head_names(self.search.state.removed)}
        parts, arrays = self.parts.state()
        return {"search": kept, "parts": parts}, arrays

    def restore(self, state: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what a checkpoint held."""
        kept = state["search"]
        removed = parse_heads(kept["removed"]) if kept["removed"] else ()
        self.search.state = GreedyState(removed, tuple(kept["costs"]), kept["trials"])
        self.parts.restore(state["parts"], arrays)

    def dataset(self) -> xr.Dataset:
        """The curves: outputs and losses with fewer and fewer heads, in three orders."""
        found = self.parts.joined()
        assert found is not None  # there are two examples or more
        dataset = outputs_dataset(
            self.passes,
            found,
            self.objective.about(),
            self.way,
            title=TITLE,
            source=SOURCE,
        )
        orders = {f"order_{kind}": head_names(order) for kind, order in self.orders.items()}
        left = len(self.heads) - dataset["off"]
        return dataset.assign(left=left).assign_attrs(orders, chosen_on=self.chosen_on)

    @cached_property
    def orders(self) -> dict[str, tuple[Head, ...]]:
        """The order in which heads are removed: by importance, greedily, at random."""
        asked = [self.objective.ask(batch) for batch in self.choosing]
        values = np.concatenate(
            [head_importance(self.model, self.objective, one, self.stack) for one in asked]
        ).mean(0)
        shuffled = np.random.default_rng(self.seed).permutation(len(self.heads))
        return {
            "importance": tuple(
                self.heads[place] for place in np.argsort(values, axis=None, kind="stable")
            ),
            "greedy": self.search.state.removed,
            "random": tuple(self.heads[index] for index in shuffled),
        }

    @cached_property
    def passes(self) -> list[Disabled]:
        """What is disabled at each point of each curve, after a pass with all heads."""
        passes = [NOTHING]
        for kind, order in self.orders.items():
            for count in self.counts:
                if count <= len(order):
                    name = f"{kind}, {len(self.heads) - count} left"
                    passes.append(disabled_set(self.shape, order[:count], kind, name))
        return passes

    def _outputs(
        self, chosen: Sequence[Batch], passes: Sequence[Disabled], base: Disabled = NOTHING
    ) -> BatchOutputs:
        """What the passes give for some batches, in their order."""
        how = {"pruning": True}
        tasks = (Task(place, (batch, passes, base), how) for place, batch in enumerate(chosen))
        assert self.workers is not None
        found = dict(self.workers.map(tasks))
        return join_outputs(found[place][0] for place in range(len(chosen)))

    def _mean_losses(self, base: Sequence[Head], tried: Sequence[Head]) -> list[float]:
        """The mean loss without ``base``, then without each tried head as well."""
        start = disabled_set(self.shape, base) if base else NOTHING
        passes = [start, *(disabled_set(self.shape, [*base, head]) for head in tried)]
        losses = self._outputs(self.choosing, passes, start).losses.astype(np.float64)
        return [float(value) for value in np.nanmean(losses, 1)]
