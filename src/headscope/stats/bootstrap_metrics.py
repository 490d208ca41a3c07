"""Metrics of many runs in many resamples at once, from how often each example is drawn.

Each takes outputs (run, example, number) and the right answers, and gives a function from counts (resample, example) to scores (resample, run).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Counted = Callable[[Array], Array]


def _average(values: Array) -> Counted:
    """The mean of values (run, example)."""
    return lambda counts: counts @ values.T / counts.sum(1, keepdims=True)


def mean(outputs: Array, _gold: Array) -> Counted:
    """The mean of the first output."""
    return _average(outputs[..., 0])


def accuracy(outputs: Array, gold: Array) -> Counted:
    """The share of examples whose largest output is that of the right class."""
    return _average((outputs.argmax(-1) == gold).astype(np.float64))


def f1(outputs: Array, gold: Array) -> Counted:
    """F1 of class 1; NaN where it is neither there nor found."""
    found, there = outputs.argmax(-1) == 1, (gold == 1)[None]
    hits, marked = (found & there).astype(np.float64), found.astype(np.float64) + there
    return lambda counts: _divide(2 * counts @ hits.T, counts @ marked.T)


def pearson(outputs: Array, gold: Array) -> Counted:
    """The correlation of the first output with the right answers; NaN where one of them is constant."""
    # Around their means: sums of squares of large numbers would lose digits.
    one = outputs[..., 0] - outputs[..., 0].mean(-1, keepdims=True)
    two = gold - gold.mean()
    products = {"one": one, "square": one**2, "both": one * two}

    def score(counts: Array) -> Array:
        total = counts.sum(1, keepdims=True)
        sums = {name: counts @ values.T for name, values in products.items()}
        other, squares = (counts @ two)[:, None], (counts @ two**2)[:, None]
        spread, across = sums["square"] - sums["one"] ** 2 / total, squares - other**2 / total
        constant = (spread <= 1e-12 * sums["square"]) | (across <= 1e-12 * squares)
        return _divide(
            sums["both"] - sums["one"] * other / total,
            np.where(constant, 0.0, np.sqrt(np.maximum(spread * across, 0.0))),
        )

    return score


def spearman(outputs: Array, gold: Array) -> Counted:
    """The correlation of ranks, equal values sharing theirs. Values are sorted once; a resample only changes how many stand before each."""
    ranks, gold_ranks = [_ranker(values) for values in outputs[..., 0]], _ranker(gold)

    def score(counts: Array) -> Array:
        total = counts.sum(1)
        middle = (total + 1) / 2  # the mean rank, whatever the ties
        other = gold_ranks(counts) - middle[:, None]
        across = (counts * other**2).sum(1)
        found = np.empty((len(counts), len(ranks)))
        for run, ranker in enumerate(ranks):
            mine = ranker(counts) - middle[:, None]
            found[:, run] = _divide(
                (counts * mine * other).sum(1), np.sqrt((counts * mine**2).sum(1) * across)
            )
        return found

    return score


def _ranker(values: Array) -> Counted:
    """The rank of each value in a resample, (resample, example), from counts."""
    kinds, place = np.unique(values, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(kinds)))

    def ranks(counts: Array) -> Array:
        groups = np.add.reduceat(counts[:, order], starts, axis=1)
        return (groups.cumsum(1) - groups + (groups + 1) / 2)[:, place]

    return ranks


def _divide(above: Array, below: Array) -> Array:
    return np.asarray(
        np.divide(
            above, below, out=np.full(np.broadcast(above, below).shape, np.nan), where=below > 0
        )
    )


METRICS: dict[str, Callable[[Array, Array], Counted]] = {
    "accuracy": accuracy,
    "f1": f1,
    "pearson": pearson,
    "spearman": spearman,
    "mean": mean,
    "loss": mean,
}


def example_losses(metric: str, outputs: Array, gold: Array) -> Array:
    """One loss a run and example, (run, example): cross-entropy, squared error, or the output itself, as its metric goes."""
    if metric in {"accuracy", "f1"}:
        top = outputs.max(-1, keepdims=True)
        spread = top[..., 0] + np.log(np.exp(outputs - top).sum(-1))
        return np.asarray(
            spread - np.take_along_axis(outputs, gold.astype(np.int64)[None, :, None], -1)[..., 0]
        )
    if metric in {"pearson", "spearman"}:
        return np.asarray((outputs[..., 0] - gold) ** 2)
    return np.asarray(outputs[..., 0] if metric == "loss" else -outputs[..., 0])
