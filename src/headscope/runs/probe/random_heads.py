"""The top heads of a task beside sets of random heads, compared over test examples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats


@dataclass(frozen=True)
class RandomHeads:
    """The top heads of a task beside random ones.

    Parameters
    ----------
    scores
        Test scores of the sets of random heads, (set,).
    top
        Test score of the top heads.
    difference, low, high
        Mean over test examples of: the top heads are right, minus the share of random sets that
        are; with its 95 % interval.
    p
        Two-sided p-value of that mean (one-sample t-test over test examples).
    """

    scores: NDArray[np.float64]
    top: float
    difference: float
    low: float
    high: float
    p: float


def compare_random(right: NDArray[np.bool_], random: NDArray[np.bool_]) -> RandomHeads:
    """Compare the top heads with sets of random heads, test example by test example.

    Parameters
    ----------
    right
        Which test examples the top heads get right, (example,).
    random
        The same for the sets of random heads, (set, example).

    Examples
    --------
    >>> top = np.array([True, True, True, False])
    >>> found = compare_random(top, np.array([[1, 0, 1, 0], [1, 1, 0, 0]], bool))
    >>> found.top, found.scores.tolist(), found.difference
    (0.75, [0.5, 0.5], 0.25)
    """
    paired = right.astype(np.float64) - random.mean(0)
    test = stats.ttest_1samp(paired, 0.0)
    ends = test.confidence_interval(0.95)
    return RandomHeads(
        random.mean(1),
        float(right.mean()),
        float(paired.mean()),
        float(ends.low),
        float(ends.high),
        float(test.pvalue),
    )
