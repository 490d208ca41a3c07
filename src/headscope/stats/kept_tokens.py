"""The words that a head attends from and to most, in the sample that a survey kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.heads import HeadLike
from headscope.results.kept import KeptExamples, KeptMap

OFTEN = 2
"""Pairs that were seen so often come before those that were seen less."""


class WordPair(NamedTuple):
    """A pair of words, the mean attention from one to the other, and how often it was seen."""

    query: str
    key: str
    attention: float
    seen: int


class WordShare(NamedTuple):
    """A word, and its share of a head's attention between words."""

    word: str
    share: float


class _Links(NamedTuple):
    """The links between words of all texts of the sample: word numbers and weights."""

    words: list[str]
    query: NDArray[np.int64]
    key: NDArray[np.int64]
    weight: NDArray[np.float64]


def top_pairs(kept: KeptExamples, head: HeadLike, n: int = 8) -> list[WordPair]:
    """The pairs of words with the most attention from one to the other.

    Parameters
    ----------
    kept
        The examples of some results; only the random sample counts.
    head
        The head.
    n
        How many pairs.

    Returns
    -------
    list of WordPair
        Words in lower case. The attention is the mean over all places where the head attends from
        one to the other (over 0.005); neither sinks nor a word itself count. Pairs that were seen
        at least twice come first, and among them those with the most attention.

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks at the cat.", "A cat sleeps.", "The dog eats."]
    >>> kept = hs.survey("demo", texts, measures="position").kept
    >>> [(pair.query, pair.key, pair.seen) for pair in top_pairs(kept, "1-3", n=1)]
    [('dog', 'the', 2)]
    """
    links = _links(kept, head)
    codes = links.query * max(len(links.words), 1) + links.key
    pairs, places, seen = np.unique(codes, return_inverse=True, return_counts=True)
    means = np.bincount(places, links.weight, len(pairs)) / np.maximum(seen, 1)
    order = np.lexsort((pairs, -means, seen < OFTEN))[:n]
    return [
        WordPair(
            links.words[int(pairs[place]) // len(links.words)],
            links.words[int(pairs[place]) % len(links.words)],
            float(means[place]),
            int(seen[place]),
        )
        for place in order
    ]


def top_queries(kept: KeptExamples, head: HeadLike, n: int = 8) -> list[WordShare]:
    """The words from which most of a head's attention to other words comes.

    Parameters
    ----------
    kept, head, n
        As in :func:`top_pairs`.

    Returns
    -------
    list of WordShare
        Words in lower case, with their share of all attention between words, sinks excluded.
    """
    links = _links(kept, head)
    return _shares(links.words, links.query, links.weight, n)


def top_keys(kept: KeptExamples, head: HeadLike, n: int = 8) -> list[WordShare]:
    """The words to which most of a head's attention to other words goes.

    Parameters
    ----------
    kept, head, n
        As in :func:`top_pairs`.

    Returns
    -------
    list of WordShare
        As :func:`top_queries`.
    """
    links = _links(kept, head)
    return _shares(links.words, links.key, links.weight, n)


def _shares(
    words: list[str], numbers: NDArray[np.int64], weights: NDArray[np.float64], n: int
) -> list[WordShare]:
    sums = np.bincount(numbers, weights, len(words))
    order = np.argsort(-sums, kind="stable")[:n]
    total = sums.sum()
    return [WordShare(words[one], float(sums[one] / total)) for one in order if sums[one] > 0]


def _links(kept: KeptExamples, head: HeadLike) -> _Links:
    """All links between two different words of a text, in the order of the corpus."""
    maps = sorted(kept.sample(head), key=lambda one: (one.text.number, one.text.part))
    numbers: dict[str, int] = {}
    found = [_of_text(one, numbers) for one in maps]
    query, key, weight = (
        np.concatenate([np.zeros(0), *(part[place] for part in found)]) for place in range(3)
    )
    return _Links(list(numbers), query.astype(np.int64), key.astype(np.int64), weight)


def _of_text(
    found: KeptMap, numbers: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The links between words of one text: to a word the sum over its pieces, from it the mean."""
    text = found.text
    words = np.array(
        [numbers.setdefault(word.lower(), len(numbers)) for word in text.words], np.int64
    )
    unit, sink = np.array(text.unit, np.int64), np.array(text.sink, bool)
    query, key = unit[found.queries], unit[found.keys]
    good = (query >= 0) & (key >= 0) & (query != key) & ~sink[found.queries] & ~sink[found.keys]
    codes = query[good] * max(len(words), 1) + key[good]
    pairs, places = np.unique(codes, return_inverse=True)
    sums = np.bincount(places, found.weights[good], len(pairs))
    pieces = np.bincount(unit[unit >= 0], minlength=len(words))
    queries, keys = pairs // max(len(words), 1), pairs % max(len(words), 1)
    return words[queries], words[keys], sums / pieces[queries]
