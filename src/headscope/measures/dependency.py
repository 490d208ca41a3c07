"""Dependencies (Clark et al. 2019, §4.2, Table 1): does a word attend most to the word it depends
on, or the other way round?

Each head is a parser without training: its prediction for a word is the other word that it attends
to most. Beside it stands the best fixed offset of each relation, found on the same corpus, and how
often both are right, for a paired test.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from headscope.corpus import ROOT, Example, Word
from headscope.encode import Batch, Encoded
from headscope.measures.base import Context
from headscope.measures.options import Subtypes, one_of
from headscope.measures.words import WordMeasure, WordRows

ALL, CORE = "all", "all but root and punctuation"
DIRECTIONS = ("dependent to head", "head to dependent", "head to dependent by column")
WORDS = ("every", "offset right")
FURTHEST = 10
CLITICS = frozenset({"'s", "s'", "'", "’s", "’"})
POSSESSIVE = frozenset({"poss", "nmod:poss"})


@dataclass
class Arcs:
    """The arcs of a batch, and what a layer's heads predict."""

    # (batch, arc): the row that speaks for the dependent, the row and the column of the head word
    # (-1 for a root), and the column of the dependent.
    asked: Tensor
    head_row: Tensor
    head_column: Tensor
    column: Tensor
    # (batch, arc, label): to which relations an arc belongs, for every word, then for those where
    # the offset is right.
    groups: Tensor
    predicted: list[Tensor] = field(default_factory=list)  # (batch, head, row), block by block
    # (batch, head, column): the largest attention to each word so far, and from which row.
    largest: Tensor | None = None
    from_row: Tensor | None = None


