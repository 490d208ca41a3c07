"""Takes part in a pass and finds the examples that are worth keeping, head by head."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import TEXT, Batch
from headscope.measures.base import Context, Together
from headscope.measures.roles import sinks
from headscope.models import LayerView, Model
from headscope.results.stored import Bars, ExampleStore
from headscope.runs.keeping.found import BatchExamples
from headscope.runs.keeping.texts import sample_digest
from headscope.runs.keeping.windows import (
    WINDOW,
    away,
    distances,
    even_distances,
    largest,
    picked,
    working,
)

SPARE, GROWTH = 6, 1.25
"""Room is made for so many maps of a layer beside those that were needed before, times GROWTH."""


@dataclass
class Prepared:
    """What is the same for all layers of a batch, where a layer's maps are.

    Parameters
    ----------
    open_keys
        1 for keys that are not sinks, (batch, key).
    asked, share
        1 for rows of words, (batch, row); the same divided by their number.
    keys
        Number and part of each example, (batch,).
    bar_scores, bar_keys
        What an example must reach, (layer, head).
    sampled
        The examples that are taken for the sample, by their places in the batch.
    even
        What even attention gives at each distance, (sampled, row, distance).
    maps
        The numbers of the maps of the sampled examples.
    """

    open_keys: Tensor
    asked: Tensor
    share: Tensor
    keys: Tensor
    bar_scores: Tensor
    bar_keys: Tensor
    sampled: Tensor
    even: Tensor
    maps: Tensor


@dataclass
class LayerFound:
    """What a layer gave: scores (batch, head), how many maps enter and which, and the maps."""

    scores: Tensor
    entering: Tensor
    chosen: Tensor
    codes: Tensor
    share: Tensor
    even: Tensor


class Keeper(Together):
    """Finds, in a pass, the examples that are worth keeping.

    Scores are known when all rows of the window have been seen, so the blocks that cover it are
    held until then. Maps are then picked of the examples that beat what a store already has. How
    many that are is known on the device alone, and asking would make the processor wait in every
    layer: so room is made for somewhat more than was needed lately, and a batch for which it is too
    small is run again.

    Parameters
    ----------
    model
        The model that is run.
    context
        Of the run.

    Attributes
    ----------
    store
        What is kept so far.
    keys
        Number and part of each example, by the identity of its tokens.
    careful
        Whether some examples may turn out to be unusable at the end.
    room
        Make room for so many maps; None for as many as are expected.
    """

    def __init__(self, model: Model, context: Context) -> None:
        super().__init__([])
        self.model, self.context = model, context
        self.store: ExampleStore | None = None
        self.keys: Mapping[int, int] = {}
        self.careful = False
        self.room: int | None = None
        self.needed: dict[int, int] = {}
        """How much room the last batch of each number needed. Batches of one number are alike: a
        unit's examples are sorted by length."""
        self.last = 0

    def start(self, batch: Batch, device: Any) -> None:
        """Begin a batch."""
        assert self.store is not None
        self.batch, self.home = batch, device
        bars = self.store.bars()
        self.example_keys = [self.keys[id(item)] for item in batch.items]
        self.window = min(batch.width, WINDOW)
        asked = np.zeros((len(batch), self.window), np.float32)
        open_keys = np.zeros((len(batch), batch.width), np.float32)
        for row, item in enumerate(batch.items):
            asked[row, : len(item)] = (item.kind == TEXT)[: self.window]
            open_keys[row, : len(item)] = ~sinks(item)
        self.asked_rows = asked.sum(1)
        self.sampled, self.digests = self._drawn(bars)
        self.ready = self._prepared(bars, asked, open_keys, device)
        self.found: list[LayerFound] = []
        self._forget_layer()

    def on(self, batch: Batch, device: Any) -> Self:
        """The same for layers that are on another device."""
        there = copy.copy(self)
        there.start(batch, device)
        there.found = self.found
        return there

    def _drawn(self, bars: Bars) -> tuple[list[int], list[bytes]]:
        """The examples that belong to the sample, by what is known so far."""
        seed, drawn = self.context.seed, []
        for place, (item, key) in enumerate(zip(self.batch.items, self.example_keys, strict=True)):
            digest = sample_digest(item, seed, key)
            if self.asked_rows[place] and (bars.sample is None or (digest, key) <= bars.sample):
                drawn.append((place, digest))
        return [place for place, _ in drawn], [digest for _, digest in drawn]

    def _prepared(
        self,
        bars: Bars,
        asked: NDArray[np.float32],
        open_keys: NDArray[np.float32],
        device: Any,
    ) -> Prepared:
        heads, causal = self.context.shape.heads, self.context.causal
        even = np.zeros((len(self.sampled), self.window, 33), np.float32)
        for place, row in enumerate(self.sampled):
            real = open_keys[row, : len(self.batch.items[row])] > 0
            rows = min(len(real), self.window)
            even[place, :rows] = even_distances(real, rows, causal)
        sampled = np.array(self.sampled, np.int64)
        maps = (sampled[:, None] * heads + np.arange(heads)).ravel()
        share = asked / np.maximum(self.asked_rows, 1)[:, None]
        keys = np.array(self.example_keys, np.int64)
        arrays = (open_keys, asked, share, keys, bars.scores, bars.keys, sampled, even, maps)
        return Prepared(*(torch.from_numpy(array).to(device) for array in arrays))

    def _forget_layer(self) -> None:
        self.blocks: list[Tensor] = []
        self.score: list[Tensor] = []
        self.distances: list[Tensor] = []
        self.even: list[Tensor] = []

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Add to the scores, and hold the rows of the window."""
        rows = min(block.shape[2], self.window - first_row)
        if rows <= 0:
            return
        ready, span = self.ready, slice(first_row, first_row + rows)
        work = working(block, ready.open_keys)[:, :, :rows]
        block = block[:, :, :rows]
        found = away(block, ready.open_keys, first_row, work)
        self.score.append((found * ready.share[:, None, span]).sum(-1))
        if self.sampled:
            chosen, asked = ready.sampled, ready.asked[ready.sampled, span]
            self.distances.append(
                distances(block[chosen], ready.open_keys[chosen], asked, first_row)
            )
            self.even.append((work[chosen] * asked[:, None]) @ ready.even[:, span])
        # A view would hold all keys of a long input.
        wide = block.shape[3] > self.window
        self.blocks.append(block[..., : self.window].clone() if wide else block)

    def end(self, view: LayerView) -> None:
        """Pick the maps of the examples that enter."""
        ready, layer = self.ready, self.context.shape.place(view.layer)
        nothing = ready.asked.sum(1) == 0  # no word to ask
        scores = torch.stack(self.score).sum(0).masked_fill(nothing[:, None], float("-inf"))
        entering = self._entering(scores, layer).flatten()
        order = torch.sort(entering.to(torch.uint8), descending=True, stable=True).indices
        chosen = order[: self._room(len(order))]
        maps = picked(self.blocks, torch.cat([ready.maps, chosen]))
        none = scores.new_zeros(0, scores.shape[1], ready.even.shape[2])
        self.found.append(
            LayerFound(
                scores,
                entering.sum(),
                chosen,
                largest(maps),
                torch.stack(self.distances).sum(0) if self.sampled else none,
                torch.stack(self.even).sum(0) if self.sampled else none,
            )
        )
        self._forget_layer()

    def _entering(self, scores: Tensor, layer: int) -> Tensor:
        """Which examples may be among the strongest of each head, (batch, head)."""
        assert self.store is not None
        ready = self.ready
        bar, key = ready.bar_scores[layer], ready.bar_keys[layer]
        reached = (scores > bar) | ((scores == bar) & (ready.keys[:, None] <= key))
        if not self.careful and len(scores) > self.store.most:  # more than can stay
            reached &= scores >= scores.topk(self.store.most, 0).values[-1]
        return reached & (scores > float("-inf"))

    def _room(self, every: int) -> int:
        """For how many maps of a layer there is room."""
        assert self.store is not None
        if self.room is not None:
            return min(self.room, every)
        before = self.needed.get(self.batch.index)
        if before is not None:
            return min(int(max(before, self.last) * GROWTH) + SPARE, every)
        # Of equal scores more than can stay may enter; then the batch is run again.
        return every if self.careful else min(self.context.shape.heads * self.store.most, every)

    @contextmanager
    def more_room(self, room: int) -> Iterator[None]:
        """Make room for so many maps of a layer."""
        self.room = room
        try:
            yield
        finally:
            self.room = None

    def take(self) -> BatchExamples:
        """What the batch gave. Copies from the device, as often however many layers there are."""
        names = ("scores", "entering", "chosen", "codes", "share", "even")
        scores, entering, chosen, codes, share, even = (
            torch.stack([getattr(one, name).to(self.home) for one in self.found]).cpu().numpy()
            for name in names
        )
        found = BatchExamples(
            self.model,
            self.batch,
            self.example_keys,
            self.digests,
            self.sampled,
            scores,
            entering,
            chosen,
            codes,
            share,
            even,
            [int(self.asked_rows[row]) for row in self.sampled],
        )
        self.needed[self.batch.index] = self.last = found.most
        return found
