"""Paired bootstrap: is the score of one run above that of another by more than chance?

A resample draws documents with replacement, with all of their examples: those of one document are
alike. It draws the same ones for every run, so that what all runs find hard cancels out. A resample
is a row of counts: how often each example was drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.stats.inference.documents import example_documents
from headscope.tasks.metrics import METRICS, FromCounts

CHUNK = 256
"""How many resamples are drawn at a time."""
CONFIDENCE = 0.95
LEAST, EACH = 10_000, 100
"""The fewest resamples, and how many there should be per test."""

Array = NDArray[Any]


def draws(documents: int | Array, resamples: int, seed: int) -> Iterator[Array]:
    """Draw documents with replacement, some resamples at a time.

    Parameters
    ----------
    documents
        The number of each example's document, from 0 (see
        :func:`headscope.stats.inference.documents.cluster_numbers`); or how many examples there
        are, if each is drawn by itself. A resample draws as many documents as there are.
    resamples
        How many resamples to draw.
    seed
        Of the random generator.

    Yields
    ------
    numpy.ndarray
        How often each example was drawn, (resample, example).

    Examples
    --------
    >>> [counts.sum(1).tolist() for counts in draws(5, resamples=3, seed=0)]
    [[5.0, 5.0, 5.0]]
    >>> [counts] = draws(np.array([0, 0, 1]), resamples=3, seed=0)
    >>> bool((counts[:, 0] == counts[:, 1]).all()), (counts[:, 0] + counts[:, 2]).tolist()
    (True, [2.0, 2.0, 2.0])
    """
    numbers = np.arange(documents) if isinstance(documents, int) else np.asarray(documents)
    size, generator = how_many(numbers), np.random.default_rng(seed)
    for start in range(0, resamples, CHUNK):
        rows = min(CHUNK, resamples - start)
        places = generator.integers(size, size=(rows, size)) + np.arange(rows)[:, None] * size
        counts = np.bincount(places.ravel(), minlength=rows * size).reshape(rows, size)
        yield counts.astype(np.float64)[:, numbers]


def resampled(
    statistic: Callable[[Array], Array], documents: int | Array, resamples: int, seed: int
) -> Array:
    """A statistic of every resample, (resample, …).

    Parameters
    ----------
    statistic
        Of some resamples: from how often each example was drawn, (resample, example).
    documents, resamples, seed
        As in :func:`draws`.

    Examples
    --------
    >>> resampled(lambda counts: counts.sum(1), 5, resamples=3, seed=0).tolist()
    [5.0, 5.0, 5.0]
    """
    drawn = draws(documents, resamples, seed)
    return np.concatenate([np.asarray(statistic(counts)) for counts in drawn])


def how_many(documents: Array) -> int:
    """How many documents there are, by the number of each example's."""
    return int(np.max(documents, initial=-1)) + 1


def enough(tests: int) -> int:
    """How many resamples it takes for a corrected p to become small.

    The least p is 2 / (resamples + 1), and Holm multiplies it by the number of tests.

    >>> enough(144), enough(400), 400 * 2 / (enough(400) + 1) < 0.05
    (14400, 40000, True)
    """
    return max(LEAST, EACH * tests)


@dataclass(frozen=True)
class Outputs:
    """What several runs gave for the same examples; the first run is the baseline.

    Parameters
    ----------
    metric
        The name of a metric in :data:`headscope.tasks.metrics.METRICS`.
    values
        What each run gave for each example, (run, example, number).
    gold
        The right answers, (example,).
    documents
        The number of each example's document; by default each is its own.

    Raises
    ------
    UserError
        If there is no such metric.
    """

    metric: str
    values: Array
    gold: Array
    documents: Array | None = None

    @classmethod
    def of(cls, data: xr.Dataset, runs: Array | None = None) -> Outputs:
        """Some runs, by default all, of a dataset with ``outputs``, ``gold`` and ``group``."""
        values = data["outputs"].values if runs is None else data["outputs"].values[runs]
        return cls(str(data.attrs["metric"]), values, data["gold"].values, example_documents(data))

    @cached_property
    def scores(self) -> FromCounts:
        """The scores of all runs from how often each example was drawn."""
        return METRICS[self.metric].prepare(
            np.asarray(self.values, np.float64), np.asarray(self.gold, np.float64)
        )

    @cached_property
    def whole(self) -> Array:
        """The score of every run on all examples."""
        return np.asarray(self.scores(np.ones((1, len(self.gold))))[0])

    @cached_property
    def units(self) -> Array:
        """The number of each example's document."""
        return np.arange(len(self.gold)) if self.documents is None else self.documents

    @property
    def sign(self) -> float:
        """-1 if a lower score is better."""
        return METRICS[self.metric].sign


