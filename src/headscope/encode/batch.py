"""Length-bucketed batches, the same ones every time, so that a run can be stopped, split and resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from headscope.encode.encoder import Encoded
from headscope.errors import UserError

WINDOW = 32
"""Batches are cut from this many batches' worth of examples, sorted by length."""


@dataclass(frozen=True)
class Batch:
    """Examples padded on the right to one length T."""

    index: int
    items: tuple[Encoded, ...]
    ids: NDArray[np.int64]  # (batch, T)
    types: NDArray[np.int64]  # (batch, T)
    mask: NDArray[np.bool_]  # (batch, T), true on real tokens

    def __len__(self) -> int:
        return len(self.items)

    @property
    def width(self) -> int:
        """T, the number of tokens in the longest example."""
        return int(self.ids.shape[1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of real tokens of each example."""
        return np.asarray(self.mask.sum(1), np.int64)


def collate(items: Iterable[Encoded], *, index: int = 0, pad: int = 0) -> Batch:
    """Pad encoded examples to one batch."""
    held = tuple(items)
    shape = (len(held), max(len(item) for item in held))
    ids, types, mask = (
        np.full(shape, pad, np.int64),
        np.zeros(shape, np.int64),
        np.zeros(shape, np.bool_),
    )
    for row, item in enumerate(held):
        ids[row, : len(item)] = item.ids
        types[row, : len(item)] = item.types
        mask[row, : len(item)] = True
    return Batch(index, held, ids, types, mask)


def batches(encoded: Iterable[Encoded], *, size: int, pad: int = 0) -> Iterator[Batch]:
    """Cut a stream of examples into batches of like length. Only a window of the stream is held at a time."""
    if size < 1:
        raise UserError(f"the batch size must be 1 or more, got {size} instead")
    stream = iter(encoded)
    index = 0
    while window := list(islice(stream, size * WINDOW)):
        window.sort(key=len)  # stable: examples of one length keep their order
        for start in range(0, len(window), size):
            yield collate(window[start : start + size], index=index, pad=pad)
            index += 1
