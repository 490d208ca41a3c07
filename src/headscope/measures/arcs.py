"""What a head would give a dependency relation if it knew nothing but positions.

A head that always looks two tokens back gives adjectives their nouns wherever the noun comes two
tokens before. Three measures together tell such a head from one that knows the relation: a head's
mean attention at every offset, its attention along every arc of the tree, and the offsets of these
arcs. :func:`headscope.stats.beyond_position` compares them.

Offsets are counted in tokens, from the query to the key: -1 is the token before. Offsets further
than :data:`FURTHEST` share one bin on each side. Special tokens take no part. Neither does the
first token of a text that has no start token: it is the sink of many decoders, and more often the
subject of a sentence than an ordinary token is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example
from headscope.encode import TEXT, Batch, Encoded
from headscope.measures.base import Context, Measure
from headscope.measures.kernels import PickedPairs, over_keys, to_device
from headscope.measures.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.models import LayerView

FURTHEST = 32
OFFSETS = ("earlier", *(str(offset) for offset in range(-FURTHEST, FURTHEST + 1)), "later")
"""The bins of offsets; the first and the last are what lies further away."""
NEAR = 2 * FURTHEST + 1
MOST_ROWS = 256
"""Whole maps of long texts are taken in by so many rows, so that little of them is copied."""


def _offset_words(offset: str) -> str:
    if offset in ("earlier", "later"):
        return f"further away, {offset}"
    away = int(offset)
    return f"{abs(away)} {'before' if away < 0 else 'after'}" if away else "itself"


OFFSET_WORDS = {offset: _offset_words(offset) for offset in OFFSETS}
DIRECTIONS = {
    "dependent to head": "dependent → head word",
    "head to dependent": "head word → dependent",
}


def taking_part(item: Encoded) -> NDArray[np.bool_]:
    """Which tokens count: words, but no first token of all, which is a start token or a sink."""
    return np.asarray((item.kind == TEXT) & (np.arange(len(item)) > 0))


def bins(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of each offset's bin.

    >>> [OFFSETS[number] for number in bins(np.array([-50, -1, 32, 33]))]
    ['earlier', '-1', '32', 'later']
    """
    return np.asarray(offsets.clip(-FURTHEST - 1, FURTHEST + 1) + FURTHEST + 1)