def bootstrap(
    outputs: Outputs, *, seed: int, resamples: int, confidence: float = CONFIDENCE
) -> xr.Dataset:
    """Score every run, and test its difference from the first one.

    Parameters
    ----------
    outputs
        What the runs gave.
    seed, resamples
        Of the bootstrap.
    confidence
        Of the percentile intervals.

    Returns
    -------
    xarray.Dataset
        With dim run: the score ``mean`` with its interval ``low`` … ``high`` and its standard error
        ``deviation``; the ``difference`` from the first run with its interval ``difference_low`` …
        ``difference_high``, and its two-sided ``p``: twice the smaller share of resamples in which
        the difference is not above, or not below, zero. One is added to both counts, so that p is
        never 0, and it is never below what flipping the signs of the differences of n documents
        could give, 2 / 2ⁿ.

    References
    ----------
    Efron and Tibshirani 1993, "An introduction to the bootstrap", chapters 13 and 16.

    Examples
    --------
    >>> values = np.array([[0.0, 1.0, 0.5], [1.0, 2.0, 1.5]])[..., None]
    >>> found = bootstrap(Outputs("mean", values, np.zeros(3)), seed=0, resamples=200)
    >>> found["mean"].values.tolist(), found["difference"].values.tolist()
    ([0.5, 1.5], [0.0, 1.0])
    """
    score = outputs.whole
    scores = resampled(outputs.scores, outputs.units, resamples, seed)
    difference = scores - scores[:, :1]
    low, high = percentiles(scores, confidence)
    least, most = percentiles(difference, confidence)
    error = np.full(len(score), np.nan)
    many = np.isfinite(scores).sum(0) > 1
    error[many] = np.nanstd(scores[:, many], axis=0, ddof=1)
    columns = {
        "mean": score,
        "low": low,
        "high": high,
        "deviation": error,
        "difference": score - score[0],
        "difference_low": least,
        "difference_high": most,
        "p": _two_sided(difference, how_many(outputs.units)),
    }
    return xr.Dataset({name: (("run",), values) for name, values in columns.items()})


def compare_ratios(
    right: Array,
    total: Array,
    *,
    seed: int,
    resamples: int = LEAST,
    documents: Array | None = None,
    confidence: float = CONFIDENCE,
) -> xr.Dataset:
    """Compare the shares of right answers of several systems, pair by pair.

    Whole documents are resampled, the same ones for all systems.

    Parameters
    ----------
    right
        How many answers of each example each system has right, (system, example).
    total
        How many answers each example has, (example,).
    seed, resamples
        Of the bootstrap.
    documents
        The number of each example's document; by default each is its own.
    confidence
        Of the percentile intervals.

    Returns
    -------
    xarray.Dataset
        With dims system and other: the ``difference`` of the first's share minus the other's with
        its interval ``low`` … ``high``, and its two-sided ``p``, as in :func:`bootstrap`.

    References
    ----------
    Efron and Tibshirani 1993, "An introduction to the bootstrap", chapters 13 and 16.

    Examples
    --------
    >>> right = np.array([[3, 4, 5], [1, 2, 2]])
    >>> found = compare_ratios(right, np.array([5, 5, 5]), seed=0, resamples=500)
    >>> round(found["difference"].values[0, 1].item(), 3)
    0.467
    """
    numbers, totals = np.asarray(right, float), np.asarray(total, float)
    documents = np.arange(len(totals)) if documents is None else documents

    def share(counts: Array) -> Array:
        return np.asarray((counts @ numbers.T) / (counts @ totals)[:, None])

    shares = resampled(share, documents, resamples, seed)
    observed = numbers.sum(1) / totals.sum()
    differences = shares[:, :, None] - shares[:, None, :]
    low, high = percentiles(differences, confidence)
    columns = {
        "difference": observed[:, None] - observed[None, :],
        "low": low,
        "high": high,
        "p": _two_sided(differences, how_many(documents)),
    }
    return xr.Dataset({name: (("system", "other"), values) for name, values in columns.items()})


def percentiles(values: Array, confidence: float = CONFIDENCE) -> tuple[Array, Array]:
    """The ends of the percentile interval over resamples in which a value is defined.

    Parameters
    ----------
    values
        (resample, …); NaN where a value is not defined.
    confidence
        Of the interval.

    Returns
    -------
    tuple of numpy.ndarray
        Low and high; NaN where the value is never defined.

    Examples
    --------
    >>> low, high = percentiles(np.arange(101.0)[:, None])
    >>> round(low.item(), 6), round(high.item(), 6)
    (2.5, 97.5)
    """
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    result = np.full((2, *values.shape[1:]), np.nan)
    some = np.isfinite(values).any(0)
    if some.any():
        result[:, some] = np.nanquantile(values[:, some], ends, axis=0)
    return result[0], result[1]


def _two_sided(difference: Array, documents: int) -> Array:
    """p of no difference, (resample, run) -> (run,); NaN where it is never defined."""
    tails = np.stack([(difference <= 0).sum(0), (difference >= 0).sum(0)]).min(0)
    known = np.isfinite(difference).sum(0)
    floor = 2.0 ** (1 - documents)
    return np.where(known > 0, np.clip(2 * (tails + 1) / (known + 1), floor, 1.0), np.nan)
