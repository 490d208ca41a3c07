"""Unlabelled attachment score: the share of words whose head is found, with an interval over sentences; and the right-branching baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import ROOT
from headscope.runs.parse.sentences import UNKNOWN, Sentence

Heads = NDArray[np.int64]
RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Score:
    """A UAS with its interval, and how many words and sentences it is of."""

    uas: float
    low: float
    high: float
    words: int
    sentences: int


def right_branching(length: int) -> Heads:
    """Every word's head is the next word; the last one is the root.

    >>> right_branching(3).tolist()
    [1, 2, -1]
    """
    heads = np.arange(1, length + 1, dtype=np.int64)
    heads[-1:] = ROOT
    return heads


def attachments(
    sentences: Sequence[Sentence], predicted: Sequence[Heads], *, punctuation: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many heads are right in each sentence, and of how many: words with an annotated head, punctuation left out unless asked for."""
    right, total = np.zeros(len(sentences), np.int64), np.zeros(len(sentences), np.int64)
    for index, (sentence, heads) in enumerate(zip(sentences, predicted, strict=True)):
        counted = (sentence.heads != UNKNOWN) & (~sentence.punctuation | punctuation)
        right[index], total[index] = (
            int((heads == sentence.heads)[counted].sum()),
            int(counted.sum()),
        )
    return right, total


def score(
    right: NDArray[np.int64],
    total: NDArray[np.int64],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Score:
    """UAS over all words, with a percentile bootstrap interval: whole sentences are drawn again, since the words of one are not independent.

    >>> score(np.array([1, 2]), np.array([2, 2]), seed=0).uas
    0.75
    """
    right, total = right[total > 0], total[total > 0]
    count = len(total)
    if not count:
        return Score(float("nan"), float("nan"), float("nan"), 0, 0)
    draws = np.random.default_rng(seed).multinomial(
        count, np.full(count, 1 / count), size=resamples
    )
    low, high = np.quantile(
        (draws @ right) / (draws @ total), [(1 - confidence) / 2, (1 + confidence) / 2]
    )
    return Score(float(right.sum() / total.sum()), float(low), float(high), int(total.sum()), count)
