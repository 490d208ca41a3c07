"""Is a mean above a threshold? One-tailed tests from moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

Scores = NDArray[np.float64]


def moment_test(mean: Scores, deviation: Scores, n: Scores, tau: Scores, *, test: str) -> Scores:
    """p of "the mean is at most tau", from mean, deviation and count.

    Parameters
    ----------
    mean, deviation, n
        Of the scores. Without any spread the mean alone decides: p is 0 or 1.
    tau
        The threshold.
    test
        ``z`` (the normal distribution) or ``t`` (Student's).

    Examples
    --------
    >>> moment_test(np.array(3.5), np.array(2.0), np.array(64), np.array(3.0), test="z").round(4)
    np.float64(0.0228)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (mean - tau) / (deviation / np.sqrt(n))
        p = special.ndtr(-statistic) if test == "z" else special.stdtr(n - 1, -statistic)
    return np.asarray(np.where(deviation == 0, np.where(mean > tau, 0.0, 1.0), p))
