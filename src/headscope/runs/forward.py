"""One batch through the model, with every measure listening layer by layer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import Batch
from headscope.encode.cross import key_batch
from headscope.measures.base import Context, Measure, Together
from headscope.models import LayerView, Listener, Model
from headscope.models.projections import ValueNorms, norm_weighted
from headscope.runs.keeping import Keeper

Off = TypeVar("Off")
"""A replacement of heads."""


@dataclass(frozen=True)
class BatchValues:
    """What one batch gave.

    Attributes
    ----------
    values
        Each measure's values, (example, layer, head, label).
    totals
        For measures that count right answers: how many answers there were, (example, label).
    broken
        For each example the layer (from 0) whose attention was not finite, or -1.
    examples
        Those that may be kept for some head, where examples are kept.
    """

    values: dict[str, NDArray[Any]]
    totals: dict[str, NDArray[Any]]
    broken: NDArray[np.int64]
    examples: Keeper | None = None


class Pass:
    """Runs batches through a model and computes all measures in the same forward pass.

    The maps of a layer are reduced as soon as they are computed, and dropped. Measures of one kind
    are computed together (:meth:`headscope.measures.Measure.together`), so that they can share
    work. Those on norm-weighted maps are given these instead of attention. A keeper, if there is
    one, finds the examples that are worth keeping.
    """

    def __init__(
        self,
        model: Model,
        measures: Sequence[Measure],
        stack: str,
        context: Context,
        keeper: Keeper | None = None,
    ) -> None:
        self.model = model
        self.stack = stack
        self.keeper = keeper
        kinds: dict[Any, list[Measure]] = {}
        for measure in measures:
            together: Any = type(measure).together
            kinds.setdefault((measure.maps, together.__func__), []).append(measure)
        self.groups: list[Together] = [
            type(kind[0]).together(kind, model, stack, context) for kind in kinds.values()
        ]
        if keeper is not None:
            self.groups.append(keeper)
        weighted = any(group.maps == "norm" for group in self.groups)
        self.norms = ValueNorms(model, stack) if weighted else None
        # No measure reads the logits, which may be larger than all maps: those of one token do.
        few = "logits_to_keep" in inspect.signature(model.network.forward).parameters
        self.inputs: dict[str, Any] = {"logits_to_keep": 1} if few else {}

    def run(self, batch: Batch) -> BatchValues:
        """One forward pass; rarely another one, with more room for examples."""
        values = self._surely(batch)
        if self.keeper is None or values.examples is None or values.examples.complete:
            return values
        with self.keeper.more_room(values.examples.most):
            return self._surely(batch)

    def _surely(self, batch: Batch) -> BatchValues:
        values = self.attempt(batch) or self.attempt(batch, careful=True)
        assert values is not None  # a careful pass finds out what is at fault
        return values

    def attempt(
        self, batch: Batch, listeners: Sequence[Listener] = (), *, careful: bool = False
    ) -> BatchValues | None:
        """One forward pass, or None if some attention is not finite.

        Whether it is finite is known at the end: asking after every block would make the processor
        wait. A ``careful`` pass finds out which examples are at fault, and is slower.

        Parameters
        ----------
        batch
            The tokens.
        listeners
            Others that observe the pass too.
        careful
            Find the examples whose attention is not finite.
        """
        if self.keeper is not None:
            self.keeper.careful = careful
        for group in self.groups:
            group.start(batch, self.model.device)
        hearing = Hearing(self, batch, careful)
        with torch.inference_mode(), ExitStack() as hooks:
            for group in self.groups:
                hooks.enter_context(group.during())
            self.model.forward(
                batch, listeners=[hearing, *listeners], stack=self.stack, **self.inputs
            )
        if not careful and not hearing.finite:
            return None
        values: dict[str, NDArray[Any]] = {}
        totals: dict[str, NDArray[Any]] = {}
        for group in self.groups:
            values |= {name: tensor.cpu().numpy() for name, tensor in group.finish().items()}
            totals |= {name: tensor.cpu().numpy() for name, tensor in group.totals().items()}
        examples = None if self.keeper is None else self.keeper.take()
        return BatchValues(values, totals, hearing.broken.cpu().numpy(), examples)


@dataclass
class Place:
    """What there is for the layers on one device.

    Attributes
    ----------
    groups
        The measures.
    masks
        Which rows and which keys are real, (batch, token).
    total
        The sum of all attention: finite only if all of it is.
    """

    groups: Sequence[Together]
    masks: tuple[Tensor, Tensor]
    total: Tensor


class Hearing:
    """Hands the blocks of a pass to the measures, and watches that all attention is finite."""

    def __init__(self, owner: Pass, batch: Batch, careful: bool) -> None:
        self.groups, self.stack, self.norms = owner.groups, owner.stack, owner.norms
        self.batch, self.careful, self.home = batch, careful, owner.model.device
        self.lengths: Tensor | None = None  # of what the keys of the present layer send
        self.whole_maps = any(group.whole_maps for group in self.groups)
        self.whole_maps |= self.norms is not None and self.norms.whole_maps
        self.broken = torch.full((len(batch),), -1, device=self.home)
        self.places: dict[torch.device, Place] = {}

    @property
    def finite(self) -> bool:
        """Whether all attention was finite."""
        return all(bool(torch.isfinite(place.total)) for place in self.places.values())

    def place(self, device: torch.device) -> Place:
        """What there is for the layers on a device. A large model may be spread over several."""
        if device not in self.places:
            masks = (self.batch.mask, key_batch(self.batch).mask)
            rows, keys = (torch.from_numpy(mask).to(device) for mask in masks)
            here = device == self.home
            groups = self.groups if here else [part.on(self.batch, device) for part in self.groups]
            self.places[device] = Place(groups, (rows, keys), torch.zeros((), device=device))
        return self.places[device]

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Take in a block of rows."""
        if view.stack != self.stack:
            return
        place = self.place(block.device)
        block = block.to(torch.float32)
        if self.norms is not None and self.lengths is None:
            self.lengths = self._lengths(view, place)
        if self.careful:
            block, bad = finite(block, *place.masks, first_row)
            self._note(view, bad)
        else:
            place.total = place.total + block.sum()
        weighted = block if self.lengths is None else norm_weighted(block, self.lengths)
        for group in place.groups:
            group.rows(view, weighted if group.maps == "norm" else block, first_row)

    def _lengths(self, view: LayerView, place: Place) -> Tensor:
        """The lengths of what the keys of a layer send; padding sends nothing."""
        assert self.norms is not None
        lengths = self.norms.of(view)
        rows, keys = place.masks
        real = keys[:, None] if lengths.dim() == 3 else (rows[:, :, None] & keys[:, None])[:, None]
        lengths = lengths.masked_fill_(~real, 0.0)
        if not self.careful:
            place.total = place.total + lengths.sum()
            return lengths
        self._note(view, ~torch.isfinite(lengths).flatten(1).all(1))
        return lengths.nan_to_num_(0.0, 0.0, 0.0)

    def _note(self, view: LayerView, bad: Tensor) -> None:
        """Note the first layer in which examples are at fault."""
        first = bad.to(self.home) & (self.broken < 0)
        self.broken = torch.where(first, view.layer, self.broken)

    def end(self, view: LayerView) -> None:
        """A layer is complete."""
        if view.stack == self.stack:
            self.lengths = None
            for group in self.place(view.output.device).groups:
                group.end(view)


