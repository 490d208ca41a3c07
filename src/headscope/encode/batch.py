"""Batches of examples of similar length, the same every time, so that runs can resume and split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headscope.corpus import Example
from headscope.encode.encoder import Encoded
from headscope.errors import UserError

WINDOW = 32
"""How many batches are cut from one window of examples, which is sorted by length."""
UNIT = 8
"""A unit of work has as many examples as this many batches."""


@dataclass(frozen=True)
class WorkUnit:
    """A numbered unit of work: some examples of a corpus, one after the other.

    Units do not depend on how a corpus is encoded, so that whoever does one encodes only its
    examples.
    """

    index: int
    examples: tuple[Example, ...]


def token_batch(ids: ArrayLike) -> Batch:
    """A batch of token ids, (text, token), without examples and without padding."""
    tokens = np.asarray(ids, np.int64)
    return Batch(0, (), tokens, np.zeros_like(tokens), np.ones_like(tokens, np.bool_))


def work_units(examples: Iterable[Example], *, size: int) -> Iterator[WorkUnit]:
    """Cut a corpus into units of work, for batches of ``size`` examples.

    >>> import headscope as hs
    >>> [len(unit.examples) for unit in work_units(hs.read(["Why?"] * 20), size=2)]
    [16, 4]
    """
    stream = iter(examples)
    index = 0
    while held := tuple(islice(stream, size * UNIT)):
        yield WorkUnit(index, held)
        index += 1


@dataclass(frozen=True)
class Batch:
    """Examples padded on the right to one length T.

    Parameters
    ----------
    index : int
        The number of the batch in its run, from 0.
    items : tuple of Encoded
        The examples.
    ids, types, mask : array of shape (batch, T)
        Token ids, token types, and which tokens are real.
    """

    index: int
    items: tuple[Encoded, ...]
    ids: NDArray[np.int64]
    types: NDArray[np.int64]
    mask: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.items)

    @property
    def width(self) -> int:
        """T, the number of tokens of the longest example."""
        return int(self.ids.shape[1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of real tokens of each example."""
        return np.asarray(self.mask.sum(1), np.int64)


def collate(items: Iterable[Encoded], *, index: int = 0, pad: int = 0) -> Batch:
    """Pad encoded examples to one batch.

    Parameters
    ----------
    items : iterable of Encoded
        The examples.
    index : int, default 0
        The number of the batch.
    pad : int, default 0
        The token to pad with.

    Examples
    --------
    >>> import headscope as hs
    >>> from headscope.encode import Encoder
    >>> encoder = Encoder(hs.load("demo").tokenizer)
    >>> batch = collate(encoder.encode(hs.read(["A dog sits.", "Why?"])))
    >>> batch.ids.shape, batch.lengths.tolist()
    ((2, 6), [6, 4])
    """
    held = tuple(items)
    shape = (len(held), max(len(item) for item in held))
    ids = np.full(shape, pad, np.int64)
    types = np.zeros(shape, np.int64)
    mask = np.zeros(shape, np.bool_)
    for row, item in enumerate(held):
        ids[row, : len(item)] = item.ids
        types[row, : len(item)] = item.types
        mask[row, : len(item)] = True
    return Batch(index, held, ids, types, mask)


def batches(
    encoded: Iterable[Encoded], *, size: int, pad: int = 0, equal: bool = False
) -> Iterator[Batch]:
    """Cut a stream of examples into batches of similar length.

    Parameters
    ----------
    encoded : iterable of Encoded
        The examples. Only ``WINDOW`` batches of them are in memory at a time.
    size : int
        How many examples a batch has.
    pad : int, default 0
        The token to pad with.
    equal : bool, default False
        Whether all examples of a batch have one length, so that none is padded. Batches may then
        have fewer than ``size`` examples.

    Examples
    --------
    >>> import headscope as hs
    >>> from headscope.encode import Encoder
    >>> texts = hs.read(["A dog barks at night.", "Why?", "It does."])
    >>> encoded = Encoder(hs.load("demo").tokenizer).encode(texts)
    >>> [len(batch) for batch in batches(encoded, size=2)]
    [2, 1]
    >>> encoded = Encoder(hs.load("demo").tokenizer).encode(texts)
    >>> [batch.lengths.tolist() for batch in batches(encoded, size=2, equal=True)]
    [[4], [5], [9]]
    """
    if size < 1:
        raise UserError(f"the batch size must be 1 or more, got {size} instead")
    stream = iter(encoded)
    index = 0
    while window := list(islice(stream, size * WINDOW)):
        # Sorting is stable: examples of one length keep their order.
        window.sort(key=_lengths if equal else len)
        for _, group in groupby(window, key=_lengths if equal else lambda _: 0):
            held = list(group)
            for start in range(0, len(held), size):
                yield collate(held[start : start + size], index=index, pad=pad)
                index += 1


def _lengths(item: Encoded) -> tuple[int, int]:
    """The number of its tokens, and of those that they attend to."""
    return len(item), len(getattr(item, "keys", item))
