"""Metrics of many runs in many bootstrap resamples at once.

A resample draws examples with replacement. All that a metric needs of it is how often each example
was drawn, so a metric of all runs in all resamples is a few matrix products. Each function here
takes outputs (run, example, number) and the right answers (example,), and returns a function from
counts (resample, example) to scores (resample, run).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
FromCounts = Callable[[Array], Array]
"""From how often each example was drawn, (resample, example), to scores, (resample, run)."""
CONSTANT = 1e-12
"""A spread below this share of its sum of squares is rounding: the values are all the same."""


def mean(outputs: Array, _gold: Array) -> FromCounts:
    """The mean of the first output.

    >>> mean(np.array([[[1.0], [4.0]]]), np.zeros(2))(np.array([[1, 1], [0, 2]])).tolist()
    [[2.5], [4.0]]
    """
    return _average(outputs[..., 0])


def accuracy(outputs: Array, gold: Array) -> FromCounts:
    """The share of examples whose largest output is that of the right class."""
    return _average((outputs.argmax(-1) == gold).astype(np.float64))


def f1(outputs: Array, gold: Array) -> FromCounts:
    """F1 of class 1; NaN where no example is of the class, nor is any taken for one of it."""
    predicted, actual = outputs.argmax(-1) == 1, (gold == 1)[None]
    hits = (predicted & actual).astype(np.float64)
    marked = predicted.astype(np.float64) + actual
    return lambda counts: _divide(2 * counts @ hits.T, counts @ marked.T)


def pearson(outputs: Array, gold: Array) -> FromCounts:
    """The correlation of the first output with the right answers; NaN where either is constant."""
    # Around their means: sums of squares of large numbers would lose digits.
    one = outputs[..., 0] - outputs[..., 0].mean(-1, keepdims=True)
    two = gold - gold.mean()
    products = {"one": one, "square": one**2, "both": one * two}

    def score(counts: Array) -> Array:
        total = counts.sum(1, keepdims=True)
        sums = {name: counts @ values.T for name, values in products.items()}
        other, squares = (counts @ two)[:, None], (counts @ two**2)[:, None]
        spread, across = sums["square"] - sums["one"] ** 2 / total, squares - other**2 / total
        constant = (spread <= CONSTANT * sums["square"]) | (across <= CONSTANT * squares)
        return _divide(
            sums["both"] - sums["one"] * other / total,
            np.where(constant, 0.0, np.sqrt(np.maximum(spread * across, 0.0))),
        )

    return score


def spearman(outputs: Array, gold: Array) -> FromCounts:
    """The correlation of ranks, equal values sharing theirs.

    Values are sorted once; a resample only changes how many stand before each of them.
    """
    ranks, gold_ranks = [_ranker(values) for values in outputs[..., 0]], _ranker(gold)

    def score(counts: Array) -> Array:
        total = counts.sum(1)
        middle = (total + 1) / 2  # the mean rank, whatever the ties
        other = gold_ranks(counts) - middle[:, None]
        across = (counts * other**2).sum(1)
        scores = np.empty((len(counts), len(ranks)))
        for run, ranker in enumerate(ranks):
            mine = ranker(counts) - middle[:, None]
            scores[:, run] = _divide(
                (counts * mine * other).sum(1), np.sqrt((counts * mine**2).sum(1) * across)
            )
        return scores

    return score


def by_loop(compute: Callable[[Array, Array], float]) -> Callable[[Array, Array], FromCounts]:
    """Any metric of drawn examples, one resample after the other: slow, but it always works.

    Parameters
    ----------
    compute
        The metric of outputs (example, number) and right answers (example,).

    Examples
    --------
    >>> largest = by_loop(lambda outputs, gold: float(outputs.max()))
    >>> largest(np.array([[[1.0], [4.0]]]), np.zeros(2))(np.array([[1, 1], [2, 0]])).tolist()
    [[4.0], [1.0]]
    """

    def prepare(outputs: Array, gold: Array) -> FromCounts:
        def score(counts: Array) -> Array:
            scores = np.empty((len(counts), len(outputs)))
            for row, drawn in enumerate(counts.astype(np.int64)):
                places = np.repeat(np.arange(len(drawn)), drawn)
                for run, one in enumerate(outputs):
                    scores[row, run] = compute(one[places], gold[places])
            return scores

        return score

    return prepare


def _average(values: Array) -> FromCounts:
    """The mean of values (run, example)."""
    return lambda counts: counts @ values.T / counts.sum(1, keepdims=True)


def _ranker(values: Array) -> FromCounts:
    """The rank of each value in a resample, (resample, example), from counts."""
    kinds, place = np.unique(values, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(kinds)))

    def ranks(counts: Array) -> Array:
        groups = np.add.reduceat(counts[:, order], starts, axis=1)
        return (groups.cumsum(1) - groups + (groups + 1) / 2)[:, place]

    return ranks


def _divide(above: Array, below: Array) -> Array:
    shape = np.broadcast(above, below).shape
    return np.asarray(np.divide(above, below, out=np.full(shape, np.nan), where=below > 0))