def finite(block: Tensor, mask: Tensor, keys: Tensor, first_row: int = 0) -> tuple[Tensor, Tensor]:
    """A block without NaN or infinity, and which examples had any on their real tokens.

    Some masks leave NaN on padded rows, which is not an error.

    Parameters
    ----------
    block
        (batch, head, row, key).
    mask, keys
        Which rows and which keys are real, (batch, token).
    first_row
        The number of the block's first row.
    """
    rows = mask[:, first_row : first_row + block.shape[2]]
    real = (rows[:, :, None] & keys[:, None, : block.shape[3]])[:, None]
    block = block.masked_fill(~real, 0.0)
    bad = ~torch.isfinite(block).flatten(1).all(1)
    return block.nan_to_num(0.0, 0.0, 0.0), bad


class Stacking:
    """Runs a recorded batch with several replacements at once, where that gives the same.

    Some networks mix the copies of a batch, or round by what is in it: the first time, the copies
    are compared with single passes.

    Parameters
    ----------
    same
        Whether they are the same; None until that is known.
    """

    def __init__(self, same: bool | None = None) -> None:
        self.same = same

    def outputs(
        self, offs: Sequence[Off], run: Callable[[Sequence[Off]], Sequence[Tensor]]
    ) -> Sequence[Tensor]:
        """What each replacement gives.

        Parameters
        ----------
        offs
            The replacements.
        run
            Runs some of them in one pass.
        """
        if len(offs) == 1 or self.same is False:
            return [run([off])[0] for off in offs]
        if self.same:
            return run(offs)
        singly = [run([off])[0] for off in offs]
        try:
            together = run(offs)
        except (RuntimeError, ValueError, IndexError, TypeError):
            together = []
        self.same = len(together) == len(singly) and all(map(_alike, singly, together))
        return together if self.same else singly


def _alike(first: Tensor, second: Tensor) -> bool:
    return first.shape == second.shape and torch.allclose(
        first, second, rtol=1e-3, atol=1e-4, equal_nan=True
    )
