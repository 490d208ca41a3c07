"""What the parsing probes are trained on and tested with: sentences, their word maps and word vectors, padded to batches of like length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.runs.parse.sentences import Sentence
from headscope.runs.parse.vectors import WordVectors

WORDS = 512
"""How many words (with padding) a batch holds."""
IGNORED = -1
"""The gold candidate of a word that is not trained on, and of padding."""


class Maps(Protocol):
    """Word maps by sentence, (from word, to word, head) each: a list of arrays, or :class:`WordMaps` on disk."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> NDArray[np.float16]: ...


@dataclass(frozen=True)
class Padded:
    """A batch of sentences, padded to n words. Candidate 0 is the root; candidate i + 1 is word i."""

    mask: Tensor  # (batch, n), true on words
    gold: Tensor  # (batch, n): the candidate that is the head, or IGNORED
    maps: Tensor | None  # (batch, from, to, head)
    vectors: Tensor | None  # (batch, n, dimension)


@dataclass(frozen=True)
class Data:
    """Sentences with what probes see of them. ``maps`` or ``vectors`` may be missing for a probe that does not use them."""

    sentences: Sequence[Sentence]
    maps: Maps | None = None
    vectors: WordVectors | None = None

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The number of words of each sentence."""
        return np.array([len(sentence) for sentence in self.sentences], np.int64)

    @cached_property
    def rows(self) -> list[NDArray[np.int64]]:
        """The row in the word vectors of each word."""
        return (
            [self.vectors.rows(sentence.words) for sentence in self.sentences]
            if self.vectors
            else []
        )

    def part(self, indices: NDArray[np.int64]) -> Data:
        """Some of the sentences."""
        chosen = indices.tolist()
        maps = self.maps
        return Data(
            [self.sentences[index] for index in chosen],
            None if maps is None else [maps[index] for index in chosen],
            self.vectors,
        )

    def pad(self, indices: Sequence[int], *, maps: bool, vectors: bool) -> Padded:
        """The batch of some sentences, with what a probe asks for."""
        shape = (len(indices), int(self.lengths[list(indices)].max()))
        mask, gold, rows = (
            np.zeros(shape, np.bool_),
            np.full(shape, IGNORED, np.int64),
            np.full(shape, -1, np.int64),
        )
        filled = self._filled(shape, indices[0]) if maps else None
        for place, index in enumerate(indices):
            length = int(self.lengths[index])
            mask[place, :length] = True
            gold[place, :length] = np.maximum(
                self.sentences[index].heads + 1, IGNORED
            )  # UNKNOWN and LOST are both ignored
            if filled is not None and self.maps is not None:
                filled[place, :length, :length] = self.maps[index]
            if vectors:
                rows[place, :length] = self.rows[index]
        known = torch.from_numpy(self.vectors.take(rows)) if vectors and self.vectors else None
        return Padded(
            torch.from_numpy(mask),
            torch.from_numpy(gold),
            None if filled is None else torch.from_numpy(filled).float(),
            known,
        )

    def _filled(self, shape: tuple[int, int], index: int) -> NDArray[np.float16]:
        if self.maps is None:
            raise ValueError("this probe needs word maps, and the data has none")
        return np.zeros((*shape, shape[1], self.maps[index].shape[-1]), np.float16)


def buckets(
    lengths: NDArray[np.int64], order: NDArray[np.int64], *, words: int = WORDS
) -> list[list[int]]:
    """Cut sentences into batches of like length, of at most ``words`` words with padding (a longer sentence is a batch of its own).

    Sentences of one length stay in the given order: shuffle it, and they are put together differently.

    >>> buckets(np.array([3, 1, 3, 2]), np.array([2, 1, 0, 3]), words=6)
    [[1, 3], [2, 0]]
    """
    found: list[list[int]] = []
    for index in order[np.argsort(lengths[order], kind="stable")].tolist():
        if not found or (len(found[-1]) + 1) * int(lengths[index]) > words:
            found.append([])
        found[-1].append(index)
    return found
