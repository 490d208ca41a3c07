"""Sentences with their trees, as the parsing probes see them: the words that have pieces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import ROOT, Example, Word

UNKNOWN = -2
"""Head of a word without an annotated head: neither trained on nor counted."""
LOST = -3
"""Head of a word whose head word has no pieces: not trained on, and counted as wrong."""


@dataclass(frozen=True, slots=True)
class ParseSentence:
    """A sentence with its dependency tree.

    Parameters
    ----------
    words
        The words.
    heads
        For each word the index of its head word in the sentence, or ``ROOT``, ``UNKNOWN`` or
        ``LOST``.
    punctuation
        Whether each word is punctuation.
    document
        What it is part of; "" for a document of its own.

    Examples
    --------
    >>> len(ParseSentence(("A", "dog"), np.array([1, ROOT]), np.array([False, False])))
    2
    """

    words: tuple[str, ...]
    heads: NDArray[np.int64]
    punctuation: NDArray[np.bool_]
    document: str = ""

    def __len__(self) -> int:
        return len(self.words)


def is_punctuation(word: Word) -> bool:
    """Whether a word is punctuation, by its relation (``punct``) or its tag (PUNCT).

    Attachment scores do not count punctuation.

    Examples
    --------
    >>> is_punctuation(Word(",", relation="punct"))
    True
    >>> is_punctuation(Word("dog", relation="nsubj", upos="NOUN"))
    False
    """
    return word.relation.partition(":")[0] == "punct" or word.upos == "PUNCT"


def split_sentences(example: Example, kept: Iterable[int]) -> list[NDArray[np.int64]]:
    """Group the words of an example by sentence: a passage has one tree per sentence.

    Parameters
    ----------
    example
        A sentence or a passage.
    kept
        Indices of the words to keep.

    Returns
    -------
    list of arrays
        For each sentence the indices of its words in the example, in order.

    Examples
    --------
    >>> words = (Word("Go"), Word("Stop", sentence=1), Word("it", sentence=1))
    >>> split_sentences(Example("1", ("Go Stop it",), words), [0, 2])
    [array([0]), array([2])]
    """
    by_sentence: dict[int, list[int]] = {}
    for index in sorted(kept):
        by_sentence.setdefault(example.words[index].sentence, []).append(index)
    return [np.array(indices, np.int64) for _, indices in sorted(by_sentence.items())]


def make_sentence(example: Example, indices: NDArray[np.int64]) -> ParseSentence:
    """The tree over some words of an example.

    Examples
    --------
    >>> words = (Word("A", head=1), Word("dog", head=2), Word("barks", head=ROOT))
    >>> make_sentence(Example("1", ("A dog barks",), words), np.array([0, 1, 2])).heads.tolist()
    [1, 2, -1]
    """
    words = [example.words[index] for index in indices]
    places = {int(index): place for place, index in enumerate(indices)}
    heads = []
    for word in words:
        if word.head is None or word.head == ROOT:
            heads.append(UNKNOWN if word.head is None else ROOT)
        else:
            heads.append(places.get(word.head, LOST))
    return ParseSentence(
        tuple(word.text for word in words),
        np.array(heads, np.int64),
        np.array([is_punctuation(word) for word in words], np.bool_),
        example.group or example.id,
    )