class Dependency(WordMeasure):
    """Accuracy of every head at every relation, in three directions (Clark et al. 2019, section 4.2
    and Table 1).

    Parameters
    ----------
    subtypes
        Keep subtypes of labels (``nmod:poss``), or fold them into their kind (``nmod``).

    Notes
    -----

    *dependent to head*: the dependent attends most to its head word. *head to dependent*: the head
    word attends most to this dependent. *by column* (the released code's reading of the second): of
    all words, the head word attends most to this dependent. "all" counts every word, roots included
    (a root is never right). A possessor before a clitic 's is represented by the clitic.
    """

    name = "dependency"
    title = "Accuracy at dependencies"
    unit = "share of words right"
    source = "Clark et al. 2019, §4.2, Table 1"
    needs: ClassVar[frozenset[str]] = frozenset({"words", "tree"})

    def __init__(self, subtypes: Subtypes = "keep") -> None:
        self.subtypes: Subtypes = one_of("way with subtypes", subtypes, ("keep", "fold"))
        self._set_offsets({ALL: 1, CORE: 1})

    def _set_offsets(self, offsets: Mapping[str, int]) -> None:
        self.offsets = dict(offsets)
        self.relations = tuple(self.offsets)
        self.dims = {"direction": DIRECTIONS, "relation": self.relations, "words": WORDS}
        self._column = {relation: index for index, relation in enumerate(self.relations)}

    def bind(self, context: Context, corpus: Iterable[Example]) -> Self:
        """Find the relations of the corpus, and the best fixed offset of each."""
        bound = super().bind(context, corpus)
        counts: dict[str, Counter[int]] = {ALL: Counter(), CORE: Counter()}
        for example in corpus:
            for index, word in enumerate(example.words):
                if word.head is not None and word.head != ROOT:
                    for relation in _groups(word, self.subtypes):
                        counts.setdefault(relation, Counter())[
                            word.head - speaker(example.words, index)
                        ] += 1
        names = [ALL, CORE, *sorted(set(counts) - {ALL, CORE})]
        bound._set_offsets({relation: best_offset(counts[relation]) for relation in names})
        return bound

    def attributes(self) -> dict[str, str]:
        """The offsets too: they are the baseline."""
        return super().attributes() | {"offsets": json.dumps(self.offsets)}

    def prepare_words(self, batch: Batch, words: WordRows, device: Any) -> Arcs:
        """List the arcs of each example. An arc whose head word was cut off is not counted."""
        found = [self._arcs(item, words, number) for number, item in enumerate(batch.items)]
        most = max((len(arcs) for arcs in found), default=0)
        places = np.full((4, len(batch), max(most, 1)), -1)
        groups = np.zeros((len(batch), max(most, 1), len(self.relations), 2), np.float32)
        for example, arcs in enumerate(found):
            for number, (where, relations) in enumerate(arcs):
                places[:, example, number] = where
                for relation, offset in relations.items():
                    groups[example, number, self._column[relation]] = 1.0, offset
        asked, head_row, head_column, column = torch.from_numpy(places).to(device)
        flat = groups.reshape(*groups.shape[:2], -1)
        return Arcs(asked, head_row, head_column, column, torch.from_numpy(flat).to(device))

    def _arcs(
        self, item: Encoded, words: WordRows, number: int
    ) -> list[tuple[tuple[int, int, int, int], dict[str, bool]]]:
        """The arcs of an example: their places, and for which relations the offset is right."""
        tree, row, column = item.example.words, words.row[number], words.column[number]
        found = []
        for index in row:
            word = tree[index]
            if word.head is None or (word.head != ROOT and word.head not in row):
                continue
            speaks = speaker(tree, index)
            away = None if word.head == ROOT else word.head - speaks
            places = (
                row.get(speaks, row[index]),
                row.get(word.head, -1),
                column.get(word.head, -1),
                column[index],
            )
            found.append(
                (
                    places,
                    {
                        relation: away == self.offsets[relation]
                        for relation in _groups(word, self.subtypes)
                        if relation in self._column
                    },
                )
            )
        return found

    def word_rows(self, scores: Tensor, first_row: int, prepared: Arcs) -> None:
        """Keep each row's prediction, and for each column the row that attends to it most."""
        prepared.predicted.append(scores.argmax(-1))  # ties: the leftmost
        largest, row = scores.max(-2)  # argmax takes twice as long down columns
        row += first_row
        if prepared.largest is None or prepared.from_row is None:
            prepared.largest, prepared.from_row = largest, row
            return
        better = largest > prepared.largest  # of equals, the first row stays
        prepared.largest = torch.where(better, largest, prepared.largest)
        prepared.from_row = torch.where(better, row, prepared.from_row)

    def right(self, prepared: Arcs) -> Tensor:
        """(batch, head, direction · relation · words)."""
        predicted, by_column = torch.cat(prepared.predicted, 2), prepared.from_row
        assert by_column is not None
        prepared.predicted, prepared.largest, prepared.from_row = [], None, None
        heads = predicted.shape[1]
        asked, head_row, head_column, column = (
            places[:, None].expand(-1, heads, -1)
            for places in (
                prepared.asked,
                prepared.head_row,
                prepared.head_column,
                prepared.column,
            )
        )
        has_head = head_row >= 0
        right = torch.stack(
            [
                (predicted.gather(-1, asked.clamp_min(0)) == head_column) & has_head,
                (predicted.gather(-1, head_row.clamp_min(0)) == column) & has_head,
                (by_column.gather(-1, column.clamp_min(0)) == head_row) & has_head,
            ],
            dim=2,
        )
        counted = right.float().flatten(1, 2) @ prepared.groups
        return counted.view(len(counted), heads, -1)

    def totals(self, prepared: Arcs) -> Tensor:
        """How many arcs each relation has, the same in every direction."""
        return prepared.groups.sum(1).repeat(1, len(DIRECTIONS))


def speaker(words: Sequence[Word], index: int) -> int:
    """The word whose prediction counts for a word: itself, or the clitic after a possessor (for
    heads and for the offset alike).

    >>> speaker([Word("Ann", relation="poss"), Word("'s"), Word("hat")], 0)
    1
    """
    clitic = (
        words[index].relation in POSSESSIVE
        and index + 1 < len(words)
        and words[index + 1].text.lower() in CLITICS
    )
    return index + clitic


def best_offset(counts: Counter[int]) -> int:
    """The most frequent distance from a dependent to its head word; of equals, the shorter, then
    the one to the right.

    >>> best_offset(Counter({1: 3, -2: 3, 5: 1}))
    1
    """
    near = {offset: count for offset, count in counts.items() if 0 < abs(offset) <= FURTHEST}
    return max(near, key=lambda offset: (near[offset], -abs(offset), offset), default=1)


def _groups(word: Word, subtypes: str) -> list[str]:
    """The relations under which a word is counted."""
    relation = word.relation.partition(":")[0] if subtypes == "fold" else word.relation
    core = word.head != ROOT and word.relation != "punct" and word.upos != "PUNCT"
    return [ALL, *([CORE] if core else []), *([relation] if word.head != ROOT and relation else [])]
