"""The data of the parsing probes: sentences, word maps and word vectors, in padded batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus.vectors import WordVectors
from headscope.errors import UserError
from headscope.papers.clark2019.parse.sentences import ParseSentence

WORDS = 512
"""Maximum number of words in a batch, padding included."""
IGNORED = -1
"""Gold candidate of padding, and of words that are not trained on."""


class MapsBySentence(Protocol):
    """Word maps by sentence, (from word, to word, head): a list of arrays, or those on disk."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> NDArray[np.float16]: ...


@dataclass(frozen=True)
class PaddedBatch:
    """A batch of sentences, padded to n words.

    Candidate 0 is the root; candidate i + 1 is word i.

    Parameters
    ----------
    mask
        (batch, n), true on words.
    gold
        (batch, n), the candidate that is the head, or ``IGNORED``.
    maps
        (batch, from, to, head)
    vectors
        (batch, n, dimension)
    """

    mask: Tensor
    gold: Tensor
    maps: Tensor | None
    vectors: Tensor | None


@dataclass(frozen=True)
class ParseData:
    """Sentences with what probes see of them.

    Parameters
    ----------
    sentences
        The sentences.
    maps
        Their word maps; None for probes that do not use them.
    vectors
        Word vectors; None for probes that do not use them.

    Examples
    --------
    >>> sentence = ParseSentence(("A", "dog"), np.array([1, -1]), np.zeros(2, bool))
    >>> ParseData([sentence]).pad([0], maps=False, vectors=False).gold.tolist()
    [[2, 0]]
    """

    sentences: Sequence[ParseSentence]
    maps: MapsBySentence | None = None
    vectors: WordVectors | None = None

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of words of each sentence."""
        return np.array([len(sentence) for sentence in self.sentences], np.int64)

    @cached_property
    def rows(self) -> list[NDArray[np.int64]]:
        """The row of each word in the matrix of word vectors, by sentence."""
        if self.vectors is None:
            return []
        return [self.vectors.rows(sentence.words) for sentence in self.sentences]

    def part(self, indices: NDArray[np.int64]) -> ParseData:
        """Some of the sentences."""
        chosen = indices.tolist()
        maps = self.maps
        return ParseData(
            [self.sentences[index] for index in chosen],
            None if maps is None else [maps[index] for index in chosen],
            self.vectors,
        )

    def pad(self, indices: Sequence[int], *, maps: bool, vectors: bool) -> PaddedBatch:
        """Make a batch of some sentences.

        Parameters
        ----------
        indices
            Which sentences.
        maps, vectors
            Whether the probe needs word maps and word vectors.
        """
        shape = (len(indices), int(self.lengths[list(indices)].max()))
        mask = np.zeros(shape, np.bool_)
        gold, rows = np.full(shape, IGNORED, np.int64), np.full(shape, -1, np.int64)
        padded = self._empty_maps(shape, indices[0]) if maps else None
        for place, index in enumerate(indices):
            length = int(self.lengths[index])
            mask[place, :length] = True
            # UNKNOWN and LOST are both ignored.
            gold[place, :length] = np.maximum(self.sentences[index].heads + 1, IGNORED)
            if padded is not None and self.maps is not None:
                padded[place, :length, :length] = self.maps[index]
            if vectors:
                rows[place, :length] = self.rows[index]
        taken = torch.from_numpy(self.vectors.take(rows)) if vectors and self.vectors else None
        return PaddedBatch(
            torch.from_numpy(mask),
            torch.from_numpy(gold),
            None if padded is None else torch.from_numpy(padded).float(),
            taken,
        )

    def _empty_maps(self, shape: tuple[int, int], index: int) -> NDArray[np.float16]:
        if self.maps is None:
            raise UserError("this probe needs word maps, and the data have none")
        return np.zeros((*shape, shape[1], self.maps[index].shape[-1]), np.float16)


def buckets(
    lengths: NDArray[np.int64], order: NDArray[np.int64], *, words: int = WORDS
) -> list[list[int]]:
    """Divide sentences into batches of similar length.

    Parameters
    ----------
    lengths
        Number of words of every sentence.
    order
        The sentences to use. Sentences of equal length keep this order: shuffle it to group them
        differently.
    words
        Maximum number of words in a batch, padding included. A longer sentence is a batch of its
        own.

    Returns
    -------
    list of lists
        Sentences of each batch.

    Examples
    --------
    >>> buckets(np.array([3, 1, 3, 2]), np.array([2, 1, 0, 3]), words=6)
    [[1, 3], [2, 0]]
    """
    batches: list[list[int]] = []
    for index in order[np.argsort(lengths[order], kind="stable")].tolist():
        if not batches or (len(batches[-1]) + 1) * int(lengths[index]) > words:
            batches.append([])
        batches[-1].append(index)
    return batches
