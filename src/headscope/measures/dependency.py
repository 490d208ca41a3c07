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
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from headscope.corpus import ROOT, Example, Word
from headscope.encode import Batch
from headscope.measures.base import Context
from headscope.measures.options import Subtypes, one_of
from headscope.measures.words import WordMap, WordMeasure

ALL, CORE = "all", "all but root and punctuation"
DIRECTIONS = ("dependent to head", "head to dependent", "head to dependent by column")
WORDS = ("every", "offset right")
FURTHEST = 10
CLITICS = frozenset({"'s", "s'", "'", "’s", "’"})
POSSESSIVE = frozenset({"poss", "nmod:poss"})


@dataclass(frozen=True)
class Arcs:
    """The arcs of a batch, as tensors over its word rows."""

    gold: Tensor  # (batch, word): the row of the head word, -1 for a root
    asked: Tensor  # (batch, word): the row whose prediction counts for this word
    real: Tensor  # (batch, word): rows that are words
    # (batch, word, label): to which relations an arc belongs, for every word, then for those where
    # the offset is right
    groups: Tensor


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

    def prepare_words(self, batch: Batch, words: WordMap, device: Any) -> Arcs:
        """Lay the arcs of each example out over its word rows. An arc whose head word was cut off
        is left out.
        """
        shape = (len(batch), words.most)
        gold, asked, real = (
            np.full(shape, -1),
            np.tile(np.arange(words.most), (len(batch), 1)),
            np.zeros(shape, bool),
        )
        groups = np.zeros((*shape, len(self.relations), 2), np.float32)
        for row, item in enumerate(batch.items):
            places, tree = words.places(row), item.example.words
            real[row, : len(places)] = True
            for index, place in places.items():
                word = tree[index]
                if word.head is None or (word.head != ROOT and word.head not in places):
                    continue
                gold[row, place] = places.get(word.head, -1)
                speaks = speaker(tree, index)
                asked[row, place] = places.get(speaks, place)
                for relation in _groups(word, self.subtypes):
                    column = self._column.get(relation)
                    if column is not None:
                        groups[row, place, column] = (
                            1.0,
                            word.head != ROOT and word.head - speaks == self.offsets[relation],
                        )
        return Arcs(
            *(
                torch.from_numpy(array).to(device)
                for array in (gold, asked, real, groups.reshape(*shape, -1))
            )
        )

    def words(self, maps: Tensor, prepared: Arcs) -> Tensor:
        """(batch, head, direction · relation · words)."""
        scores = other_words(maps, prepared.real)
        rows, columns = (
            scores.argmax(-1),
            scores.max(-2).indices,
        )  # ties: the leftmost; argmax takes twice as long down columns
        heads = maps.shape[1]
        gold, asked = (
            prepared.gold[:, None].expand(-1, heads, -1),
            prepared.asked[:, None].expand(-1, heads, -1),
        )
        itself = torch.arange(scores.shape[-1], device=maps.device)
        has_head = gold >= 0
        right = torch.stack(
            [
                rows.gather(-1, asked) == gold,
                (rows.gather(-1, gold.clamp_min(0)) == itself) & has_head,
                (columns == gold) & has_head,
            ],
            dim=2,
        )
        counted = right.float().flatten(1, 2) @ prepared.groups
        return counted.view(maps.shape[0], heads, -1)

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


def other_words(maps: Tensor, real: Tensor) -> Tensor:
    """Word maps (batch, head, word, column) with all but pairs of different words at -1: special
    tokens, the word itself, padding.
    """
    size = real.shape[1]
    itself = torch.eye(size, dtype=torch.bool, device=maps.device)
    pairs = real[:, :, None] & real[:, None, :] & ~itself
    return maps[..., :size].masked_fill(~pairs[:, None], -1.0)


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
