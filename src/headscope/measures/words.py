"""Word maps (Clark et al. 2019, §4.1): from pieces to words. To a split word: the sum over its
pieces; from it: the mean.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.measures.base import Context, Measure, Together
from headscope.models import LayerView, Model


@dataclass(frozen=True)
class WordMap:
    """How the pieces of a batch make up words: what takes token maps (query, key) to word maps
    (word, column).

    Most words are one piece, so that their rows are only picked; columns are a matrix product. The
    columns are the words, then one column for each token that is no word (special tokens), so that
    rows still sum to 1. ``words[i]`` lists, for example i, which word of the example each row is:
    words without pieces, or cut off, are left out.
    """

    first: Tensor  # (batch, word): the first piece of each word, 0 where there is no word
    further: Tensor  # (example · word · token, further piece): the other pieces of split words
    split: Tensor  # (example · word · number of pieces, split word)
    # (example · word, row): rows that are no words, in examples with fewer than the longest one has
    absent: Tensor
    columns: Tensor  # (batch, key, column): sum over the word's pieces
    words: tuple[np.ndarray[Any, np.dtype[np.int64]], ...]

    @property
    def most(self) -> int:
        """The number of word rows, and of word columns: those of the longest example."""
        return self.first.shape[1]

    def places(self, row: int) -> dict[int, int]:
        """From the index of a word in example ``row`` to its row and column; words that were left
        out are missing.
        """
        return {int(word): place for place, word in enumerate(self.words[row])}

    def apply(self, attention: Tensor) -> Tensor:
        """(batch, head, query, key) -> (batch, head, word, column)."""
        batch, heads, queries, keys = attention.shape
        tokens = attention.reshape(-1, keys)
        of_head = torch.arange(batch * heads, device=attention.device).view(batch, heads, 1)

        def places(example: Tensor, place: Tensor, size: int) -> Tensor:
            """Of things in examples the rows of all heads, where each map has so many."""
            return (of_head[example, :, 0] * size + place[:, None]).flatten()

        rows = tokens.index_select(0, (of_head * queries + self.first[:, None]).flatten())
        if self.further.shape[1]:
            example, word, token = self.further
            rows.index_add_(
                0,
                places(example, word, self.most),
                tokens.index_select(0, places(example, token, queries)),
            )
            example, word, pieces = self.split
            where = places(example, word, self.most)
            rows.index_copy_(
                0, where, rows.index_select(0, where) / pieces.repeat_interleave(heads)[:, None]
            )
        if self.absent.shape[1]:
            example, word = self.absent
            rows.index_fill_(0, places(example, word, self.most), 0.0)
        return (rows.view(batch, heads * self.most, keys) @ self.columns).view(
            batch, heads, self.most, -1
        )


def word_map(batch: Batch, device: Any = "cpu") -> WordMap:
    """The word map of a batch; padding takes part in nothing."""
    kept = tuple(np.unique(item.word[item.word >= 0]) for item in batch.items)
    others = [int((item.word < 0).sum()) for item in batch.items]
    most = max(
        1, *(len(words) for words in kept)
    )  # a batch of which no word is left whole still has a (blank) row
    width = max((most + other for other in others), default=0)
    first = np.zeros((len(batch), most), np.int64)
    columns = np.zeros((len(batch), batch.width, width), dtype=np.float32)
    further: list[tuple[int, ...]] = []
    split: list[tuple[int, ...]] = []
    absent: list[tuple[int, ...]] = []
    for index, (item, words, other) in enumerate(zip(batch.items, kept, others, strict=True)):
        pieces = np.flatnonzero(item.word >= 0)
        place, begin = (
            np.searchsorted(words, item.word[pieces]),
            np.unique(item.word[pieces], return_index=True)[1],
        )
        first[index, : len(words)] = pieces[begin]
        later = np.delete(np.arange(len(pieces)), begin)
        sizes = np.bincount(place, minlength=len(words))
        further += [(index, int(place[piece]), int(pieces[piece])) for piece in later]
        split += [(index, int(word), int(sizes[word])) for word in np.flatnonzero(sizes > 1)]
        absent += [(index, word) for word in range(len(words), most)]
        columns[index, pieces, place] = 1.0
        columns[index, np.flatnonzero(item.word < 0), most + np.arange(other)] = 1.0

    def listed(found: list[tuple[int, ...]], size: int) -> Tensor:
        return torch.tensor(found, dtype=torch.int64).view(-1, size).t().to(device)

    return WordMap(
        torch.from_numpy(first).to(device),
        listed(further, 3),
        listed(split, 3),
        listed(absent, 2),
        torch.from_numpy(columns).to(device),
        kept,
    )


class WordMeasure(Measure):
    """A measure that reads word maps and counts right answers.

    What is averaged are words (or mentions), not examples.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"words"})
    listed = False

    @abstractmethod
    def prepare_words(self, batch: Batch, words: WordMap, device: Any) -> Any:
        """What is the same for every layer of a batch."""

    @abstractmethod
    def words(self, maps: Tensor, prepared: Any) -> Tensor:
        """How many answers are right, (batch, head, label).

        ``maps`` are word maps, (batch, head, word, column).
        """

    @abstractmethod
    def totals(self, prepared: Any) -> Tensor:
        """How many answers there are, (batch, label)."""

    def attributes(self) -> dict[str, str]:
        """Intervals are those of shares of right answers."""
        return super().attributes() | {"kind": "share"}

    def prepare(self, batch: Batch, device: Any) -> tuple[WordMap, Any]:
        """Alone, a measure makes its own word map; in a run all share one."""
        words = word_map(batch, device)
        return words, self.prepare_words(batch, words, device)

    def layer(self, view: LayerView, attention: Tensor, prepared: tuple[WordMap, Any]) -> Tensor:
        """Alone: word maps, then answers."""
        return self.words(prepared[0].apply(attention), prepared[1])

    @classmethod
    def together(
        cls, measures: Sequence[Measure], model: Model, stack: str, context: Context
    ) -> Together:
        """One word map for all measures of words."""
        return WordsTogether(measures)


class WordsTogether(Together):
    """The measures of words in a run: each layer's word maps are made once."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        super().__init__(measures)
        self.of_words = [measure for measure in measures if isinstance(measure, WordMeasure)]
        self.map: WordMap | None = None

    def start(self, batch: Batch, device: Any) -> None:
        """Make the word map of a batch."""
        self.map = word_map(batch, device)
        self.prepared = [
            measure.prepare_words(batch, self.map, device) for measure in self.of_words
        ]
        self.layers = [[] for _ in self.of_words]

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Count the right answers of a layer."""
        assert self.map is not None
        maps = self.map.apply(block)
        for measure, prepared, layers in zip(
            self.of_words, self.prepared, self.layers, strict=True
        ):
            layers.append(measure.words(maps, prepared))

    def totals(self) -> dict[str, Tensor]:
        """How many answers there were."""
        return {
            measure.name: measure.totals(prepared)
            for measure, prepared in zip(self.of_words, self.prepared, strict=True)
        }