def offset_counts(part: NDArray[np.bool_], *, causal: bool) -> NDArray[np.int64]:
    """How many pairs of tokens there are at each offset, (bin,).

    >>> offset_counts(np.ones(3, bool), causal=True)[FURTHEST - 1 : FURTHEST + 3].tolist()
    [1, 2, 3, 0]
    """
    ones, count = part.astype(np.int64), int(part.sum())
    ahead = [int(ones[: max(len(ones) - step, 0)] @ ones[step:]) for step in range(FURTHEST + 1)]
    ahead.append(count * (count + 1) // 2 - sum(ahead))
    return np.array([*ahead[::-1], *([0] * len(ahead[1:]) if causal else ahead[1:])], np.int64)


class OffsetFrame:
    """Where the attention near some rows is laid out by offset; made once for all layers.

    The keys near each row are copied into a frame that is wider by FURTHEST on both sides. Read
    with rows one step longer than they are, diagonals of the frame are its columns.

    Parameters
    ----------
    part
        1 for tokens that take part, else 0: (batch, token).
    shape
        Of the block of maps, (batch, head, row, key).
    first_row
        The number of the first of its rows.
    """

    def __init__(self, part: Tensor, shape: Sequence[int], first_row: int) -> None:
        size, heads, rows, keys = shape
        self.width = rows + NEAR - 1
        start, end = first_row - FURTHEST, first_row + rows + FURTHEST
        low, high = max(start, 0), min(end, keys)
        self.keys, self.inside = slice(low, high), slice(low - start, high - start)
        self.values = part.new_zeros(size, heads, rows, self.width)
        mine = part[:, None, first_row : first_row + rows]
        self.pairs = mine[..., None] * part[:, None, None, low:high]
        # The corners of the frame, beside the diagonals: keys far before a row, and far after it.
        whole = part.new_ones(rows, self.width)
        self.corners = torch.stack([whole.tril(-1), whole.triu(NEAR)]).flatten(1)
        # Keys that are near none of the rows, before and after.
        self.outside = [(0, slice(0, low)), (1, slice(high, keys))]
        self.part = part[:, None]
        self.rows = mine[:, None]

    def sums(self, block: Tensor) -> Tensor:
        """The sum of attention at every offset, (batch, head, bin)."""
        size, heads, rows, _ = block.shape
        torch.mul(block[..., self.keys], self.pairs, out=self.values[..., self.inside])
        area = rows * self.width
        steps = (heads * area, area, self.width + 1, 1)
        near = self.values.as_strided((size, heads, rows, NEAR), steps).sum(2)
        far = self.corners @ self.values.view(size * heads, area).t()
        far = far.view(2, size, heads).permute(1, 2, 0)
        for side, keys in self.outside:
            if keys.start < keys.stop:
                beyond = over_keys(block[..., keys], self.part[..., keys])
                far[..., side] += (beyond * self.rows).sum((1, 3))
        return torch.cat([far[..., :1], near, far[..., 1:]], -1)


@dataclass
class ProfileSums:
    """Which tokens of a batch take part, how many pairs there are, and a layer's sums so far."""

    part: Tensor
    counts: Tensor
    frames: dict[tuple[int, ...], OffsetFrame] = field(default_factory=dict)
    total: Tensor | None = None

    def frame(self, shape: Sequence[int], first_row: int) -> OffsetFrame:
        """The frame for some rows: memory that is asked for anew costs more than the sums."""
        key = (*shape, first_row)
        if key not in self.frames:
            self.frames[key] = OffsetFrame(self.part, shape, first_row)
        return self.frames[key]


class Profile(Measure):
    """Mean attention to the token at every offset, over the tokens that have one there.

    It is computed wherever dependency roles are measured: what a head that knew only positions
    would give them follows from it.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="profile")
    >>> round(float(atlas.mean("profile").sel(layer=1, head=3, offset="-1")), 1)
    1.0
    """

    name = "profile"
    title = "Attention by offset"
    says = "attention by offset: the token {offset}"
    labels = {"offset": OFFSET_WORDS}
    read = {}
    offered = False
    listed = False
    in_blocks = True

    def bind(self, context: Context, corpus: Iterable[Example]) -> Self:
        """A causal model sees no later tokens."""
        bound = super().bind(context, corpus)
        bound.dims = {"offset": OFFSETS[: FURTHEST + 2] if context.causal else OFFSETS}
        return bound

    def prepare(self, batch: Batch, device: Any) -> ProfileSums:
        """Count the pairs of tokens."""
        part = np.zeros((len(batch), batch.width), np.float32)
        counts = np.zeros((len(batch), len(OFFSETS)), np.int64)
        for number, item in enumerate(batch.items):
            mine = taking_part(item)
            part[number, : len(item)] = mine
            counts[number] = offset_counts(mine, causal=self.context.causal)
        return ProfileSums(to_device(part, device), to_device(counts[:, : self.width], device))

    def totals(self, prepared: ProfileSums) -> Tensor:
        """How many pairs of tokens there are at each offset."""
        return prepared.counts

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: ProfileSums) -> None:
        """Add the attention of a block."""
        for start in range(0, block.shape[2], MOST_ROWS):
            piece = block[:, :, start : start + MOST_ROWS]
            sums = prepared.frame(piece.shape, first_row + start).sums(piece).double()
            prepared.total = sums if prepared.total is None else prepared.total + sums

    def end(self, view: LayerView, prepared: ProfileSums) -> Tensor:
        """(batch, head, offset)."""
        assert prepared.total is not None
        total, prepared.total = prepared.total[..., : self.width].float(), None
        return total


