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
from headscope.results.moments import Range
from headscope.stats.inference.bootstrap import CHUNK, draws
from headscope.stats.inference.documents import Array, ClusterSums

RESAMPLES = 5000
"""The fewest resamples by default; intervals come from this many."""
CELLS = 2048
"""Heads times roles that are resampled at a time."""
SPARE = 2
"""By default the least corrected p is this many times below the level."""
TIES = 1e-9
"""Relative differences below this are rounding."""
ROUNDING = 1e-12
"""A spread below this share of the sum of squares it was computed from is rounding."""
MAX_T = "maxt"

Draws = Iterator[NDArray[np.floating]]


@dataclass(frozen=True)
class Resampled:
    """What resampling gives for every head and role.

    Parameters
    ----------
    p, p_max
        (threshold, cell, role): p of "the mean is at most the threshold", by itself and by the
        largest statistic of all heads and roles. NaN where clusters are too few for any test.
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
    clusters: ClusterSums,
    taus: Array,
    *,
    test: str,
    resamples: int,
    seed: int,
    values: Range = "positive",
) -> Resampled:
    """Test all heads and roles against some thresholds.

    Both tests compare Student's statistics: each resample is divided by its own standard error,
    computed as that of the scores is (:func:`headscope.results.moments.ratio`).

    Parameters
    ----------
    clusters
        The scores, summed by cluster.
    taus
        (threshold, role).
    test
        ``bootstrap`` draws clusters with replacement (the bootstrap-t), which stands skewed scores
        better than other tests do. ``permutation`` flips the signs of the clusters' distances from
        tau, which needs them to be symmetric.
    resamples, seed
        How many resamples to draw, and from what.
    values
        Where scores may lie; intervals stay inside.

    References
    ----------
    Efron and Tibshirani 1993, "An introduction to the bootstrap", chapter 12; Westfall and Young
    1993, "Resampling-based multiple testing"; Janssen 1999, "Testing nonparametric statistical
    functionals with applications to rank tests", Journal of Statistical Planning and Inference 81
    (why flips are studentised).
    """
    cells, roles = clusters.sums.shape[1:]
    blocks = np.array_split(np.arange(cells), max(1, -(-cells * roles // CELLS)))
    most = np.full((len(taus), resamples), -np.inf)
    parts = []
    for block in blocks:
        part = ClusterSums(clusters.sums[:, block], clusters.counts)
        kind = _Bootstrap if test == "bootstrap" else _SignFlips
        parts.append(kind(part, taus, values).run(resamples, seed, most))
    p, score, low, high = (np.concatenate(pieces, axis=-2) for pieces in zip(*parts, strict=True))
    over = [
        resamples - np.searchsorted(np.sort(largest), scores - TIES * np.abs(scores))
        for largest, scores in zip(most, score, strict=True)
    ]
    p_max = (1 + np.stack(over)) / (1 + resamples)
    return Resampled(p, np.where(np.isnan(p), np.nan, np.maximum(p, p_max)), low, high)


class _Test(ABC):
    """What both tests share: chunks of resamples over a block of heads."""

    def __init__(self, clusters: ClusterSums, taus: Array, values: Range) -> None:
        self.clusters, self.ratio, self.values = clusters, clusters.ratio, values
        self.away = self.ratio.value - taus[:, None]  # (threshold, cell, role)
        self.flat = ~(self.ratio.error > TIES * np.abs(self.ratio.value))  # or no error at all
        self.weights = _left_out(clusters.counts, clusters.n)

    def run(self, resamples: int, seed: int, most: Array) -> tuple[Array, Array, Array, Array]:
        """p, score, low and high; the largest score of each resample goes into ``most``."""
        over = np.zeros(self.away.shape, np.int64)
        done = 0
        for drawn in self.draws(resamples, seed):
            span = slice(done, done + len(drawn))
            over += self.chunk(drawn, most[:, span], done)
            done += len(drawn)
        p = self.p((1 + over) / (1 + resamples), 1 / (1 + resamples))
        few = np.isnan(self.ratio.degrees)
        p, low, high = (np.where(few, np.nan, part) for part in (p, *self.interval()))
        return p, self.scores(self.observed()), low, high

    def scores(self, statistic: Array) -> Array:
        """Student's statistics (…, cell, role) as the normal deviates with the same tail.

        On one scale, so that max-T is not ruled by the role in the fewest documents.
        """
        tail = special.stdtr(self.ratio.degrees[:1], -np.abs(statistic))  # the same for all cells
        tail = np.maximum(tail, np.finfo(float).tiny)  # where one is as certain as another
        deviates = -np.sign(statistic) * special.ndtri(tail)
        return np.asarray(np.where(np.isnan(deviates), -np.inf, deviates))

    def p(self, p: Array, least: float) -> Array:
        """p from the resamples, unless these can tell nothing."""
        return p

    @abstractmethod
    def draws(self, resamples: int, seed: int) -> Draws:
        """(resample, cluster), some resamples at a time."""

    @abstractmethod
    def chunk(self, drawn: NDArray[np.floating], most: Array, done: int) -> NDArray[np.int64]:
        """How many of these resamples reach what was observed, (threshold, cell, role)."""

    @abstractmethod
    def observed(self) -> Array:
        """Student's statistic of the scores, (threshold, cell, role)."""

    @abstractmethod
    def interval(self) -> tuple[Array, Array]:
        """The ends of the 95 % interval of the mean."""


