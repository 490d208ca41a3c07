"""What is kept of an example: its text, its sparse maps, and what others must reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
PARTS = 2**20
"""An example that is split has fewer parts than this. A key is its number times this, plus the
number of its part, so that keys sort as the corpus does."""
LAST = 2**63 - 1
"""Larger than every key."""


class StoredText(NamedTuple):
    """A :class:`~headscope.results.kept.KeptText`: how many tokens it has, and its JSON."""

    rows: int
    json: str


class SparseMap(NamedTuple):
    """The largest weights of a map; see :class:`headscope.results.kept.KeptMap`."""

    counts: NDArray[np.uint8]
    keys: NDArray[np.uint16]
    weights: NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Sampled:
    """An example of the sample, with the maps of all heads.

    Parameters
    ----------
    digest
        By which the sample is drawn.
    key
        Number and part of the example.
    rows
        How many of its tokens were asked: those of words.
    scores
        (layer, head).
    share, uniform
        (layer, head, offset), summed over the rows.
    maps
        Of all heads, layer by layer.
    """

    digest: bytes
    key: int
    rows: int
    scores: Array
    share: Array
    uniform: Array
    maps: Sequence[SparseMap]

    @property
    def rank(self) -> tuple[bytes, int]:
        """What the sample is sorted by."""
        return self.digest, self.key


class Bars(NamedTuple):
    """What an example must reach to be kept.

    Parameters
    ----------
    scores, keys
        Score and key of the last of each head's strongest, (layer, head). Everything reaches minus
        infinity, where there is room.
    sample
        Digest and key of the last of the sample; None while there is room.
    """

    scores: NDArray[np.float32]
    keys: NDArray[np.int64]
    sample: tuple[bytes, int] | None


@dataclass
class Standing:
    """Who is kept so far, without the maps: what others must be better than.

    Parameters
    ----------
    best
        Of each head: minus the score and the key of its strongest examples, in order.
    sample
        Digest and key of each example of the sample, in order.
    """

    best: list[list[tuple[float, int]]]
    sample: list[tuple[bytes, int]] = field(default_factory=list)

    def joined(self, other: Standing, strongest: int, size: int) -> Standing:
        """Those who would be kept of both. One that is in both counts once."""
        best = [
            sorted({*one, *two})[:strongest] for one, two in zip(self.best, other.best, strict=True)
        ]
        return Standing(best, sorted({*self.sample, *other.sample})[:size])
