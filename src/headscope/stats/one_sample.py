"""Is a mean above a threshold? One-tailed tests from moments, and from single scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

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
        p = stats.norm.sf(statistic) if test == "z" else stats.t.sf(statistic, n - 1)
    return np.asarray(np.where(deviation == 0, np.where(mean > tau, 0.0, 1.0), p))


def bootstrap_test(
    scores: Scores, tau: float, resamples: int, generator: np.random.Generator
) -> tuple[Scores, Scores, Scores]:
    """p and interval by drawing sequences with replacement.

    Parameters
    ----------
    scores
        (sequence, head).
    tau
        The threshold. For p the scores are moved so that their mean is tau, as if nothing were
        above it.
    resamples, generator
        How many resamples to draw, and from what.

    Returns
    -------
    tuple of numpy.ndarray
        p, and the ends of the 95 % percentile interval, of each head.
    """
    count, centre = len(scores), scores.mean(0)
    drawn = generator.multinomial(count, np.full(count, 1 / count), size=resamples) / count
    means = drawn @ (scores - centre)
    p = (1 + (means + tau >= centre).sum(0)) / (1 + resamples)
    low, high = np.quantile(means, [0.025, 0.975], axis=0) + centre
    return p, low, high


def sign_flip_test(
    scores: Scores, tau: float, resamples: int, generator: np.random.Generator
) -> tuple[Scores, Scores, Scores]:
    """p by flipping signs at random: under the null a score is as likely above tau as below.

    Parameters
    ----------
    scores
        (sequence, head).
    tau
        The threshold.
    resamples, generator
        How many times signs are flipped, and by what.

    Returns
    -------
    tuple of numpy.ndarray
        p, and the ends of the 95 % t interval (a permutation test has none of its own), per head.
    """
    away = scores - tau
    signs = generator.integers(0, 2, (resamples, len(scores)), dtype=np.int8) * 2.0 - 1.0
    means = signs @ away / len(scores)
    centre = away.mean(0)
    p = (1 + (means >= centre - 1e-12 * np.abs(centre)).sum(0)) / (1 + resamples)
    error = stats.t.ppf(0.975, len(scores) - 1) * scores.std(0, ddof=1) / np.sqrt(len(scores))
    return p, scores.mean(0) - error, scores.mean(0) + error
