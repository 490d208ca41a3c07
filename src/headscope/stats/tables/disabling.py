"""Disabling heads, honestly: a random head, the best head on other examples, and chance.

Kovaleva et al. 2019, section 4.6, report the gain of the best head on the examples that it was
chosen on. The best of many heads gains something even if no head matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when they are used
import xarray as xr
from numpy.typing import NDArray

from headscope.results import Atlas
from headscope.stats.grid import grid_heads
from headscope.stats.inference.bootstrap import (
    CONFIDENCE,
    LEAST,
    Outputs,
    how_many,
    percentiles,
    resampled,
)
from headscope.stats.tables.ablation import ablation_of

Array = NDArray[Any]

SPLITS = 200
"""Times that the examples are divided into two halves."""
SHUFFLES = 1000
"""Times that outputs with and without a head are exchanged at random."""
ROUNDING = 1e-12
"""Gains that differ by less are equal."""
PART = 0.1
"""The part of all heads that counts as those a task relies on most."""


@dataclass(frozen=True)
class DisablingSummary:
    """What disabling one head (or layer) at a time does, in points of the score times 1.

    Parameters
    ----------
    baseline
        The score with nothing disabled.
    mean, mean_low, mean_high
        The mean gain over all heads, "a random head", with its interval (bootstrap over documents).
    best, best_gain
        The head whose removal helps most, and its gain on the examples it was chosen on.
    fitted
        The gain of the best head on examples that it was not chosen on: chosen on one half of the
        examples, scored on the other, both ways, averaged over many random halves.
    chosen, chosen_share
        The head that halves choose most often, and the share of halves that do.
    chance, chance_high
        What the best head gains on average, and in 95 % of cases at most, if disabling a head
        changes outputs as often as it does but is right as often as wrong.
    p
        The share of such cases in which the best head gains at least as much as here.
    better, worse, tested
        How many heads gain, lose, and were disabled.
    examples, documents
        How many examples there are, and of how many documents.
    """

    baseline: float
    mean: float
    mean_low: float
    mean_high: float
    best: str
    best_gain: float
    fitted: float
    chosen: str
    chosen_share: float
    chance: float
    chance_high: float
    p: float
    better: int
    worse: int
    tested: int
    examples: int
    documents: int


def disabling_summary(
    results: Atlas,
    kind: str = "head",
    *,
    seed: int = 0,
    splits: int = SPLITS,
    shuffles: int = SHUFFLES,
    resamples: int = LEAST,
) -> DisablingSummary:
    """Sum up an ablation: a random head, the best head cross-fitted, and the best head by chance.

    Parameters
    ----------
    results
        What :func:`headscope.runs.ablate.ablate` returned.
    kind
        What was disabled: head, layer or set.
    seed
        Of halves, exchanges and bootstrap.
    splits, shuffles, resamples
        How many random halves, random exchanges and bootstrap resamples are drawn.

    Returns
    -------
    DisablingSummary
        Gains are positive where the score gets better, whichever way the metric points.

    See Also
    --------
    headscope.stats.tables.ablation.change_table : every head with its interval and p.
    """
    raw = ablation_of(results)
    runs = np.flatnonzero(raw["kind"].values == kind)
    names = [str(name) for name in raw["run"].values[runs]]
    outputs = Outputs.of(raw, np.concatenate([[0], runs]))
    gains = outputs.sign * (outputs.whole[1:] - outputs.whole[0])
    low, high = mean_gain_interval(outputs, seed=seed, resamples=resamples)
    low, high = sorted((outputs.sign * low, outputs.sign * high))
    fitted, chosen = cross_fitted_gain(outputs, seed=seed, splits=splits)
    null = best_by_chance(outputs, seed=seed, shuffles=shuffles)
    often = max(chosen, key=lambda place: chosen[place])
    best = int(np.argmax(np.where(np.isfinite(gains), gains, -np.inf)))
    return DisablingSummary(
        float(outputs.whole[0]),
        float(np.nanmean(gains)),
        low,
        high,
        names[best],
        float(gains[best]),
        fitted,
        names[often],
        chosen[often] / (sum(chosen.values()) or 1.0),
        float(null.mean()),
        float(np.quantile(null, CONFIDENCE)),
        float((1 + (null >= gains[best] - ROUNDING).sum()) / (1 + len(null))),
        int((gains > 0).sum()),
        int((gains < 0).sum()),
        len(names),
        len(outputs.gold),
        how_many(outputs.units),
    )


def mean_gain_interval(
    outputs: Outputs, *, seed: int, resamples: int = LEAST
) -> tuple[float, float]:
    """The interval of the mean difference of all runs from the first one.

    Parameters
    ----------
    outputs
        The baseline and the runs.
    seed, resamples
        Of the bootstrap.

    Returns
    -------
    tuple of float
        The ends of the 95 % percentile interval.

    Examples
    --------
    >>> values = np.array([[0.0, 1.0], [1.0, 2.0], [0.5, 1.5]])[..., None]
    >>> mean_gain_interval(Outputs("mean", values, np.zeros(2)), seed=0, resamples=100)
    (0.75, 0.75)
    """

    def mean_gain(counts: Array) -> Array:
        scores = outputs.scores(counts)
        return np.asarray(np.nanmean(scores[:, 1:], axis=1) - scores[:, 0])

    means = resampled(mean_gain, outputs.units, resamples, seed)
    low, high = percentiles(means[:, None])
    return low.item(), high.item()


def cross_fitted_gain(
    outputs: Outputs, *, seed: int, splits: int = SPLITS
) -> tuple[float, dict[int, float]]:
    """The gain of the best run on examples that it was not chosen on.

    Parameters
    ----------
    outputs
        The baseline and the runs.
    seed, splits
        Of the random halves, each of which has whole documents.

    Returns
    -------
    gain : float
        The mean over halves that choose; NaN if the metric is defined on no half.
    chosen : dict of int to float
        How many halves chose each run, counted from the first after the baseline. Runs that are
        equally good share a half, and their mean is its gain.

    Examples
    --------
    The second run is always better by 1:

    >>> values = np.array([[0.0] * 4, [1.0] * 4, [2.0, -2.0, 1.0, -1.0]])[..., None]
    >>> gain, chosen = cross_fitted_gain(Outputs("mean", values, np.zeros(4)), seed=0, splits=50)
    >>> gain < 1, max(chosen, key=chosen.get)
    (True, 0)
    """
    number = how_many(outputs.units)
    orders = np.argsort(np.random.default_rng(seed).random((splits, number)), axis=1)
    first = (orders < number // 2).astype(np.float64)[:, outputs.units]
    halves = [outputs.scores(first), outputs.scores(1 - first)]
    gains = [outputs.sign * (scores[:, 1:] - scores[:, :1]) for scores in halves]
    scored: list[float] = []
    chosen = dict.fromkeys(range(len(outputs.values) - 1), 0.0)
    for choosing, scoring in (gains, gains[::-1]):
        for known, other in zip(choosing, scoring, strict=True):
            if np.isfinite(known).any() and np.isfinite(other).any():
                best = np.flatnonzero(known >= np.nanmax(known) - ROUNDING)
                scored.append(float(np.nanmean(other[best])))
                for place in best.tolist():
                    chosen[place] += 1 / len(best)
    return (float(np.mean(scored)) if scored else float("nan")), chosen


def best_by_chance(outputs: Outputs, *, seed: int, shuffles: int = SHUFFLES) -> Array:
    """What the best run gains over the baseline if outputs are exchanged between them at random.

    For each document a coin decides whether every run keeps its outputs or changes places with the
    baseline: the same coin for all runs, because heads that are alike change the same examples.
    Runs then differ from the baseline as often as before, but are no better.

    Parameters
    ----------
    outputs
        The baseline and the runs.
    seed, shuffles
        Of the coins.

    Returns
    -------
    numpy.ndarray
        The largest gain of any run, (shuffle,).

    References
    ----------
    Westfall and Young 1993, "Resampling-based multiple testing", section 2.3 (the maximum over
    tests under exchanges that keep their dependence).

    Examples
    --------
    A run that is no different from the baseline gains nothing:

    >>> same = Outputs("mean", np.array([[0.0, 1.0], [0.0, 1.0]])[..., None], np.zeros(2))
    >>> best_by_chance(same, seed=0, shuffles=4).tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    base = np.broadcast_to(outputs.values[:1], outputs.values[1:].shape)
    # Each example stands twice, once with each output; the coins are how often it is drawn.
    kept, exchanged = (
        Outputs(outputs.metric, np.concatenate(pair, axis=1), np.tile(outputs.gold, 2)).scores
        for pair in ((outputs.values[1:], base), (base, outputs.values[1:]))
    )
    size = (shuffles, how_many(outputs.units))
    coins = np.random.default_rng(seed).integers(2, size=size)[:, outputs.units]
    largest = []
    for some in np.array_split(coins, max(1, shuffles // 100)):
        counts = np.concatenate([1 - some, some], axis=1).astype(np.float64)
        gains = outputs.sign * (kept(counts) - exchanged(counts))
        largest.append(np.max(np.where(np.isfinite(gains), gains, 0.0), axis=1))
    return np.concatenate(largest)


def shared_heads(gains: Mapping[str, xr.DataArray], *, part: float = PART) -> pd.DataFrame:
    """Which heads two tasks (or two seeds) rely on alike.

    Parameters
    ----------
    gains
        What disabling each head gains, with dims layer and head, by the name of the model.
    part
        The part of all heads that are at most counted as relied on: those whose removal hurts
        most. Heads whose removal does no harm never count. Nor do heads that hurt equally if
        they do not all fit in: nothing but their order would decide among them.

    Returns
    -------
    pandas.DataFrame
        One row per pair: Spearman's ρ of the gains over all heads, how many heads each relies on
        most, how many of these are the same, how many would be by chance, and p of so many or more
        (hypergeometric); ``heads`` names them.

    Examples
    --------
    >>> dims = {"layer": [1], "head": [1, 2, 3]}
    >>> one = xr.DataArray([[-3.0, 0.0, 1.0]], dims, tuple(dims))
    >>> shared_heads({"RTE": one, "STS-B": one}, part=1 / 3)["heads"].tolist()
    ['1-1']
    """
    names = {name: [str(head) for head in grid_heads(values)] for name, values in gains.items()}
    rows = []
    for one, other in combinations(gains, 2):
        left, right = (np.asarray(gains[name].values, float).ravel() for name in (one, other))
        top = max(1, round(part * len(left)))
        most = [_relied_on(values, top) for values in (left, right)]
        sizes = [len(places) for places in most]
        both = sorted(most[0] & most[1], key=lambda place: left[place] + right[place])
        moved = np.ptp(left) > 0 and np.ptp(right) > 0
        rows.append(
            {
                "one": one,
                "other": other,
                "correlation": float(scipy.stats.spearmanr(left, right)[0]) if moved else np.nan,
                "relied on": " and ".join(map(str, sizes)),
                "shared": len(both),
                "by chance": sizes[0] * sizes[1] / len(left),
                "p": float(scipy.stats.hypergeom.sf(len(both) - 1, len(left), *sizes)),
                "heads": ", ".join(names[one][place] for place in both) or "none",
            }
        )
    return pd.DataFrame(rows)


def _relied_on(gains: Array, most: int) -> set[int]:
    """The heads whose removal hurts most, with all that hurt equally or none of them."""
    order = np.sort(gains)
    limit = order[most] if most < len(order) else np.inf
    chosen = (gains < -ROUNDING) & (gains < limit - ROUNDING)
    return set(np.flatnonzero(chosen).tolist())
