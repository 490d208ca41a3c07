"""What is done to a batch: many sets of heads are disabled in turn, here or in a worker.

One full pass over the batch records the inputs of the layers; each further pass computes only the
layers from its first disabled head up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import Batch
from headscope.models import LayerView, Model, OutputListener, Replacement
from headscope.models.cache import LayerCache
from headscope.models.model import ModelWork
from headscope.models.replace import FittedReplacement
from headscope.runs.ablate.objectives import Objective, Question, example_losses
from headscope.runs.ablate.outputs import BatchOutputs, finite_outputs
from headscope.runs.ablate.plan import NOTHING, Disabled

Means = Mapping[int, Tensor]
"""The mean output of every head, {layer from 0: (head, width)}."""
STACKED_TOKENS = 256
"""Passes over a batch of fewer tokens are run several at once, up to about so many tokens. That
takes half as long for 16 tokens, 0.7 times as long for 32, and gains nothing beyond these many.
"""


class Sweep:
    """Runs a batch with some heads disabled, then with others.

    The layers below the first disabled head are not computed again: their outputs are recorded in
    one full pass. Passes that begin in the same layer are run together if the batch is small.

    Parameters
    ----------
    model, objective
        The model, and what it is judged by.
    stack
        The stack whose heads are disabled.
    way
        How: uniform, zero or mean.
    """

    def __init__(self, model: Model, objective: Objective, stack: str, way: str) -> None:
        self.cache = LayerCache(model)
        self.objective, self.stack, self.way = objective, stack, way
        # Bitsandbytes rounds by what is in a batch, and halves would differ by more than 1e-6.
        exact = not model.quantization and model.network.dtype == torch.float32
        self.stacks = objective.by_example and exact
        """Whether several passes may be run at once."""
        self.trusted = False
        """Whether that was seen to give what single passes give."""

    def outputs(
        self,
        question: Question,
        passes: Sequence[Disabled],
        *,
        base: Disabled = NOTHING,
        means: Means | None = None,
        update: Callable[[int], None] | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The outputs and losses of each pass.

        Parameters
        ----------
        question
            A batch that the objective made.
        passes
            What is disabled in each pass.
        base
            What the recorded pass disables. All passes should disable at least this.
        means
            For the way mean: the mean output of every head.
        update
            Called with the number of passes done.

        Returns
        -------
        outputs : array
            (pass, example, number).
        losses : array
            (pass, example).
        """
        offs = [self._replacement(off, means) for off in passes]
        done = 0
        with torch.inference_mode():
            with self.objective.asking(question):
                recorded = self.cache.record(
                    question.batch, replacement=self._replacement(base, means)
                )
                outputs = [self.objective.read(recorded, question)] * len(passes)
            for group in self._groups(question.batch, passes, offs, base):
                for place, output in zip(group, self._run(question, offs, group), strict=True):
                    outputs[place] = output
                done += len(group)
                if update:
                    update(done)
            metric, gold = self.objective.metric, question.gold
            losses = [example_losses(metric, output, gold) for output in outputs]
            return _array(outputs), _array(losses)

    def _groups(
        self,
        batch: Batch,
        passes: Sequence[Disabled],
        offs: Sequence[FittedReplacement],
        base: Disabled,
    ) -> list[list[int]]:
        """The passes that are to be run, those that are run at once together."""
        by_start: dict[int, list[int]] = {}
        for place, off in enumerate(passes):
            if off.heads != base.heads:
                by_start.setdefault(self.cache.start(offs[place]), []).append(place)
        most = max(STACKED_TOKENS // batch.ids.size, 1) if self.stacks else 1
        groups = []
        for places in by_start.values():
            count = -(-len(places) // most)  # about equally large
            groups += [places[part::count] for part in range(count)]
        return groups

    def _run(
        self, question: Question, offs: Sequence[FittedReplacement], group: Sequence[int]
    ) -> list[Tensor]:
        """The outputs of some passes."""
        if len(group) > 1 and self.stacks:
            if self.trusted:
                return self._run_stacked(question, offs, group)
            singly = [self._run_one(question, offs[place]) for place in group]
            try:
                together = self._run_stacked(question, offs, group)
            except (RuntimeError, ValueError, IndexError, TypeError):
                together = []
            self.trusted = self.stacks = bool(together) and all(map(_alike, singly, together))
            return together if self.trusted else singly
        return [self._run_one(question, offs[place]) for place in group]

    def _run_one(self, question: Question, off: FittedReplacement) -> Tensor:
        with self.objective.asking(question):
            return self.objective.read(self.cache.forward(off), question)

    def _run_stacked(
        self, question: Question, offs: Sequence[FittedReplacement], group: Sequence[int]
    ) -> list[Tensor]:
        copies = question.repeated(len(group))
        with self.objective.asking(copies):
            output = self.cache.forward_stacked([offs[place] for place in group])
            found = self.objective.read(output, copies)
        return list(torch.tensor_split(found, len(group)))

    def _replacement(self, off: Disabled, means: Means | None) -> FittedReplacement:
        replacement = Replacement(off.heads, way=self.way, stack=self.stack, means=means)
        return replacement.fit(self.cache.model)


def _alike(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(
        one, other, rtol=1e-3, atol=1e-4, equal_nan=True
    )


def _array(tensors: list[Tensor]) -> NDArray[np.float32]:
    return np.asarray(torch.stack(tensors).float().cpu().numpy())


def head_means(model: Model, stream: Iterable[Batch], stack: str) -> dict[int, Tensor]:
    """The mean output of every head over all real tokens: what the way mean puts in its place.

    Parameters
    ----------
    model
        The model.
    stream
        Batches of examples.
    stack
        The stack whose heads are meant.

    Returns
    -------
    dict
        {layer from 0: (head, width)}.
    """
    sums: dict[int, Tensor] = {}
    tokens = 0
    for batch in stream:
        mask = torch.from_numpy(batch.mask).to(model.device)
        tokens += int(mask.sum())

        def listen(view: LayerView, mask: Tensor = mask) -> None:
            if view.stack == stack:
                found = view.output[mask].double().sum(0)
                sums[view.layer] = sums[view.layer] + found if view.layer in sums else found

        with torch.inference_mode():
            model.forward(batch, listeners=[OutputListener(listen)])
    return {layer: total / tokens for layer, total in sums.items()}


def head_importance(
    model: Model, objective: Objective, question: Question, stack: str
) -> NDArray[np.float32]:
    """How much each example's loss depends on a gate ξ on each head's output, |∂loss/∂ξ| at ξ = 1.

    With the output of a head written ξ·o, the derivative is the sum of o · ∂loss/∂o over tokens and
    width. The total loss is a sum over examples, none of which sees another, so one forward and one
    backward pass give each example its own.

    Parameters
    ----------
    model, objective
        The model, and what it is judged by.
    question
        A batch that the objective made.
    stack
        The stack whose heads are meant.

    Returns
    -------
    array
        (example, layer, head).

    References
    ----------
    Michel et al. 2019, "Are Sixteen Heads Really Better than One?", §4.1.
    """
    views: list[LayerView] = []

    def listen(view: LayerView) -> None:
        if view.stack == stack:
            views.append(view)

    with torch.enable_grad(), objective.asking(question):
        outputs = objective.read(model.forward(question.batch, listeners=[listen]), question)
        losses = example_losses(objective.metric, outputs, question.gold)
        gradients = torch.autograd.grad(
            losses.nan_to_num(0.0).sum(), [view.output for view in views]
        )
    layers = [
        (gradient * view.output).sum((1, 3)).abs().float()
        for view, gradient in zip(views, gradients, strict=True)
    ]
    return np.asarray(torch.stack(layers, 1).detach().cpu().numpy(), np.float32)


@dataclass(eq=False)
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

    made_there: ClassVar[tuple[str, ...]] = ("sweep",)

    model: Model
    objective: Objective
    _: KW_ONLY
    stack: str
    way: str
    means: Means | None = None
    choosing_means: Means | None = None
    seed: int = 0

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
