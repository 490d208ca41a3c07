"""Word maps (Clark et al. 2019, §4.1): from pieces to words. To a split word: the sum over its pieces; from it: the mean."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.measures.base import Measure
from headscope.observe import LayerView


@dataclass(frozen=True)
class WordMap:
    """How the pieces of a batch make up words: matrices that take token maps (query, key) to word maps (word, column).

    The columns are the words, then one column for each token that is no word (special tokens), so that rows still sum to 1.
    ``words[i]`` lists, for example i, which word of the example each row is: words without pieces, or cut off, are left out.
    """

    rows: Tensor  # (batch, word, query): mean over the word's pieces
    columns: Tensor  # (batch, key, column): sum over the word's pieces
    words: tuple[np.ndarray[Any, np.dtype[np.int64]], ...]

    @property
    def most(self) -> int:
        """The number of word rows, and of word columns: those of the longest example."""
        return self.rows.shape[1]

    def places(self, row: int) -> dict[int, int]:
        """From the index of a word in example ``row`` to its row and column; words that were left out are missing."""
        return {int(word): place for place, word in enumerate(self.words[row])}

    def apply(self, attention: Tensor) -> Tensor:
        """(batch, head, query, key) -> (batch, head, word, column)."""
        return self.rows[:, None] @ attention @ self.columns[:, None]


def word_map(batch: Batch, device: Any = "cpu") -> WordMap:
    """The word map of a batch; padding takes part in nothing."""
    kept = tuple(np.unique(item.word[item.word >= 0]) for item in batch.items)
    others = [int((item.word < 0).sum()) for item in batch.items]
    most = max(1, *(len(words) for words in kept))  # a batch of which no word is left whole still has a (blank) row
    width = max((most + other for other in others), default=0)
    rows = np.zeros((len(batch), most, batch.width), dtype=np.float32)
    columns = np.zeros((len(batch), batch.width, width), dtype=np.float32)
    for index, (item, words, other) in enumerate(zip(batch.items, kept, others, strict=True)):
        pieces = np.flatnonzero(item.word >= 0)
        place = np.searchsorted(words, item.word[pieces])
        sizes = np.bincount(place, minlength=len(words))
        rows[index, place, pieces] = 1.0 / sizes[place]
        columns[index, pieces, place] = 1.0
        columns[index, np.flatnonzero(item.word < 0), most + np.arange(other)] = 1.0
    return WordMap(torch.from_numpy(rows).to(device), torch.from_numpy(columns).to(device), kept)


class WordMeasure(Measure):
    """A measure that reads word maps and counts right answers: what is averaged are words (or mentions), not examples."""

    needs: ClassVar[frozenset[str]] = frozenset({"words"})
    listed = False

    @abstractmethod
    def prepare_words(self, batch: Batch, words: WordMap, device: Any) -> Any:
        """What is the same for every layer of a batch."""

    @abstractmethod
    def words(self, maps: Tensor, prepared: Any) -> Tensor:
        """How many answers are right, (batch, head, label), from word maps (batch, head, word, column)."""

    @abstractmethod
    def totals(self, prepared: Any) -> Tensor:
        """How many answers there are, (batch, label)."""

    def attributes(self) -> dict[str, str]:
        """Intervals are those of shares of right answers."""
        return super().attributes() | {"answers": "yes"}

    def prepare(self, batch: Batch, device: Any) -> tuple[WordMap, Any]:
        """By itself, a measure makes its own word map; in a run the engine makes one for all."""
        words = word_map(batch, device)
        return words, self.prepare_words(batch, words, device)

    def layer(self, view: LayerView, attention: Tensor, prepared: tuple[WordMap, Any]) -> Tensor:
        """By itself: word maps, then answers."""
        return self.words(prepared[0].apply(attention), prepared[1])
