"""Two models on the same batch, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from queue import Empty, Full, Queue
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.measures.base import Context, Measure
from headscope.measures.change import Difference
from headscope.models import LayerView, Model
from headscope.runs.forward import BatchValues, Pass

TURN = 0.02
"""Seconds after which a model that waits for the other looks whether it is still there."""


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
        leading = HandOver(self.stack, self.whole_maps)

        def lead() -> BatchValues | None:
            try:
                return self.first.attempt(batch, [leading], careful=careful)
            finally:
                leading.give(None)  # releases whoever waits for another block

        # Twice: a second Ctrl-C may come before the first exit has noted that it is over.
        with ThreadPoolExecutor(1) as pool, leading, leading:
            ahead = pool.submit(lead)
            meeting = Meeting(self.change, batch, leading, ahead)
            after = self.second.attempt(batch, [meeting], careful=careful)
            leading.drain(ahead)
            before = ahead.result()
        if before is None or after is None:
            return None
        values = {self.change.name: torch.stack([*map(Tensor.cpu, meeting.layers)], 1).numpy()}
        for difference in self.differences:
            name = difference.measure.name
            values[difference.name] = after.values[name] - before.values[name]
        return BatchValues(values, {}, np.where(before.broken >= 0, before.broken, after.broken))


class HandOver:
    """Hands the blocks of the first model to the second, as long as they are taken.

    On leaving the context nobody takes them any more, and the first model stops at its next block.
    Ctrl-C may come at any moment, and again while its consequences are under way: a thread that
    waited for the second model would then wait for ever, and the process for the thread.
    """

    def __init__(self, stack: str, whole_maps: bool) -> None:
        self.stack, self.whole_maps = stack, whole_maps
        self.handed: Queue[Tensor | None] = Queue(maxsize=1)
        self.over = False

    def __enter__(self) -> HandOver:
        return self

    def __exit__(self, *_: object) -> None:
        self.over = True

    def give(self, block: Tensor | None) -> bool:
        """Hand a block over, or None after the last; False if nobody takes it any more."""
        while not self.over:
            try:
                self.handed.put(block, timeout=TURN)
            except Full:
                continue
            return True
        return False

    def drain(self, ahead: Future[BatchValues | None]) -> None:
        """Take what is still handed over, until the first model is done."""
        while not ahead.done():
            try:
                self.handed.get(timeout=TURN)
            except Empty:
                continue

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Hand a block over."""
        if view.stack == self.stack and not self.give(block.to(torch.float32)):
            raise CancelledError

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
