"""Choosing and scoring apart: what is chosen by its score is scored on data it was not chosen on.

The best of many heads looks better on the data it was chosen on than it is. Cross-fitting divides
the corpus into two halves of whole documents, chooses on one half, scores on the other, both ways,
and adds up. The two halves may choose differently: the score then rates the procedure, not one
head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]

FIRST, SECOND = slice(0, None, 2), slice(1, None, 2)
"""The buckets of the two halves: the first, third, …, and the second, fourth, …."""


@dataclass(frozen=True)
class CrossFit:
    """What was chosen on each half of a corpus, and how it did on the other half.

    Parameters
    ----------
    chosen
        The places of what the first half and the second half chose; None if nothing was chosen,
        because a half has no data.
    total, count
        By bucket: sums and counts of what the other half chose. All zero if nothing was chosen.
    """

    chosen: tuple[int, int] | None
    total: Array
    count: Array

    @classmethod
    def nothing(cls, buckets: int) -> CrossFit:
        """Where nothing could be chosen."""
        return cls(None, np.zeros(buckets), np.zeros(buckets))

    @property
    def score(self) -> float:
        """The mean over both halves; NaN if nothing was chosen."""
        return float(self.total.sum() / self.count.sum()) if self.chosen else float("nan")


def best_choice(total: ArrayLike, count: ArrayLike) -> int | None:
    """The place of the largest mean, the first of equals; None if nothing was counted.

    Parameters
    ----------
    total, count
        Sums and counts of every choice.

    Examples
    --------
    >>> best_choice([3, 4, 8], [10, 10, 20]), best_choice([0, 0], [0, 0])
    (1, None)
    """
    sums, counts = np.asarray(total, float), np.asarray(count, float)
    if not (counts > 0).any():
        return None
    means = np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), -np.inf)
    return int(np.argmax(means))


def cross_fit(total: ArrayLike, count: ArrayLike) -> CrossFit:
    """Choose the largest mean on each half of the buckets, and score it on the other half.

    Parameters
    ----------
    total, count
        Sums and counts by bucket and choice, (bucket, choice). All examples of a document must be
        in one bucket, as in the results of a survey.

    Returns
    -------
    CrossFit
        The two choices, and their sums and counts on the half that did not choose them.

    See Also
    --------
    cross_score : The same for scores that are not means, such as F1.

    Examples
    --------
    Two buckets, ten words each. The first half prefers choice 0, the second choice 1:

    >>> found = cross_fit([[8, 5], [4, 6]], [[10, 10], [10, 10]])
    >>> found.chosen, found.score
    ((0, 1), 0.45)

    On all words choice 0 has 12 of 20, which is what choosing and scoring on the same words gives.
    """
    sums, counts = np.asarray(total, float), np.asarray(count, float)
    first = best_choice(sums[FIRST].sum(0), counts[FIRST].sum(0))
    second = best_choice(sums[SECOND].sum(0), counts[SECOND].sum(0))
    if first is None or second is None:
        return CrossFit.nothing(len(sums))
    mine, number = sums[:, second].copy(), counts[:, second].copy()
    mine[SECOND], number[SECOND] = sums[SECOND, first], counts[SECOND, first]
    return CrossFit((first, second), mine, number)


def fit_apart(
    train_total: ArrayLike, train_count: ArrayLike, total: ArrayLike, count: ArrayLike
) -> CrossFit:
    """Choose the largest mean on training data, and score it on other data.

    Parameters
    ----------
    train_total, train_count
        Sums and counts of every choice on the training data.
    total, count
        By bucket and choice, (bucket, choice), on the data to score on.

    Returns
    -------
    CrossFit
        Both of its choices are the one made on the training data.

    Examples
    --------
    >>> fit_apart([7, 9], [10, 10], [[8, 5], [4, 6]], [[10, 10], [10, 10]]).score
    0.55
    """
    sums, counts = np.asarray(total, float), np.asarray(count, float)
    place = best_choice(train_total, train_count)
    if place is None or not counts[:, place].any():
        return CrossFit.nothing(len(sums))
    return CrossFit((place, place), sums[:, place], counts[:, place])


def cross_score(first: ArrayLike, second: ArrayLike) -> tuple[float, tuple[int, int] | None]:
    """Choose the largest of some scores on each half, and score it on the other half.

    Parameters
    ----------
    first, second
        The score of every choice on the first and on the second half; NaN is never chosen.

    Returns
    -------
    score : float
        The mean of the two scores on the half that did not choose; NaN if nothing was chosen.
    chosen : tuple of int or None
        The places of what the first half and the second half chose.

    Examples
    --------
    >>> cross_score([0.8, 0.5], [0.4, 0.6])
    (0.45, (0, 1))
    """
    one, other = np.asarray(first, float), np.asarray(second, float)
    if np.isnan(one).all() or np.isnan(other).all():
        return float("nan"), None
    chosen = int(np.nanargmax(one)), int(np.nanargmax(other))
    return float((other[chosen[0]] + one[chosen[1]]) / 2), chosen