class _Bootstrap(_Test):
    """Clusters drawn with replacement; Student's statistic of each resample.

    If few clusters differ from the others, a resample that has none of them has no spread. Its
    statistic is infinite with the sign of its shift, which is the limit for ever smaller spread:
    it reaches what was observed if its mean is above that of the scores, and not if it is below.
    A resample with neither shift nor spread, or with the role in fewer than two clusters, says
    nothing of the error, and counts as reaching: it must not speak for a head.

    Infinite statistics of one head would rule max-T. That therefore compares shifts in standard
    deviations of all shifts, which say how heads depend on each other, with the normal deviate of
    what was observed, to which Student's t has given the tail of so few clusters.
    """

    def __init__(self, clusters: ClusterSums, taus: Array, values: Range) -> None:
        super().__init__(clusters, taus, values)
        away = np.ascontiguousarray(clusters.away.transpose(2, 0, 1))  # (role, cluster, cell)
        self.parts = away, away**2, away * clusters.counts.T[:, :, None]
        self.kept: list[NDArray[np.float32]] = []
        with np.errstate(divide="ignore", invalid="ignore"):
            deviation = np.sqrt((clusters.away**2).sum(0)) / clusters.n
        self.deviation = np.where(self.flat, np.inf, deviation)

    def p(self, p: Array, least: float) -> Array:
        """Scores without any spread cannot be resampled: their mean decides."""
        return np.where(self.flat, np.where(self.away > 0, least, 1.0), p)

    def observed(self) -> Array:
        """The distance from tau in errors; infinite without spread."""
        return _studentised(self.away, np.where(self.flat, 0.0, self.ratio.error))

    def draws(self, resamples: int, seed: int) -> Draws:
        """How often each cluster was drawn."""
        return draws(len(self.clusters.sums), resamples, seed)

    def chunk(self, drawn: NDArray[np.floating], most: Array, done: int) -> NDArray[np.int64]:
        """Student's statistic of a resample against that of the scores."""
        shift, statistic = self._statistics(drawn)
        with np.errstate(invalid="ignore"):
            moved = shift / self.deviation
        np.maximum(most, np.where(np.isnan(moved), -np.inf, moved).max((1, 2)), out=most)
        if done < RESAMPLES:
            self.kept.append(statistic[: RESAMPLES - done].astype(np.float32))
        return np.stack([_reaching(statistic, observed) for observed in self.observed()])

    def _statistics(self, drawn: NDArray[np.floating]) -> tuple[Array, Array]:
        """The shift of each mean, and the same by the resample's own error."""
        clusters = self.clusters
        shift = np.empty((len(drawn), *clusters.sums.shape[1:]))
        statistic = np.empty_like(shift)
        for role, (first, square, crossed) in enumerate(zip(*self.parts, strict=True)):
            counts = clusters.counts[:, role]
            n, number = drawn @ counts, drawn @ (counts > 0)
            # A cluster that was drawn twice counts as two clusters, each of which is left out once.
            weights = drawn * _left_out(counts, n[:, None])
            with np.errstate(divide="ignore", invalid="ignore"):
                move = drawn @ first / n[:, None]  # NaN where the role was not drawn
            whole = weights @ square
            spread = whole - 2 * move * (weights @ crossed)
            spread += move**2 * (weights @ counts**2)[:, None]
            error = _error(spread, whole, n[:, None])
            nothing = (number[:, None] < 2) | ((error == 0) & (move == 0))
            shift[..., role] = move
            statistic[..., role] = np.where(nothing, np.inf, _studentised(move, error))
        return shift, statistic

    def interval(self) -> tuple[Array, Array]:
        """The bootstrap-t interval; NaN where an end is not finite."""
        statistics, mean = np.concatenate(self.kept), self.ratio.value
        low, high = (
            np.quantile(statistics, share, axis=0, method="inverted_cdf").astype(np.float64)
            for share in (0.975, 0.025)
        )
        with np.errstate(invalid="ignore"):
            ends = (np.where(self.flat, mean, mean - end * self.ratio.error) for end in (low, high))
            low, high = (np.where(np.isfinite(end), end, np.nan) for end in ends)
        return low if self.values == "signed" else np.maximum(low, 0.0), high


