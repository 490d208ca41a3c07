"""Attention between words (Clark et al. 2019, §4.1): to a split word the sum over its pieces, from
it the mean.

Measures read it a block of rows at a time (:class:`WordRows`); :class:`WordMap` makes whole maps.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.encode import TEXT, Batch
from headscope.measures.base import Measure, once
from headscope.measures.kernels import to_device
from headscope.measures.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.models import LayerView

NO_WORD = -1.0
"""This or less stands where there is no attention between two different words."""


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

    def listed(rows: list[tuple[int, ...]], size: int) -> Tensor:
        return torch.tensor(rows, dtype=torch.int64).view(-1, size).t().to(device)

    return WordMap(
        to_device(first, device),
        listed(further, 3),
        listed(split, 3),
        listed(absent, 2),
        to_device(columns, device),
        kept,
    )


class WordRows:
    """The words of a batch, and attention between them from blocks of token rows.

    Nothing is rearranged: the row of a word is that of its last piece, and its column that of its
    first. By the last piece all rows of a word are known, also where it began in an earlier block.
    Rows and columns of other tokens, and each word's own column, hold :data:`NO_WORD` or less.

    Parameters
    ----------
    batch
        The batch.
    device
        Where attention is.
    special
        Whether special tokens keep their columns, as candidates beside the words.

    Attributes
    ----------
    row, column
        Of each example, from the index of a word to its row and its column. Words without a piece,
        or cut off, are missing.
    """

    def __init__(self, batch: Batch, device: Any = "cpu", *, special: bool = False) -> None:
        self.row: list[dict[int, int]] = []
        self.column: list[dict[int, int]] = []
        self.size, self.width = len(batch), batch.width
        columns = np.zeros((len(batch), batch.width), np.bool_)
        rows = np.zeros((len(batch), batch.width), np.bool_)
        self.split: list[tuple[int, int, list[int]]] = []
        for example, item in enumerate(batch.items):
            pieces = item.pieces
            self.column.append({word: places[0] for word, places in pieces.items()})
            self.row.append({word: places[-1] for word, places in pieces.items()})
            columns[example, list(self.column[-1].values())] = True
            if special:
                columns[example, : len(item)] |= item.kind != TEXT
            rows[example, list(self.row[-1].values())] = True
            for places in pieces.values():
                if len(places) > 1:
                    self.split.append((example, places[-1], places))
        # Adding is six times as fast as choosing.
        taken = np.where(columns, 0, -np.inf).astype(np.float32)
        self.penalty = to_device(taken[:, None, None], device)
        # How far a word reaches back from its last piece.
        self.reach = max((places[-1] - places[0] for _, _, places in self.split), default=0)
        self.device = device
        self._further = self._rounds(
            (example, places[0], piece) for example, _, places in self.split for piece in places[1:]
        )
        self._other = ByRow(np.argwhere(~rows), device)
        itself = [
            (example, row, self.column[example][word])
            for example, row_of in enumerate(self.row)
            for word, row in row_of.items()
        ]
        self._itself = ByRow(np.array(itself, np.int64).reshape(-1, 3), device)
        self.split.sort(key=lambda pieces: pieces[1])
        self._ends = np.array([row for _, row, _ in self.split])
        self._ending: dict[tuple[int, int], list[tuple[Tensor, Tensor]]] = {}
        self._before: Tensor | None = None

    def _rounds(self, terms: Iterable[tuple[int, int, int]]) -> list[Tensor]:
        """Terms (example, first piece, further piece) in rounds in which no word stands twice."""
        rounds: list[list[tuple[int, int, int]]] = []
        count: dict[tuple[int, int], int] = {}
        for example, first, piece in terms:
            number = count[example, first] = count.get((example, first), -1) + 1
            if number == len(rounds):
                rounds.append([])
            rounds[number].append((example, first, piece))
        return [torch.tensor(terms, device=self.device).t() for terms in rounds]

    def between(self, block: Tensor, first_row: int) -> Tensor:
        """Attention between words, from the rows of a block: (batch, head, row, token).

        Blocks of a layer come one after the other, from row 0 on.
        """
        size, heads, rows, keys = block.shape
        reach = min(self.reach, first_row)
        whole = block.new_empty(size, heads, reach + rows, keys)
        scores = whole[:, :, reach:]
        torch.add(block, self.penalty[..., :keys], out=scores)
        for example, first, piece in self._further:
            scores[example, :, :, first] += block[example, :, :, piece]
        if reach:
            assert self._before is not None
            whole[:, :, :reach] = self._before[:, :, -reach:]
        if self.reach:
            self._before = whole[:, :, -self.reach :].clone()
        self._average(whole, scores, first_row, reach)
        example, row = self._other.within(first_row, rows)
        scores[example, :, row] = NO_WORD
        example, row, column = self._itself.within(first_row, rows)
        scores[example, :, row, column] = NO_WORD
        return scores

    def _average(self, whole: Tensor, scores: Tensor, first_row: int, reach: int) -> None:
        """Put the mean over a split word's rows into its last."""
        for at, rows in self._split_in(first_row, first_row + scores.shape[2]):
            places = (rows + (reach - first_row)).unbind(1)
            total = whole[at, :, places[0]]
            for place in places[1:]:
                total = total + whole[at, :, place]
            whole[at, :, places[-1]] = total / len(places)

    def _split_in(self, first: int, last: int) -> list[tuple[Tensor, Tensor]]:
        """The split words that end in some rows, by number of pieces: examples, and rows.

        They are the same in all layers, and copied to the device once.
        """
        if (first, last) not in self._ending:
            begin, end = np.searchsorted(self._ends, [first, last])
            by_length: dict[int, list[tuple[int, list[int]]]] = {}
            for example, _, places in self.split[int(begin) : int(end)]:
                by_length.setdefault(len(places), []).append((example, places))
            self._ending[first, last] = [
                (
                    torch.tensor([example for example, _ in words], device=self.device),
                    torch.tensor([places for _, places in words], device=self.device),
                )
                for words in by_length.values()
            ]
        return self._ending[first, last]