def arc_pairs(item: Encoded) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The arcs of an example, from every piece of a dependent to every piece of its head word.

    Only tokens that take part.

    Returns
    -------
    word, dependent, head : array
        The number of each dependent's word, and the tokens of the pair.
    """
    part = taking_part(item)
    arcs = [(word, token, head) for word, token, head in item.arcs if part[token] and part[head]]
    words, dependents, heads = np.array(arcs, np.int64).reshape(-1, 3).T
    return words, dependents, heads


class OfArcs(Measure):
    """What measures of arcs share: the relations of the corpus."""

    needs = frozenset({"tree"})
    read = {}
    listed = False
    in_blocks = True
    relations: tuple[str, ...] = ()

    def bind(self, context: Context, corpus: Iterable[Example]) -> Self:
        """Find the relations of the corpus."""
        bound = super().bind(context, corpus)
        labels = {
            word.relation
            for example in corpus
            for word in example.words
            if word.head is not None and word.head >= 0
        }
        bound.relations = tuple(sorted(labels)) or ("dep",)
        bound.dims = {**self.dims, "relation": bound.relations}
        return bound

    def numbers(self, item: Encoded) -> tuple[NDArray[np.int64], ...]:
        """The arcs of an example: number of the relation, dependent, head."""
        word, dependent, head = arc_pairs(item)
        of = {relation: number for number, relation in enumerate(self.relations)}
        relation = [of[item.example.words[number].relation] for number in word.tolist()]
        return np.array(relation, np.int64), dependent, head


class Arc(OfArcs):
    """Mean attention along the arcs of every dependency relation, over pairs of tokens.

    Both ways: from the pieces of a dependent to those of its head word, and back. A causal model
    has only the pairs whose key is not later.

    See Also
    --------
    headscope.stats.beyond_position : the same against what the head's positions alone would give.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", measures="arc", limit=8)
    >>> atlas.measures
    ('arc', 'profile', 'arc_offset')
    >>> det = atlas.mean("arc").sel(relation="det", direction="dependent to head")
    >>> bool(det.sel(layer=3, head=9) > 0.2)
    True
    """

    name = "arc"
    title = "Attention along dependency arcs"
    says = "attention along {relation}: {direction}"
    labels = {"relation": {"": "{}"}, "direction": DIRECTIONS}

    def beside(self) -> tuple[str, ...]:
        """What it is compared with."""
        return "profile", "arc_offset"

    def prepare(self, batch: Batch, device: Any) -> SimpleNamespace:
        """List the pairs of tokens."""
        parts = list[tuple[NDArray[np.int64], ...]]()
        for example, item in enumerate(batch.items):
            relation, dependent, head = self.numbers(item)
            for way, (query, key) in enumerate(((dependent, head), (head, dependent))):
                seen = key <= query if self.context.causal else np.ones(len(key), np.bool_)
                target = example * self.width + 2 * relation[seen] + way
                parts.append((np.full(len(target), example), query[seen], key[seen], target))
        examples, queries, keys, targets = (np.concatenate(one) for one in zip(*parts, strict=True))
        counts = np.bincount(targets, minlength=len(batch) * self.width)
        return SimpleNamespace(
            counts=to_device(counts.reshape(len(batch), self.width), device),
            targets=to_device(targets, device),
            picked=PickedPairs(examples, queries, keys, device),
        )

    def totals(self, prepared: SimpleNamespace) -> Tensor:
        """How many pairs of tokens there are."""
        counts: Tensor = prepared.counts
        return counts

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: Any) -> None:
        """Pick the pairs of a block."""
        prepared.picked.rows(block, first_row)

    def end(self, view: LayerView, prepared: SimpleNamespace) -> Tensor:
        """(batch, head, relation · direction)."""
        terms: Tensor = prepared.picked.end().double()
        sums = terms.new_zeros(len(terms), prepared.counts.numel())
        sums.scatter_add_(1, prepared.targets.expand_as(terms), terms)
        return sums.view(len(terms), *prepared.counts.shape).transpose(0, 1).float()


class ArcOffset(OfArcs):
    """How many pairs of tokens the arcs of every relation have at each offset, per text.

    From dependent to head word; the other way, offsets have the other sign. The same for all heads:
    it has no layers.
    """

    name = "arc_offset"
    title = "Offsets of dependency arcs"
    unit = "pairs of tokens"
    range = "positive"
    says = "arcs of {relation}: head word {offset}"
    labels = {"relation": {"": "{}"}, "offset": OFFSET_WORDS}
    grid = False
    offered = False

    @property
    def lead(self) -> dict[str, tuple[int, ...] | tuple[str, ...]]:
        """Arcs are the same for all heads."""
        return {}

    def prepare(self, batch: Batch, device: Any) -> Tensor:
        """Count the pairs, (batch, relation · offset)."""
        counts = np.zeros((len(batch), self.width), np.float32)
        for example, item in enumerate(batch.items):
            relation, dependent, head = self.numbers(item)
            label = relation * len(OFFSETS) + bins(head - dependent)
            counts[example] = np.bincount(label, minlength=self.width)
        return torch.from_numpy(counts)

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: Tensor) -> None:
        """Nothing to do with maps."""

    def end(self, view: LayerView, prepared: Tensor) -> Tensor:
        """Nothing by layer."""
        return prepared.new_zeros(0)

    def finish(self, layers: Sequence[Tensor], prepared: Tensor) -> Tensor:
        """(batch, relation · offset)."""
        return prepared
