"""Dependencies (Clark et al. 2019, §4.2, Table 1): does a word attend most to the word it depends
on, or the other way round?

Each head is a parser without training: its prediction for a word is the other word of the sentence
that it attends to most. Beside it stands the best fixed offset of each relation, found on the same
corpus, and how often both are right, for a paired test; and the offset that was found on the other
half of the corpus.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import ROOT, Example, Word, bucket_of
from headscope.labels import STANFORD
from headscope.measures.arcs import DIRECTIONS
from headscope.measures.base import Context, Subtypes, one_of
from headscope.measures.kernels import largest_and_place, to_device
from headscope.measures.lazy import torch
from headscope.measures.words import NO_WORD, WordMeasure, WordRows

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.encode import Batch, Encoded

ALL, CORE = "all", "all but root and punctuation"
POSSESSIVE = frozenset({"poss", "nmod:poss"})


class WordArc(NamedTuple):
    """A dependent and its head word, and what it counts as.

    Parameters
    ----------
    dependent : int
        The dependent.
    speaker : int
        The word that stands for the dependent in every direction; see :func:`speaker`.
    head : int
        The head word, or ``ROOT``.
    relations : list of str
        The relations under which the arc is counted.
    """

    dependent: int
    speaker: int
    head: int
    relations: list[str]

    @property
    def offset(self) -> int | None:
        """How many words away the head word stands; None for a root."""
        return None if self.head == ROOT else self.head - self.speaker


@dataclass
class Arcs:
    """The arcs of a batch, and what a layer's heads predict."""

    # (batch, arc): the rows and columns of the dependent (of the clitic that stands for it, if
    # there is one) and of its head word (-1 for a root).
    row: Tensor
    column: Tensor
    head_row: Tensor
    head_column: Tensor
    # (batch, arc, label): to which relations an arc belongs, for every word, for those where the
    # offset is right, and for those where the offset of the other half of the corpus is.
    groups: Tensor
    # (batch, token): the sentence of each token; None if every example is one sentence.
    sentence: Tensor | None
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
    stanford
        For treebanks in Universal Dependencies: also score the relations of Stanford Dependencies
        that UD annotates in another way, as ``pobj (SD)``, ``aux (SD)``, ``mark (SD)``,
        ``neg (SD)`` and ``advmod (SD)``; see :func:`stanford_arc`.
    special
        Whether special tokens are candidates too: a word that attends most to [SEP] is then wrong.
        By default they are ignored, as in the paper (footnote 3).

    Notes
    -----

    *dependent to head*: the dependent attends most to its head word. *head to dependent*: the head
    word attends most to this dependent. *by column* (the released code's reading of the second): of
    all words, the head word attends most to this dependent. Only words of the same sentence are
    candidates. "all" counts every word, roots included (a root is never right).

    A possessor before a clitic (*'s*, *s'*, an apostrophe alone) is represented by the clitic, in
    every direction and in the offset baseline. In *Ann 's hat*, a head is right about Ann if the
    clitic attends most to *hat*; if *hat* attends most to the clitic; by column, if of all words
    *hat* attends most to the clitic. The possessor itself is then no right answer: attention
    between *Ann* and *hat* does not count, as in the released code. Where the clitic was cut off,
    the possessor counts.
    """

    name = "dependency"
    title = "Accuracy at dependencies"
    unit = "share of words right"
    source = "Clark et al. 2019, §4.2, Table 1"
    says = "{relation}: {direction}{words}"
    labels = {
        "direction": {
            **DIRECTIONS,
            "head to dependent by column": "head word → dependent, by column",
        },
        "relation": {
            ALL: "all relations",
            CORE: "all relations except root and punctuation",
            "": "{}",
        },
        "words": {
            "every": "",
            "offset right": ", where the best fixed offset is right",
            "held-out offset right": ", where the offset chosen on the other half is right",
        },
    }
    read = {
        "relation": (),
        "direction": tuple(DIRECTIONS),
        "words": ("every", "offset right", "held-out offset right"),
    }
    keyed = ("offsets", "half_offsets", "offset_counts")
    needs = frozenset({"words", "tree"})

    def __init__(
        self, subtypes: Subtypes = "keep", stanford: bool = False, special: bool = False
    ) -> None:
        self.subtypes: Subtypes = one_of("way with subtypes", subtypes, ("keep", "fold"))
        self.stanford = stanford
        self.special = special
        self._set_offsets(OffsetCounts())

    def _set_offsets(self, counts: OffsetCounts) -> None:
        self.counts = counts
        self.offsets = {ALL: 1, CORE: 1} | counts.best()
        self._by_half = {name: counts.chosen(name) for name in counts.halves}
        self.relations = tuple(self.offsets)
        self.dims = {**type(self).dims, "relation": self.relations}
        self._column = {relation: index for index, relation in enumerate(self.relations)}

    def bind(self, context: Context, corpus: Iterable[Example]) -> Self:
        """Find the relations of the corpus, and the best fixed offset of each."""
        bound = super().bind(context, corpus)
        counts = OffsetCounts()
        for example in corpus:
            half = half_of(example)
            for arc in self.arcs(example.words):
                for relation in arc.relations:
                    counts.add(relation, half, arc.offset)
        names = [ALL, CORE, *sorted(set(counts.halves) - {ALL, CORE})]
        none: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        bound._set_offsets(OffsetCounts({name: counts.halves.get(name, none) for name in names}))
        return bound

    def attributes(self) -> dict[str, str]:
        """The offsets too: they are the baseline."""
        return super().attributes() | self.counts.attributes()

    def arcs(self, words: Sequence[Word]) -> Iterator[WordArc]:
        """List the arcs of a tree, with the relations under which each is counted."""
        for index, word in enumerate(words):
            if word.head is None:
                continue
            relations = _groups(word, self.subtypes)
            speaks = speaker(words, index)
            arc = stanford_arc(words, index) if self.stanford else None
            if arc and arc.dependent == index:
                relations.append(arc.relation)
            elif arc:  # the same two words, the other way round
                yield WordArc(arc.dependent, arc.dependent, arc.head, [arc.relation])
            yield WordArc(index, speaks, word.head, relations)

    def prepare_words(self, batch: Batch, words: WordRows, device: Any) -> Arcs:
        """List the arcs of each example. An arc whose head word was cut off is not counted."""
        by_example = [self._places(item, words, number) for number, item in enumerate(batch.items)]
        most = max((len(arcs) for arcs in by_example), default=0)
        places = np.full((4, len(batch), max(most, 1)), -1)
        cells: list[tuple[int, int, int, int, int]] = []
        for example, arcs in enumerate(by_example):
            half = half_of(batch.items[example].example)
            for number, (where, arc) in enumerate(arcs):
                places[:, example, number] = where
                away = arc.offset or 0  # 0 for a root, which is no offset
                cells += [
                    (example, number, self._column[relation], half, away)
                    for relation in arc.relations
                    if relation in self._column
                ]
        groups = np.zeros(
            (len(batch), max(most, 1), len(self.relations), len(self.dims["words"])), np.float32
        )
        at, number_of, label, halves, offset = np.array(cells, np.int64).reshape(-1, 5).T
        best, by_half = self._baselines()
        groups[at, number_of, label] = np.stack(
            [np.ones(len(at)), offset == best[label], offset == by_half[label, 1 - halves]], 1
        )
        row, column, head_row, head_column = to_device(places, device)
        flat = to_device(groups.reshape(*groups.shape[:2], -1), device)
        sentence = _sentences(batch, words)
        return Arcs(
            row,
            column,
            head_row,
            head_column,
            flat,
            None if sentence is None else to_device(sentence, device),
        )

    def _baselines(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The best offset of each relation, (relation,), and of each half, (relation, half)."""
        by_half = [self._by_half.get(name, (1, 1)) for name in self.relations]
        best = [self.offsets[name] for name in self.relations]
        return np.array(best, np.int64), np.array(by_half, np.int64).reshape(-1, 2)

    def _places(
        self, item: Encoded, words: WordRows, number: int
    ) -> list[tuple[tuple[int, int, int, int], WordArc]]:
        """The arcs of an example whose words are there, each with its rows and columns."""
        row, column = words.row[number], words.column[number]
        placed = []
        for arc in self.arcs(item.example.words):
            if arc.dependent in row and (arc.head == ROOT or arc.head in row):
                speaks = arc.speaker if arc.speaker in row else arc.dependent
                places = (
                    row[speaks],
                    column[speaks],
                    row.get(arc.head, -1),
                    column.get(arc.head, -1),
                )
                placed.append((places, arc))
        return placed

    def word_rows(self, scores: Tensor, first_row: int, prepared: Arcs) -> None:
        """Keep each row's prediction, and for each column the row that attends to it most."""
        if prepared.sentence is not None:
            rows = prepared.sentence[:, first_row : first_row + scores.shape[2], None]
            columns = prepared.sentence[:, None, : scores.shape[3]]
            other = rows != columns
            if self.special:  # special tokens are in no sentence
                other &= columns >= 0
            scores = scores.masked_fill(other[:, None], NO_WORD)
        prepared.predicted.append(largest_and_place(scores, -1)[1])  # of equals, the leftmost
        largest, row = largest_and_place(scores, -2)
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
        row, column, head_row, head_column = (
            places[:, None].expand(-1, heads, -1)
            for places in (prepared.row, prepared.column, prepared.head_row, prepared.head_column)
        )
        has_head = head_row >= 0
        right = torch.stack(
            [
                (predicted.gather(-1, row.clamp_min(0)) == head_column) & has_head,
                (predicted.gather(-1, head_row.clamp_min(0)) == column) & has_head,
                (by_column.gather(-1, column.clamp_min(0)) == head_row) & has_head,
            ],
            dim=2,
        )
        counted = right.float().flatten(1, 2) @ prepared.groups
        return counted.view(len(counted), heads, -1)

    def totals(self, prepared: Arcs) -> Tensor:
        """How many arcs each relation has, the same in every direction."""
        return prepared.groups.sum(1).repeat(1, len(self.dims["direction"]))


def speaker(words: Sequence[Word], index: int) -> int:
    """The word that stands for a word: itself, or the clitic after a possessor.

    >>> speaker([Word("Ann", relation="poss"), Word("'s"), Word("hat")], 0)
    1
    """
    word, following = words[index], words[index + 1 : index + 2]
    return index + (
        word.relation in POSSESSIVE
        and any(
            other.text.lower() in CLITICS and other.sentence == word.sentence for other in following
        )
    )


def half_of(example: Example) -> int:
    """The half of the corpus that an example is in: 0 in even buckets, 1 in odd ones.

    >>> half_of(Example("1", ("A dog barks.",), group="news-1"))  # bucket 19
    1
    """
    return bucket_of(example) % 2


def _sentences(batch: Batch, words: WordRows) -> NDArray[np.int64] | None:
    """The sentence of each token, (batch, token); None if every example is one sentence."""
    several = any(len({word.sentence for word in item.example.words}) > 1 for item in batch.items)
    if not several:
        return None
    sentences = np.full((len(batch), batch.width), -1, np.int64)
    for number, item in enumerate(batch.items):
        for places in (words.row[number], words.column[number]):
            for word, token in places.items():
                sentences[number, token] = item.example.words[word].sentence
    return sentences


def _groups(word: Word, subtypes: str) -> list[str]:
    """The relations under which a word is counted."""
    relation = word.relation.partition(":")[0] if subtypes == "fold" else word.relation
    core = word.head != ROOT and word.relation != "punct" and word.upos != "PUNCT"
    return [ALL, *([CORE] if core else []), *([relation] if word.head != ROOT and relation else [])]


# --- the baseline: the head word always stands so many words away ---

FURTHEST = 10
"""Offsets of more words are no baseline."""
ELSEWHERE = 0
"""Counts the words whose head word is further away, and roots."""


def best_offset(counts: Mapping[int, int]) -> int:
    """The most frequent distance from a dependent to its head word; of equals, the shorter, then
    the one to the right.

    >>> best_offset(Counter({1: 3, -2: 3, 5: 1}))
    1
    """
    near = {offset: count for offset, count in counts.items() if 0 < abs(offset) <= FURTHEST}
    return max(near, key=lambda offset: (near[offset], -abs(offset), offset), default=1)


@dataclass
class OffsetCounts:
    """How often the head word stands at each offset, by relation and half of the corpus.

    Parameters
    ----------
    halves
        By relation: the counts of the first half (even buckets) and of the second.

    Examples
    --------
    >>> counts = OffsetCounts()
    >>> for half, offset in ((0, 1), (0, 1), (1, -2), (1, None)):
    ...     counts.add("det", half, offset)
    >>> counts.best()["det"], counts.chosen("det")
    (1, (1, -2))
    """

    halves: dict[str, tuple[Counter[int], Counter[int]]] = field(default_factory=dict)

    def add(self, relation: str, half: int, offset: int | None) -> None:
        """Count a word whose head word is ``offset`` words away, or None for a root."""
        pair = self.halves.setdefault(relation, (Counter(), Counter()))
        near = offset is not None and 0 < abs(offset) <= FURTHEST
        pair[half][offset if near and offset is not None else ELSEWHERE] += 1

    def best(self) -> dict[str, int]:
        """The best offset of each relation on the whole corpus."""
        return {relation: best_offset(one + two) for relation, (one, two) in self.halves.items()}

    def chosen(self, relation: str) -> tuple[int, int]:
        """The best offset of a relation on each half."""
        first, second = self.halves[relation]
        return best_offset(first), best_offset(second)

    def attributes(self) -> dict[str, str]:
        """The offsets as they are written beside the numbers.

        ``offsets`` has the best one of each relation, ``half_offsets`` the best one on each half,
        and ``offset_counts`` how many words have their head word at each offset.
        """
        whole = {relation: first + second for relation, (first, second) in self.halves.items()}
        return {
            "offsets": json.dumps(self.best()),
            "half_offsets": json.dumps({name: self.chosen(name) for name in self.halves}),
            "offset_counts": json.dumps(
                {name: dict(sorted(counts.items())) for name, counts in whole.items()}
            ),
        }


# --- Stanford Dependencies ---

# Relations of Stanford Dependencies that Universal Dependencies annotate in another way.
#
# Clark et al. (2019, Table 1) score Stanford Dependencies. Where UD differs in the name alone (obj,
# nmod:poss), a table can rename it. The relations here differ in what they join:
#
# - *pobj* joins the object of a preposition to the preposition. UD's ``case`` joins the preposition
#   to the object: the same two words, the other way round. The clitic 's is ``case`` too, but no
#   preposition.
# - *aux* includes the infinitive's "to", which is ``mark`` in UD; *mark* does not.
# - *neg* is "not", "n't" or "never", which is ``advmod`` in UD; *advmod* has the other adverbs.
#
# *prep* has no counterpart in UD.

CLITICS = frozenset({"'s", "s'", "'", "’s", "’"})
NEGATIONS = frozenset({"not", "n't", "n’t", "nt", "never"})


class StanfordArc(NamedTuple):
    """An arc of Stanford Dependencies.

    Parameters
    ----------
    dependent, head : int
        The indices of the two words.
    relation : str
        The label, such as ``"pobj (SD)"``.
    """

    dependent: int
    head: int
    relation: str


def stanford_arc(words: Sequence[Word], index: int) -> StanfordArc | None:
    """The Stanford arc of a word of a UD tree, where the two schemes differ in more than the name.

    Parameters
    ----------
    words
        The words with their UD tree.
    index
        Which word.

    Returns
    -------
    StanfordArc or None
        None for words without a head word, and for all other relations.

    Examples
    --------
    >>> words = [Word("in", head=1, relation="case"), Word("Rome", head=ROOT, relation="root")]
    >>> tuple(stanford_arc(words, 0))
    (1, 0, 'pobj (SD)')
    """
    word = words[index]
    if word.head is None or word.head == ROOT:
        return None
    text, relation = word.text.lower(), word.relation.partition(":")[0]
    if relation == "case" and text not in CLITICS:
        return StanfordArc(word.head, index, f"pobj{STANFORD}")
    name = ""
    if word.relation == "aux" or relation == "mark":
        infinitive = text == "to" and word.upos in {"PART", ""}
        name = "aux" if relation == "aux" or infinitive else "mark"
    elif relation == "advmod":
        name = "neg" if text in NEGATIONS else "advmod"
    return StanfordArc(index, word.head, f"{name}{STANFORD}") if name else None
