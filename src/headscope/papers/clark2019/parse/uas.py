"""Unlabelled attachment score (UAS) with its interval, and the right-branching baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import ROOT
from headscope.papers.clark2019.parse.sentences import UNKNOWN, ParseSentence
from headscope.stats.inference.bootstrap import compare_ratios, draws, percentiles
from headscope.stats.inference.correction import correct
from headscope.stats.inference.documents import cluster_numbers

HeadWords = NDArray[np.int64]
"""For each word of a sentence the index of its head word, or ``ROOT``."""
RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class AttachmentScore:
    """An unlabelled attachment score.

    Parameters
    ----------
    uas
        Share of words whose head is right.
    low, high
        95 % interval.
    words, sentences
        Numbers of words and sentences counted.
    """

    uas: float
    low: float
    high: float
    words: int
    sentences: int


def right_branching(length: int) -> HeadWords:
    """The baseline in which the head of every word is the next word; the last word is the root.

    Examples
    --------
    >>> right_branching(3).tolist()
    [1, 2, -1]
    """
    heads = np.arange(1, length + 1, dtype=np.int64)
    heads[-1:] = ROOT
    return heads


def attachments(
    sentences: Sequence[ParseSentence],
    predicted: Sequence[HeadWords],
    *,
    punctuation: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the correct heads of each sentence.

    Parameters
    ----------
    sentences
        Sentences with their gold heads. Words without an annotated head are not counted.
    predicted
        Predicted heads of each sentence.
    punctuation
        Whether to count punctuation.

    Returns
    -------
    right, total
        Number of correct heads and of words counted, by sentence.

    Examples
    --------
    >>> sentence = ParseSentence(("A", "dog"), np.array([1, ROOT]), np.zeros(2, bool))
    >>> attachments([sentence], [right_branching(2)])
    (array([2]), array([2]))
    """
    right, total = np.zeros(len(sentences), np.int64), np.zeros(len(sentences), np.int64)
    for index, (sentence, heads) in enumerate(zip(sentences, predicted, strict=True)):
        counted = (sentence.heads != UNKNOWN) & (~sentence.punctuation | punctuation)
        right[index] = int((heads == sentence.heads)[counted].sum())
        total[index] = int(counted.sum())
    return right, total


def attachment_score(
    right: NDArray[np.int64],
    total: NDArray[np.int64],
    *,
    seed: int,
    documents: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> AttachmentScore:
    """UAS over all words, with a percentile bootstrap interval.

    Whole documents are resampled, because their words are not independent.

    Parameters
    ----------
    right, total
        Number of correct heads and of words counted, by sentence.
    seed
        Seed of the resampling.
    documents
        The document of each sentence; by default each is its own.
    resamples
        Number of resamples.
    confidence
        Level of the interval.

    Returns
    -------
    AttachmentScore
        NaN if there are no words.

    Examples
    --------
    >>> attachment_score(np.array([1, 2]), np.array([2, 2]), seed=0).uas
    0.75
    """
    units = _counted_documents(documents, total)
    right, total = right[total > 0], total[total > 0]
    if not len(total):
        return AttachmentScore(float("nan"), float("nan"), float("nan"), 0, 0)
    shares = [(counts @ right) / (counts @ total) for counts in draws(units, resamples, seed)]
    low, high = percentiles(np.concatenate(shares), confidence)
    return AttachmentScore(
        float(right.sum() / total.sum()), float(low), float(high), int(total.sum()), len(total)
    )


def _counted_documents(
    documents: Sequence[str] | None, total: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The number of the document of each sentence that has words."""
    named = [""] * len(total) if documents is None else documents
    return cluster_numbers([name for name, words in zip(named, total, strict=True) if words])


def compare_probes(
    right: Mapping[str, NDArray[np.int64]],
    total: NDArray[np.int64],
    *,
    seed: int,
    documents: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Compare every pair of probes by a paired bootstrap over documents.

    Two intervals may overlap although one probe is better on almost every sentence, so rows of a
    table are compared by their difference.

    Parameters
    ----------
    right
        Number of correct heads by sentence, of each probe.
    total
        Number of words counted, by sentence.
    seed
        Seed of the resampling.
    documents
        The document of each sentence; by default each is its own.

    Returns
    -------
    list of dict
        One object per pair: ``probe``, ``other``, the ``difference`` of their UAS (the better one
        minus the other), its 95 % interval ``low`` … ``high``, the two-sided ``p``, and
        ``p_corrected`` (Holm) over all pairs.

    Examples
    --------
    >>> right = {"a": np.array([2, 3]), "b": np.array([1, 1])}
    >>> compare_probes(right, np.array([4, 4]), seed=0)[0]["difference"]
    0.375
    """
    counted = total > 0
    names = sorted(right, key=lambda name: -int(right[name].sum()))
    if len(names) < 2 or not counted.any():
        return []
    table = np.stack([right[name][counted] for name in names])
    units = _counted_documents(documents, total)
    found = compare_ratios(table, total[counted], seed=seed, documents=units)
    pairs = list(combinations(range(len(names)), 2))
    corrected = correct([float(found["p"][pair]) for pair in pairs])
    return [
        {
            "probe": names[one],
            "other": names[other],
            **{key: float(found[key][one, other]) for key in ("difference", "low", "high", "p")},
            "p_corrected": float(p),
        }
        for (one, other), p in zip(pairs, corrected, strict=True)
    ]
