"""Taking part in a pass to find the examples that are worth keeping, head by head.

Results keep the first rows of maps: the largest weights of each row, and the scores and distances
of heads. What works on tensors does so where they are, with shapes that are known beforehand, so
that the processor never waits for a device.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import ROOT, surface_words
from headscope.encode import TEXT, Batch, Encoded
from headscope.files import digest_of
from headscope.measures.base import Context, Together
from headscope.measures.roles import sinks
from headscope.models import LayerView, Model
from headscope.results.kept import (
    NO_HEAD,
    PARTS,
    REACH,
    SCALE,
    Bars,
    ExampleStore,
    KeptText,
    Sampled,
    SparseMap,
    StoredText,
)
from headscope.runs.text_maps import token_names

WINDOW = 128
"""How many rows and keys of a map are kept."""
KEYS = 8
"""How many keys of a row are kept."""
LEAST = 0.005
"""Weights are kept that are larger than this, after rounding."""
BITS = 16
_HALF = 2 ** (BITS - 1)


def working(block: Tensor, open_keys: Tensor) -> Tensor:
    """The attention of every row that is not on sinks, (batch, head, row).

    Parameters
    ----------
    block
        (batch, head, row, key).
    open_keys
        1 for keys that are not sinks, else 0, (batch, key).
    """
    return torch.bmm(block.flatten(1, 2), open_keys[:, :, None]).view(block.shape[:3])


def away(block: Tensor, open_keys: Tensor, first_row: int, work: Tensor) -> Tensor:
    """The attention of every row that is neither on sinks nor on the token itself."""
    rows = block.shape[2]
    own = block.diagonal(first_row, 2, 3) * open_keys[:, None, first_row : first_row + rows]
    return work - own


def largest(maps: Tensor) -> Tensor:
    """The largest weights of every row, with their keys, as one number each.

    Weights are rounded to multiples of 1 / 65535. The number is that multiple in its upper 16 bits
    (less 2**15, so that it fits), and 65535 minus the key in the lower ones: of equal weights, the
    leftmost comes first. The functions that find the largest elements of a tensor do not say which
    of equal ones they take, so all must differ.

    Parameters
    ----------
    maps
        (map, row, key).

    Returns
    -------
    Tensor
        (map, row, 8) of int32, the largest first; fewer if there are fewer keys.
    """
    keys = maps.shape[-1]
    backwards = torch.arange(SCALE, SCALE - keys, -1, dtype=torch.int32, device=maps.device)
    multiples = (maps * SCALE).round_().clamp_(0, SCALE).to(torch.int32)
    codes = multiples.sub_(_HALF).mul_(2**BITS).add_(backwards)
    return codes.topk(min(KEYS, keys), -1).values


def sparse_map(codes: NDArray[np.int32], rows: int) -> SparseMap:
    """The map that :func:`largest` made numbers of, without small weights and padding.

    Parameters
    ----------
    codes
        (row, 8).
    rows
        How many rows are of real tokens.

    Examples
    --------
    >>> maps = torch.tensor([[[0.1, 0.7, 0.1, 0.1], [0.996, 0.004, 0.0, 0.0]]])
    >>> sparse_map(largest(maps)[0].numpy(), 2).keys.tolist()
    [1, 0, 2, 3, 0]
    """
    codes = codes[:rows]
    multiples = (codes >> BITS) + _HALF
    kept = multiples > LEAST * SCALE
    keys = SCALE - (codes & SCALE)
    return SparseMap(
        kept.sum(1).astype(np.uint8),
        keys[kept].astype(np.uint16),
        multiples[kept].astype(np.uint16),
    )


def distances(block: Tensor, open_keys: Tensor, counted: Tensor, first_row: int) -> Tensor:
    """The attention at each distance, summed over rows, (batch, head, 33).

    Parameters
    ----------
    block
        (batch, head, row, key).
    open_keys
        1 for keys that are not sinks, else 0, (batch, key).
    counted
        1 for rows that count, else 0, (batch, row).
    first_row
        The number of the block's first row.
    """
    rows, keys = block.shape[2:]
    queries = torch.arange(first_row, first_row + rows, device=block.device)[:, None]
    places = torch.arange(keys, device=block.device)
    weights = block * (counted[:, None, :, None] * open_keys[:, None, None, :])
    near = queries + torch.arange(1 - REACH, REACH, device=block.device)
    inside = (near >= 0) & (near < keys)
    index = near.clamp(0, keys - 1).expand(*block.shape[:2], -1, -1)
    close = (weights.gather(-1, index) * inside).sum(2)
    before, after = (
        (weights * far).sum((2, 3))[..., None]
        for far in (places <= queries - REACH, places >= queries + REACH)
    )
    return torch.cat([before, close, after], -1)


def even_distances(open_keys: NDArray[np.bool_], rows: int, causal: bool) -> NDArray[np.float32]:
    """The share of each distance if a row attends evenly to what it sees, (row, 33).

    Parameters
    ----------
    open_keys
        Which tokens are not sinks, (key,).
    rows
        How many rows there are.
    causal
        Whether a row sees only itself and the tokens before it.

    Examples
    --------
    >>> even = even_distances(np.array([False, True, True]), 3, causal=False)
    >>> even[1, [15, 16, 17]].tolist()
    [0.0, 0.5, 0.5]
    """
    before = np.concatenate([[0], np.cumsum(open_keys)])
    queries, keys = np.arange(rows), len(open_keys)
    near = queries[:, None] + np.arange(1 - REACH, REACH)
    inside = (near >= 0) & (near < keys) & ((near <= queries[:, None]) | (not causal))
    close = np.where(inside, open_keys[near.clip(0, keys - 1)], 0)
    left = before[(queries - REACH + 1).clip(0, keys)]
    right = before[-1] - before[(queries + REACH).clip(0, keys)]
    counts = np.column_stack([left, close, right * (not causal)]).astype(np.float64)
    shares: NDArray[np.float32] = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    return shares.astype(np.float32)


def picked(blocks: Sequence[Tensor], maps: Tensor) -> Tensor:
    """Some maps of a layer, (map, row, key), from blocks of its rows.

    ``maps`` are their numbers: the place in the batch times the heads of a layer, plus the head.
    """
    parts = [block.flatten(0, 1).index_select(0, maps) for block in blocks]
    return parts[0] if len(parts) == 1 else torch.cat(parts, 1)


LONGEST_WORD = 256
"""Characters that are kept of a word."""


def kept_text(model: Model, item: Encoded, key: int, window: int) -> KeptText:
    """The tokens of an example within the window, with their words and tree.

    Parameters
    ----------
    model
        Names the special tokens.
    item
        The example.
    key
        Its number and part; see :data:`headscope.results.kept.PARTS`.
    window
        How many tokens are kept.
    """
    example, number = item.example, divmod(key, PARTS)
    units = item.unit[:window].tolist()
    kept = sorted({unit for unit in units if unit >= 0})
    moved = {unit: new for new, unit in enumerate(kept)}
    surface = surface_words(example, kept[-1] + 1 if kept else 0)
    words = [example.words[unit] for unit in kept] if example.words else []
    heads = [
        NO_HEAD
        if word.head is None
        else ROOT
        if word.head == ROOT
        else moved.get(word.head, NO_HEAD)
        for word in words
    ]
    return KeptText(
        number=number[0],
        id=example.id,
        group=example.group,
        tokens=tuple(token_names(model, item)[:window]),
        unit=tuple(moved.get(unit, -1) for unit in units),
        words=tuple(surface[unit][:LONGEST_WORD] for unit in kept),
        special=tuple((item.kind[:window] != TEXT).tolist()),
        sink=tuple(sinks(item)[:window].tolist()),
        head=tuple(heads) or (NO_HEAD,) * len(kept),
        relation=tuple(word.relation for word in words) or ("",) * len(kept),
        sentence=tuple(word.sentence for word in words) or (0,) * len(kept),
        length=len(item),
        part=number[1],
    )


def sample_digest(item: Encoded, seed: int, key: int) -> bytes:
    """The digest by which the sample is drawn: of the seed and of what the example is.

    Equal examples have equal digests, wherever they are in a corpus. The parts of an example that
    is split are drawn one by one.
    """
    example = item.example
    parts = (str(seed), str(key % PARTS), example.id, example.group, *example.texts)
    return bytes.fromhex(digest_of(*parts))


def rows_and_keys(batch: Batch) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """1 for rows of words within the window, (batch, row), and for keys that are not sinks."""
    counted = np.zeros((len(batch), min(batch.width, WINDOW)), np.float32)
    open_keys = np.zeros((len(batch), batch.width), np.float32)
    for row, item in enumerate(batch.items):
        counted[row, : len(item)] = (item.kind == TEXT)[: counted.shape[1]]
        open_keys[row, : len(item)] = ~sinks(item)
    return counted, open_keys


SPARE, GROWTH = 6, 1.25
"""Room is made for so many maps of a layer beside those that were needed before, times GROWTH."""


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
        counted, open_keys = rows_and_keys(batch)
        self.window, self.counted_rows = counted.shape[1], counted.sum(1)
        self.digests = self._drawn(bars)
        self.sampled = list(self.digests)
        heads, sampled = self.context.shape.heads, np.array(self.sampled, np.int64)
        even = np.zeros((len(sampled), self.window, 2 * REACH + 1), np.float32)
        for place, row in enumerate(self.sampled):
            real = open_keys[row, : len(batch.items[row])] > 0
            rows = min(len(real), self.window)
            even[place, :rows] = even_distances(real, rows, self.context.causal)

        def there(array: NDArray[Any]) -> Tensor:
            return torch.from_numpy(array).to(device)

        self.open_keys, self.counted = there(open_keys), there(counted)
        self.share = there(counted / np.maximum(self.counted_rows, 1)[:, None])
        self.numbers = there(np.array(self.example_keys, np.int64))
        self.bar_scores, self.bar_keys = there(bars.scores), there(bars.keys)
        self.drawn, self.uniform = there(sampled), there(even)
        self.drawn_maps = there((sampled[:, None] * heads + np.arange(heads)).ravel())
        self.taken: list[tuple[Tensor, ...]] = []
        """Of each layer the scores, how many maps enter and which, the maps, and the shares."""
        self._forget_layer()

    def on(self, batch: Batch, device: Any) -> Self:
        """The same for layers that are on another device."""
        there = copy.copy(self)
        there.start(batch, device)
        there.taken = self.taken
        return there

    def _drawn(self, bars: Bars) -> dict[int, bytes]:
        """The examples that belong to the sample, by what is known so far, with their digests."""
        drawn = {}
        for place, (item, key) in enumerate(zip(self.batch.items, self.example_keys, strict=True)):
            digest = sample_digest(item, self.context.seed, key)
            if self.counted_rows[place] and (bars.sample is None or (digest, key) <= bars.sample):
                drawn[place] = digest
        return drawn

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
        span = slice(first_row, first_row + rows)
        work = working(block, self.open_keys)[:, :, :rows]
        block = block[:, :, :rows]
        strength = away(block, self.open_keys, first_row, work)
        self.score.append((strength * self.share[:, None, span]).sum(-1))
        if self.sampled:
            drawn, words = self.drawn, self.counted[self.drawn, span]
            self.distances.append(distances(block[drawn], self.open_keys[drawn], words, first_row))
            self.even.append((work[drawn] * words[:, None]) @ self.uniform[:, span])
        # A view would hold all keys of a long input.
        wide = block.shape[3] > self.window
        self.blocks.append(block[..., : self.window].clone() if wide else block)

    def end(self, view: LayerView) -> None:
        """Pick the maps of the examples that enter."""
        nothing = self.counted.sum(1) == 0  # no word to ask
        scores = torch.stack(self.score).sum(0).masked_fill(nothing[:, None], float("-inf"))
        entering = self._entering(scores, self.context.shape.place(view.layer)).flatten()
        order = torch.sort(entering.to(torch.uint8), descending=True, stable=True).indices
        chosen = order[: self._room(len(order))]
        codes = largest(picked(self.blocks, torch.cat([self.drawn_maps, chosen])))
        none = [scores.new_zeros(0, scores.shape[1], self.uniform.shape[2])]
        shares = (torch.stack(sums or none).sum(0) for sums in (self.distances, self.even))
        self.taken.append((scores, entering.sum(), chosen, codes, *shares))
        self._forget_layer()

    def _entering(self, scores: Tensor, layer: int) -> Tensor:
        """Which examples may be among the strongest of each head, (batch, head)."""
        assert self.store is not None
        bar, key = self.bar_scores[layer], self.bar_keys[layer]
        reached = (scores > bar) | ((scores == bar) & (self.numbers[:, None] <= key))
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

    def take(self) -> Self:
        """What the batch gave, as it stays when others are run.

        It is copied from the device as often however many layers there are.
        """
        self.scores, self.entering, self.chosen, self.codes, *shares = (
            torch.stack([layer.to(self.home) for layer in layers]).cpu().numpy()
            for layers in zip(*self.taken, strict=True)
        )
        self.distance_share, self.even_share = shares
        self.needed[self.batch.index] = self.last = self.most
        return copy.copy(self)

    # --- what the batch gave ---

    @property
    def most(self) -> int:
        """The most maps that a layer needed room for."""
        return int(self.entering.max(initial=0))

    @property
    def complete(self) -> bool:
        """Whether there was room for all of them."""
        return self.most <= int(self.chosen.shape[1])

    def into(self, store: ExampleStore, usable: NDArray[np.bool_]) -> None:
        """Keep what belongs into a store, of the examples whose attention is finite."""
        heads, first = self.scores.shape[2], len(self.drawn_maps)
        for layer, count in enumerate(self.entering.tolist()):
            for number, chosen in enumerate(self.chosen[layer, :count].tolist()):
                example, head = divmod(chosen, heads)
                score, place = float(self.scores[layer, example, head]), layer * heads + head
                if usable[example] and store.takes(place, score, self.example_keys[example]):
                    sparse = sparse_map(self.codes[layer, first + number], self._length(example))
                    text = partial(self._text, example)
                    store.add(place, score, self.example_keys[example], sparse, text)
        for number, example in enumerate(self.sampled):
            if usable[example]:
                codes = self.codes[:, number * heads : (number + 1) * heads]
                sampled = Sampled(
                    self.digests[example],
                    self.example_keys[example],
                    int(self.counted_rows[example]),
                    self.scores[:, example].copy(),
                    self.distance_share[:, number].copy(),
                    self.even_share[:, number].copy(),
                    [sparse_map(code, self._length(example)) for layer in codes for code in layer],
                )
                store.add_sampled(sampled, partial(self._text, example))

    def _length(self, example: int) -> int:
        return min(len(self.batch.items[example]), WINDOW)

    def _text(self, example: int) -> StoredText:
        item, key = self.batch.items[example], self.example_keys[example]
        text = kept_text(self.model, item, key, WINDOW)
        return StoredText(len(text.tokens), text.to_json())
