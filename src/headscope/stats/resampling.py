"""Is a mean above a threshold? Tests that resample clusters of sequences, for many heads at once.

All heads and roles share each resample, so that the largest statistic of a resample can be had too
(max-T, Westfall and Young 1993). Cells are taken in blocks, and resamples in chunks, so that memory
does not grow with either.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headscope.errors import UserError
from headscope.stats.bootstrap import CHUNK, draws
from headscope.stats.clusters import Array, ClusterSums

RESAMPLES = 5000
"""The fewest resamples by default; intervals come from this many."""
CELLS = 4096
"""Heads times roles that are resampled at a time."""
SPARE = 2
"""By default the least corrected p is this many times below the level."""
TIES = 1e-9
"""Relative differences below this are rounding."""
MAX_T = "maxt"

Draws = Iterator[NDArray[np.floating]]


@dataclass(frozen=True)
class Resampled:
    """What resampling gives for every head and role.

    Parameters
    ----------
    p, p_max
        (threshold, cell, role): p of "the mean is at most the threshold", by itself and by the
        largest statistic of all heads and roles. NaN below two clusters.
    low, high
        (cell, role): the ends of the 95 % interval of the mean.
    """

    p: Array
    p_max: Array
    low: Array
    high: Array


def enough_resamples(tests: int, alpha: float, correction: str) -> int:
    """How many resamples a corrected test needs to find anything.

    The least p is 1 / (resamples + 1), which Holm multiplies by the number of tests.

    Parameters
    ----------
    tests
        How many hypotheses are tested together.
    alpha
        The level of the test.
    correction
        none, holm, bh or maxt.

    Examples
    --------
    >>> enough_resamples(1224, 0.05, "holm"), enough_resamples(1224, 0.05, "maxt")
    (48960, 5000)
    """
    factor = tests if correction in ("holm", "bh") else 1
    return max(RESAMPLES, int(np.ceil(SPARE * factor / alpha)))


def check_resamples(resamples: int, tests: int, alpha: float, correction: str) -> None:
    """Refuse a number of resamples with which no corrected p can be below the level.

    Parameters
    ----------
    resamples, tests, alpha, correction
        As in :func:`enough_resamples`.

    Raises
    ------
    UserError
        If nothing could be found, whatever the scores.
    """
    if resamples < 1:
        raise UserError(
            f"the number of resamples must be 1 or more, got {resamples} instead",
            hint=f"{RESAMPLES} is the least by default",
        )
    factor = tests if correction == "holm" else 1
    if factor / (resamples + 1) >= alpha:
        by = f", and Holm multiplies it by {tests:,} tests" if factor > 1 else ""
        raise UserError(
            f"with {resamples:,} resamples no head can have a role at the level {alpha:g}: the "
            f"least p is 1/{resamples + 1:,}{by}",
            **_advice(tests, alpha, correction),
        )


def check_attained(
    p: Array, corrected: Array, resamples: int, alpha: float, correction: str
) -> None:
    """Refuse an answer in which only the number of resamples keeps heads from having roles.

    Parameters
    ----------
    p, corrected
        The p-values, and the same corrected.
    resamples, alpha, correction
        As in :func:`enough_resamples`.

    Raises
    ------
    UserError
        If some p is as small as it can be, and none is below the level once corrected.
    """
    least = p <= (1 + TIES) / (resamples + 1)
    if correction == "bh" and least.any() and not (corrected < alpha).any():
        tests = int(np.isfinite(p).sum())
        raise UserError(
            f"with {resamples:,} resamples no head has a role at the level {alpha:g}, though "
            f"{int(least.sum()):,} of {tests:,} tests have the least p there can be, "
            f"1/{resamples + 1:,}",
            **_advice(tests, alpha, correction),
        )


def _advice(tests: int, alpha: float, correction: str) -> dict[str, str]:
    """What to do about too few resamples."""
    needed = enough_resamples(tests, alpha, correction)
    corrected = correction in ("holm", "bh")
    hint, command = (", or correction='maxt'", ", or --correction maxt") if corrected else ("", "")
    return {
        "hint": f"give resamples={needed} or more{hint}",
        "command": f"give --resamples {needed} or more{command}",
    }


def resample(
    clusters: ClusterSums, taus: Array, *, test: str, resamples: int, seed: int
) -> Resampled:
    """Test all heads and roles against some thresholds.

    Parameters
    ----------
    clusters
        The scores, summed by cluster.
    taus
        (threshold, role).
    test
        ``bootstrap`` draws clusters with replacement and compares Student's statistics (the
        bootstrap-t), which stands skewed scores better than means do. ``permutation`` flips the
        signs of the clusters' distances from tau, which needs them to be symmetric.
    resamples, seed
        How many resamples to draw, and from what.

    References
    ----------
    Efron and Tibshirani 1993, "An introduction to the bootstrap", chapter 12; Westfall and Young
    1993, "Resampling-based multiple testing".
    """
    cells, roles = clusters.sums.shape[1:]
    blocks = np.array_split(np.arange(cells), max(1, -(-cells * roles // CELLS)))
    most = np.full((len(taus), resamples), -np.inf)
    parts = []
    for block in blocks:
        part = ClusterSums(clusters.sums[:, block], clusters.counts)
        one = _Bootstrap(part, taus) if test == "bootstrap" else _SignFlips(part, taus)
        parts.append(one.run(resamples, seed, most))
    p, low, high = (np.concatenate(found, axis=-2) for found in zip(*parts, strict=True))
    error = clusters.error
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (clusters.mean - taus[:, None]) / error
    below = [
        resamples - np.searchsorted(np.sort(largest), one * (1 - TIES * np.sign(one)))
        for largest, one in zip(most, observed, strict=True)
    ]
    p_max = (1 + np.stack(below)) / (1 + resamples)
    return Resampled(p, np.where(np.isnan(p), np.nan, np.maximum(p, p_max)), low, high)


class _Test(ABC):
    """What both tests share: chunks of resamples over a block of heads."""

    def __init__(self, clusters: ClusterSums, taus: Array) -> None:
        self.clusters, self.taus = clusters, taus
        self.mean, self.error, self.n = clusters.mean, clusters.error, clusters.n
        self.flat = ~(self.error > TIES * np.abs(self.mean))  # no spread, or too few clusters
        self.scale = np.where(self.flat, np.inf, self.error)
        self.away = self.mean - taus[:, None]
        """(threshold, cell, role)."""

    def run(self, resamples: int, seed: int, most: Array) -> tuple[Array, Array, Array]:
        """p, low and high; the largest statistic of each resample goes into ``most``."""
        over = np.zeros(self.away.shape, np.int64)
        done = 0
        for drawn in self.draws(resamples, seed):
            place = slice(done, done + len(drawn))
            over += self.chunk(drawn, most[:, place], done)
            done += len(drawn)
        p = (1 + over) / (1 + resamples)
        sure = np.where(self.away > 0, 1 / (1 + resamples), 1.0)
        p = np.where(self.flat, sure, p)
        low, high = self.interval()
        few = self.clusters.number < 2
        return (
            np.where(few, np.nan, p),
            np.where(few, np.nan, low),
            np.where(few, np.nan, high),
        )

    @abstractmethod
    def draws(self, resamples: int, seed: int) -> Draws:
        """(resample, cluster), some resamples at a time."""

    @abstractmethod
    def chunk(self, drawn: NDArray[np.floating], most: Array, done: int) -> NDArray[np.int64]:
        """How many of these resamples reach what was observed, (threshold, cell, role)."""

    @abstractmethod
    def interval(self) -> tuple[Array, Array]:
        """The ends of the 95 % interval of the mean."""


class _Bootstrap(_Test):
    """Clusters drawn with replacement; Student's statistic of each resample."""

    def __init__(self, clusters: ClusterSums, taus: Array) -> None:
        super().__init__(clusters, taus)
        size = len(clusters.sums)
        away, counts = clusters.away, clusters.counts
        self.shape = away.shape[1:]
        # In single precision: a statistic needs no more, and products are twice as fast.
        self.first = away.reshape(size, -1).astype(np.float32)
        self.second = (away**2).reshape(size, -1).astype(np.float32)
        self.crossed = (away * counts[:, None]).reshape(size, -1).astype(np.float32)
        self.single = bool((counts <= 1).all())
        self.counts = np.stack([counts, counts**2, counts > 0], 1).astype(np.float32)
        self.kept: list[NDArray[np.float32]] = []
        with np.errstate(divide="ignore", invalid="ignore"):
            self.observed = np.where(self.flat, np.nan, self.away / self.error)

    def draws(self, resamples: int, seed: int) -> Draws:
        """How often each cluster was drawn."""
        return (drawn.astype(np.float32) for drawn in draws(len(self.first), resamples, seed))

    def chunk(self, drawn: NDArray[np.floating], most: Array, done: int) -> NDArray[np.int64]:
        """Student's statistic of a resample against that of the scores."""
        shift, statistic = self._statistics(drawn)
        found = shift / self.scale  # by the error of the scores themselves: never infinite
        np.maximum(most, np.where(np.isnan(found), -np.inf, found).max((1, 2)), out=most)
        if done < RESAMPLES:
            self.kept.append(statistic[: RESAMPLES - done].astype(np.float32))
        return np.stack(
            [(statistic >= one * (1 - TIES * np.sign(one))).sum(0) for one in self.observed]
        )

    def _statistics(self, drawn: NDArray[np.floating]) -> tuple[Array, Array]:
        """The shift of each mean, and the same by the resample's own error.

        A resample without the role, or without any spread, counts as infinitely far: it must not
        speak for a head.
        """
        shape = (len(drawn), *self.shape)
        n, squares, number = np.tensordot(drawn, self.counts, (1, 0)).transpose(1, 0, 2)[:, :, None]
        first = (drawn @ self.first).reshape(shape)
        crossed = first if self.single else (drawn @ self.crossed).reshape(shape)
        second = (drawn @ self.second).reshape(shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = first / n
            spread = second - 2 * shift * crossed + shift**2 * squares
            spread = np.where(spread > 1e-5 * second, spread, 0.0)
            statistic = shift / (np.sqrt(spread * number / (number - 1)) / n)
        return shift, np.where((number > 1) & (spread > 0), statistic, np.inf)

    def interval(self) -> tuple[Array, Array]:
        """The bootstrap-t interval; NaN where an end is not finite."""
        statistics = np.concatenate(self.kept)
        low, high = (
            np.quantile(statistics, share, axis=0, method="inverted_cdf")
            for share in (0.975, 0.025)
        )
        ends = (np.where(self.flat, self.mean, self.mean - end * self.scale) for end in (low, high))
        low, high = (np.where(np.isfinite(end), end, np.nan) for end in ends)
        return low.astype(np.float64), high.astype(np.float64)


class _SignFlips(_Test):
    """The signs of the clusters' distances from tau, flipped at random."""

    def draws(self, resamples: int, seed: int) -> Draws:
        """Signs."""
        generator = np.random.default_rng(seed)
        for start in range(0, resamples, CHUNK):
            size = (min(CHUNK, resamples - start), len(self.clusters.sums))
            yield generator.integers(0, 2, size, dtype=np.int8) * 2.0 - 1.0

    def chunk(self, drawn: NDArray[np.floating], most: Array, done: int) -> NDArray[np.int64]:
        """The mean distance from tau with these signs, against the distance itself."""
        size = len(self.clusters.sums)
        sums = (drawn @ self.clusters.sums.reshape(size, -1)).reshape(len(drawn), *self.mean.shape)
        counts = drawn @ self.clusters.counts
        over = []
        for place, (tau, away) in enumerate(zip(self.taus, self.away, strict=True)):
            with np.errstate(invalid="ignore"):
                found = (sums - counts[:, None] * tau) / self.n
            over.append((found >= away - TIES * np.abs(away)).sum(0))
            largest = np.where(np.isnan(found), -np.inf, found / self.scale).max((1, 2))
            np.maximum(most[place], largest, out=most[place])
        return np.stack(over)

    def interval(self) -> tuple[Array, Array]:
        """Student's interval: a permutation test has none of its own."""
        number = np.maximum(self.clusters.number, 2)
        half = special.stdtrit(number - 1, 0.975) * np.where(self.flat, 0.0, self.error)
        return self.mean - half, self.mean + half