class ByRow:
    """Places (example, row, …) on a device, to be picked by rows."""

    def __init__(self, table: NDArray[np.int64], device: Any) -> None:
        table = table[np.argsort(table[:, 1], kind="stable")]
        self.rows = table[:, 1]
        self.table = to_device(table.T, device)

    def within(self, first: int, count: int) -> list[Tensor]:
        """The places in some rows, with rows counted from the first of them."""
        begin, end = np.searchsorted(self.rows, [first, first + count])
        example, row, *others = self.table[:, int(begin) : int(end)]
        return [example, row - first, *others]


class WordMeasure(Measure):
    """A measure that reads attention between words and counts right answers.

    What is averaged are words (or mentions), not examples.
    """

    needs = frozenset({"words"})
    special = False
    """Whether special tokens are candidates beside the words."""
    kind = "share"
    listed = False
    summed = True
    in_blocks = True

    @abstractmethod
    def prepare_words(self, batch: Batch, words: WordRows, device: Any) -> Any:
        """What is the same for every layer of a batch."""

    @abstractmethod
    def word_rows(self, scores: Tensor, first_row: int, prepared: Any) -> None:
        """Take in a block of what :meth:`WordRows.between` gives."""

    @abstractmethod
    def right(self, prepared: Any) -> Tensor:
        """How many answers of the layer are right, (batch, head, label)."""

    @abstractmethod
    def totals(self, prepared: Any) -> Tensor:
        """How many answers there are, (batch, label)."""

    def prepare(self, batch: Batch, device: Any) -> Any:
        """The words of a batch are found once for all measures of a run."""
        # What a word's earlier rows gave is kept from block to block, so each kind of maps needs
        # words of its own.
        name = f"words of {self.maps} on {device}, special: {self.special}"
        words = once(batch, name, lambda: WordRows(batch, device, special=self.special))
        prepared = self.prepare_words(batch, words, device)
        prepared.words = words
        return prepared

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: Any) -> None:
        """Attention between words, made once per block for all measures, then answers."""
        name = f"words, special: {self.special}"
        scores = once(block, name, lambda: prepared.words.between(block, first_row))
        self.word_rows(scores, first_row, prepared)

    def end(self, view: LayerView, prepared: Any) -> Tensor:
        """(batch, head, label)."""
        return self.right(prepared)
