"""Sentences with their trees, as the parsing probes see them: one tree at a time, over the words that have pieces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import ROOT, Example, Word

UNKNOWN = -2
"""The head of a word that has none annotated: neither trained on nor counted."""
LOST = -3
"""The head of a word whose head word has no pieces: not trained on; counted, and never found."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One tree. ``heads`` are places in the sentence itself, or ROOT, UNKNOWN or LOST."""

    words: tuple[str, ...]
    heads: NDArray[np.int64]
    punctuation: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.words)


def is_punctuation(word: Word) -> bool:
    """Whether a word is left out of UAS: its relation is ``punct``, or its tag PUNCT.

    >>> is_punctuation(Word(",", relation="punct")), is_punctuation(Word("dog", relation="nsubj", upos="NOUN"))
    (True, False)
    """
    return word.relation.partition(":")[0] == "punct" or word.upos == "PUNCT"


def split_sentences(example: Example, kept: Iterable[int]) -> list[NDArray[np.int64]]:
    """The kept words of each sentence of an example, as indices into its words, in order. A passage of several sentences has several trees."""
    found: dict[int, list[int]] = {}
    for index in sorted(kept):
        found.setdefault(example.words[index].sentence, []).append(index)
    return [np.array(indices, np.int64) for _, indices in sorted(found.items())]


def make_sentence(example: Example, indices: NDArray[np.int64]) -> Sentence:
    """The tree over some words of an example.

    >>> words = (Word("A", head=1), Word("dog", head=2), Word("barks", head=ROOT))
    >>> make_sentence(Example("1", ("A dog barks",), words), np.array([0, 1, 2])).heads.tolist()
    [1, 2, -1]
    """
    words = [example.words[index] for index in indices]
    places = {int(index): place for place, index in enumerate(indices)}
    heads = [
        UNKNOWN if word.head is None else ROOT if word.head == ROOT else places.get(word.head, LOST)
        for word in words
    ]
    return Sentence(
        tuple(word.text for word in words),
        np.array(heads, np.int64),
        np.array([is_punctuation(word) for word in words], np.bool_),
    )
