"""Two models on the same batch, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, Queue
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.measures.base import Context, Measure
from headscope.measures.change import Difference
from headscope.models import LayerView, Model
from headscope.runs.forward import BatchValues, Pass


class Lockstep:
    """Two models on the same batch, each in a thread of its own.

    The first hands every block of rows over as soon as it has it, and waits until the one before is
    taken, so that at most two blocks of the first model are held at a time.
    """

    def __init__(
        self,
        first: Model,
        second: Model,
        measures: Sequence[Measure],
        stack: str,
        context: Context,
    ) -> None:
        self.change, *others = measures
        self.differences = [one for one in others if isinstance(one, Difference)]
        compared = [difference.measure for difference in self.differences]
        self.first, self.second = (
            Pass(model, compared, stack, context) for model in (first, second)
        )
        self.stack = stack
        # Networks of different kinds may cut their maps differently.
        self.whole_maps = type(first.network) is not type(second.network)

    def run(self, batch: Batch) -> BatchValues:
        """Likeness and differences of a batch."""
        found = self.attempt(batch, careful=False) or self.attempt(batch, careful=True)
        assert found is not None
        return found

    def attempt(self, batch: Batch, *, careful: bool) -> BatchValues | None:
        """Run both models; None if some attention is not finite, unless the pass is careful."""
        handed: Queue[Tensor | None] = Queue(maxsize=1)
        leading = HandOver(self.stack, handed, self.whole_maps)

        def lead() -> BatchValues | None:
            try:
                return self.first.attempt(batch, [leading], careful=careful)
            finally:
                handed.put(None)  # releases whoever waits for another block

        with ThreadPoolExecutor(1) as pool:
            ahead = pool.submit(lead)
            meeting = Meeting(self.change, batch, leading, ahead)
            try:
                after = self.second.attempt(batch, [meeting], careful=careful)
            finally:
                _drain(handed, ahead)
            before = ahead.result()
        if before is None or after is None:
            return None
        values = {self.change.name: torch.stack([*map(Tensor.cpu, meeting.layers)], 1).numpy()}
        for difference in self.differences:
            name = difference.measure.name
            values[difference.name] = after.values[name] - before.values[name]
        return BatchValues(values, {}, np.where(before.broken >= 0, before.broken, after.broken))


class HandOver:
    """Hands the blocks of the first model to the second."""

    def __init__(self, stack: str, handed: Queue[Tensor | None], whole_maps: bool) -> None:
        self.stack, self.handed, self.whole_maps = stack, handed, whole_maps

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Hand a block over."""
        if view.stack == self.stack:
            self.handed.put(block.to(torch.float32))

    def end(self, view: LayerView) -> None:
        """All blocks of the layer have been handed over."""


class Meeting:
    """Compares each block of the second model with the one that the first hands over."""

    def __init__(
        self,
        change: Measure,
        batch: Batch,
        leading: HandOver,
        ahead: Future[BatchValues | None],
    ) -> None:
        self.change, self.leading, self.ahead = change, leading, ahead
        self.whole_maps = leading.whole_maps
        self.batch = batch
        self.prepared: dict[torch.device, Any] = {}  # layers may be on several devices
        self.layers: list[Tensor] = []

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Compare a block."""
        if view.stack != self.leading.stack:
            return
        other = self.leading.handed.get()
        if other is None:
            self.ahead.result()  # raises what went wrong there
            raise AssertionError("the first model has fewer layers than it had")
        if block.device not in self.prepared:
            self.prepared[block.device] = self.change.prepare(self.batch, block.device)
        both = torch.stack([other.to(block.device), block.to(torch.float32)])
        self.change.rows(view, both, first_row, self.prepared[block.device])

    def end(self, view: LayerView) -> None:
        """Keep the values of a layer."""
        if view.stack == self.leading.stack:
            self.layers.append(self.change.end(view, self.prepared[view.output.device]))


def _drain(handed: Queue[Tensor | None], ahead: Future[BatchValues | None]) -> None:
    """Take what is still handed over, so that the first model is never left waiting."""
    while not ahead.done():
        try:
            handed.get(timeout=0.02)
        except Empty:
            continue