class _SignFlips(_Test):
    """The signs of the clusters' distances from tau, flipped at random.

    One of 2ⁿ flips of n clusters leaves all signs alone. The score of a role for max-T is therefore
    never above the normal deviate of that tail: no flips could tell more.
    """

    def __init__(self, clusters: ClusterSums, taus: Array, values: Range) -> None:
        super().__init__(clusters, taus, values)
        sums, counts, weights = clusters.sums, clusters.counts, self.weights
        self.taus = taus
        crossed = sums * (counts * weights)[:, None]
        self.sums = sums.reshape(len(sums), -1), crossed.reshape(len(sums), -1)
        self.counts = counts, counts**2 * weights
        self.whole = np.stack(  # the same for all flips
            [((sums - (counts * tau)[:, None]) ** 2 * weights[:, None]).sum(0) for tau in taus]
        )
        self.highest = -special.ndtri(0.5 ** np.maximum(self.ratio.effective[:1], 1.0))

    def scores(self, statistic: Array) -> Array:
        """As normal deviates, up to what flips can tell."""
        return np.asarray(np.minimum(super().scores(statistic), self.highest))

    def observed(self) -> Array:
        """As of a flip that leaves all signs alone."""
        return np.concatenate(list(self._statistics(np.ones((1, len(self.clusters.sums))))))

    def draws(self, resamples: int, seed: int) -> Draws:
        """Signs."""
        generator = np.random.default_rng(seed)
        for start in range(0, resamples, CHUNK):
            size = (min(CHUNK, resamples - start), len(self.clusters.sums))
            yield generator.integers(0, 2, size, dtype=np.int8) * 2.0 - 1.0

    def chunk(self, drawn: NDArray[np.floating], most: Array, done: int) -> NDArray[np.int64]:
        """Student's statistic with these signs against that of the scores."""
        over = []
        statistics = zip(self._statistics(drawn), self.observed(), most, strict=True)
        for statistic, observed, largest in statistics:
            over.append(_reaching(statistic, observed))
            # The scale is the same for all heads of a role.
            best = np.where(np.isnan(statistic), -np.inf, statistic).max(1)
            np.maximum(largest, self.scores(best[:, None])[:, 0].max(-1), out=largest)
        return np.stack(over)

    def _statistics(self, drawn: NDArray[np.floating]) -> Iterator[Array]:
        """The mean distance from each tau with these signs, by its own error."""
        clusters, shape = self.clusters, (len(drawn), *self.clusters.sums.shape[1:])
        first, crossed = ((drawn @ part).reshape(shape) for part in self.sums)
        counts, squares = ((drawn @ part)[:, None] for part in self.counts)
        for tau, whole in zip(self.taus, self.whole, strict=True):
            with np.errstate(divide="ignore", invalid="ignore"):
                move = (first - counts * tau) / clusters.n
            spread = whole - 2 * move * (crossed - squares * tau)
            spread += move**2 * (self.counts[1].sum(0))
            yield _studentised(move, _error(spread, whole, clusters.n))

    def interval(self) -> tuple[Array, Array]:
        """Student's interval: a permutation test has none of its own."""
        return self.ratio.interval(self.values)


def _left_out(counts: Array, n: Array) -> Array:
    """The weight of each cluster's squared residual, as far as the rest outweighs it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(counts < n, n / (n - counts), 0.0) ** 2)


def _error(spread: Array, whole: Array, n: Array) -> Array:
    """The standard error of a mean of n, from the weighted spread of some clusters.

    A spread that is no more than the rounding of the sums it was computed from is none.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(np.where(spread > ROUNDING * whole, spread, 0.0)) / n)


def _studentised(shift: Array, error: Array) -> Array:
    """shift / error; infinite where there is no error, and 0 where neither is there."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where((error == 0) & (shift == 0), 0.0, shift / error))


def _reaching(statistics: Array, observed: Array) -> NDArray[np.int64]:
    """How many of some resamples reach what was observed, (cell, role)."""
    with np.errstate(invalid="ignore"):
        least = np.where(np.isinf(observed), observed, observed - TIES * np.abs(observed))
        return np.asarray((statistics >= least).sum(0))
