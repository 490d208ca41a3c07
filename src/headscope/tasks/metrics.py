"""Metrics: how the outputs of a model are scored against the right answers. The one registry.

A metric says what it is called, which way is better, what values it can take, and how it is
computed: plainly from predictions, and for a bootstrap in many resamples at once. A resample draws
examples with replacement, and all that a metric needs of it is how often each example was drawn: a
metric of all runs in all resamples is a few matrix products.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.registry import Registry
from headscope.tasks.task import Task

# --- many resamples at once ---

Array = NDArray[Any]
FromCounts = Callable[[Array], Array]
"""From how often each example was drawn, (resample, example), to scores, (resample, run)."""
CONSTANT = 1e-12
"""A spread below this share of its sum of squares is rounding: the values are all the same."""


def resampled_mean(outputs: Array, _gold: Array) -> FromCounts:
    """The mean of the first output.

    >>> resampled_mean(np.array([[[1.0], [4.0]]]), np.zeros(2))(np.array([[1, 1], [0, 2]])).tolist()
    [[2.5], [4.0]]
    """
    return _average(outputs[..., 0])


def resampled_accuracy(outputs: Array, gold: Array) -> FromCounts:
    """The share of examples whose largest output is that of the right class."""
    return _average((outputs.argmax(-1) == gold).astype(np.float64))


def resampled_f1(outputs: Array, gold: Array) -> FromCounts:
    """F1 of class 1; NaN where no example is of the class, nor is any taken for one of it."""
    predicted, actual = outputs.argmax(-1) == 1, (gold == 1)[None]
    hits = (predicted & actual).astype(np.float64)
    marked = predicted.astype(np.float64) + actual
    return lambda counts: _divide(2 * counts @ hits.T, counts @ marked.T)


def resampled_pearson(outputs: Array, gold: Array) -> FromCounts:
    """The correlation of the first output with the right answers; NaN where either is constant."""
    # Around their means: sums of squares of large numbers would lose digits.
    x = outputs[..., 0] - outputs[..., 0].mean(-1, keepdims=True)
    y = gold - gold.mean()
    products = {"x": x, "x_square": x**2, "xy": x * y}

    def score(counts: Array) -> Array:
        total = counts.sum(1, keepdims=True)
        sums = {name: counts @ values.T for name, values in products.items()}
        y_sum, y_squares = (counts @ y)[:, None], (counts @ y**2)[:, None]
        spread, across = sums["x_square"] - sums["x"] ** 2 / total, y_squares - y_sum**2 / total
        constant = (spread <= CONSTANT * sums["x_square"]) | (across <= CONSTANT * y_squares)
        return _divide(
            sums["xy"] - sums["x"] * y_sum / total,
            np.where(constant, 0.0, np.sqrt(np.maximum(spread * across, 0.0))),
        )

    return score


def resampled_spearman(outputs: Array, gold: Array) -> FromCounts:
    """The correlation of ranks, equal values sharing theirs.

    Values are sorted once; a resample only changes how many stand before each of them.
    """
    ranks, gold_ranks = [_ranker(values) for values in outputs[..., 0]], _ranker(gold)

    def score(counts: Array) -> Array:
        middle = (counts.sum(1) + 1) / 2  # the mean rank, whatever the ties
        theirs = gold_ranks(counts) - middle[:, None]
        across = (counts * theirs**2).sum(1)
        scores = np.empty((len(counts), len(ranks)))
        for run, ranker in enumerate(ranks):
            mine = ranker(counts) - middle[:, None]
            scores[:, run] = _divide(
                (counts * mine * theirs).sum(1), np.sqrt((counts * mine**2).sum(1) * across)
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
                for run, predictions in enumerate(outputs):
                    scores[row, run] = compute(predictions[places], gold[places])
            return scores

        return score

    return prepare


def _average(values: Array) -> FromCounts:
    """The mean of values (run, example)."""
    return lambda counts: counts @ values.T / counts.sum(1, keepdims=True)


def _ranker(values: Array) -> FromCounts:
    """The rank of each value in a resample, (resample, example), from counts."""
    kinds, kind = np.unique(values, return_inverse=True)
    order = np.argsort(kind, kind="stable")
    starts = np.searchsorted(kind[order], np.arange(len(kinds)))

    def ranks(counts: Array) -> Array:
        groups = np.add.reduceat(counts[:, order], starts, axis=1)
        return (groups.cumsum(1) - groups + (groups + 1) / 2)[:, kind]

    return ranks


def _divide(above: Array, below: Array) -> Array:
    shape = np.broadcast(above, below).shape
    return np.asarray(np.divide(above, below, out=np.full(shape, np.nan), where=below > 0))


# --- metrics ---


def accuracy(predicted: Array, gold: Array) -> float:
    """The share of right answers; NaN without any example.

    >>> accuracy(np.array([1, 0, 2, 2]), np.array([1, 0, 0, 2]))
    0.75
    """
    return float((predicted == gold).mean()) if len(gold) else math.nan


def f1(predicted: Array, gold: Array) -> float:
    """F1 of class 1.

    It is 0 where examples of class 1 exist but none is found, as in the table of Kovaleva et al.
    2019, and NaN where no example is of class 1 or taken for it.

    >>> f1(np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0]))
    0.5
    """
    hits = np.sum((predicted == 1) & (gold == 1))
    marked = np.sum(predicted == 1) + np.sum(gold == 1)
    return float(2 * hits / marked) if marked else math.nan


def pearson(predicted: Array, gold: Array) -> float:
    """The correlation of two lists of numbers; NaN if one of them is constant.

    >>> pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    1.0
    """
    if len(gold) < 2 or np.ptp(predicted) == 0 or np.ptp(gold) == 0:
        return math.nan
    x, y = predicted - predicted.mean(), gold - gold.mean()
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1, 1))


def spearman(predicted: Array, gold: Array) -> float:
    """The correlation of two lists' ranks; equal values share their rank.

    >>> spearman(np.array([1.0, 2.0, 9.0]), np.array([3.0, 4.0, 5.0]))
    1.0
    """
    return pearson(scipy.stats.rankdata(predicted), scipy.stats.rankdata(gold))


def mean(predicted: Array, _gold: Array) -> float:
    """The mean of the outputs themselves; NaN without any example.

    >>> mean(np.array([1.0, 2.0]), np.zeros(2))
    1.5
    """
    return float(predicted.mean()) if len(predicted) else math.nan


@dataclass(frozen=True)
class Metric:
    """A metric.

    Parameters
    ----------
    name
        The name by which it is asked for.
    title
        What tables and axes call it.
    compute
        The score of predictions (example,) and right answers (example,). Predictions are classes,
        or numbers; which, is what ``outputs`` says.
    outputs
        What a model's outputs are: one number per class (``classes``), a number to compare with the
        right one (``number``), or the value itself, without right answers (``value``).
    higher_is_better
        False for losses.
    low, high
        The range of the scores, for intervals and axes.
    resample
        The same in many resamples at once, from outputs (run, example, number) and right answers:
        see the functions above. Without one, resamples are computed one by one.
    """

    name: str
    title: str
    compute: Callable[[Array, Array], float]
    outputs: Literal["classes", "number", "value"]
    higher_is_better: bool = True
    low: float = -math.inf
    high: float = math.inf
    resample: Callable[[Array, Array], FromCounts] | None = None

    @property
    def better(self) -> str:
        """Which way is better: ``higher`` or ``lower``."""
        return "higher" if self.higher_is_better else "lower"

    @property
    def sign(self) -> float:
        """1 where higher is better, -1 where lower is: a difference times this is a gain."""
        return 1.0 if self.higher_is_better else -1.0

    def predict(self, outputs: Array) -> Array:
        """The class of the largest output, or the first number, of each example.

        Parameters
        ----------
        outputs
            (…, example, number).
        """
        return np.asarray(outputs.argmax(-1) if self.outputs == "classes" else outputs[..., 0])

    def score(self, outputs: Array, gold: Array) -> float:
        """The score of a model's outputs.

        Parameters
        ----------
        outputs
            (example, number).
        gold
            The right answers, (example,).

        Examples
        --------
        >>> METRICS["accuracy"].score(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([1, 1]))
        0.5
        """
        return self.compute(self.predict(outputs), gold)

    def prepare(self, outputs: Array, gold: Array) -> FromCounts:
        """Get ready to score many resamples at once.

        Parameters
        ----------
        outputs
            Of every run, (run, example, number).
        gold
            The right answers, (example,).

        Returns
        -------
        callable
            From how often each example was drawn, (resample, example), to scores (resample, run).
        """
        return (self.resample or by_loop(self.score))(outputs, gold)


def _check(name: str, metric: Any) -> None:
    if not isinstance(metric, Metric) or metric.name != name:
        raise UserError(
            f"the metric {name!r} must be a Metric of that name, got {metric!r} instead",
            hint=f"give headscope.tasks.metrics.Metric({name!r}, …)",
        )


METRICS: Registry[Metric] = Registry("metric", group="headscope.metrics", check=_check)
"""Every metric by name."""
for _metric in (
    Metric("accuracy", "accuracy", accuracy, "classes", True, 0, 1, resampled_accuracy),
    Metric("f1", "F1", f1, "classes", True, 0, 1, resampled_f1),
    Metric("pearson", "Pearson", pearson, "number", True, -1, 1, resampled_pearson),
    Metric("spearman", "Spearman", spearman, "number", True, -1, 1, resampled_spearman),
    Metric("mean", "mean", mean, "value", True, resample=resampled_mean),
    Metric("loss", "loss", mean, "value", False, resample=resampled_mean),
):
    METRICS.add(_metric.name, _metric, own=False)


def metric_title(name: str) -> str:
    """What tables and axes call a metric; the name itself where it is not registered here.

    >>> metric_title("f1"), metric_title("mine")
    ('F1', 'mine')
    """
    return METRICS[name].title if name in METRICS else name


def example_losses(metric: str, outputs: Array, gold: Array) -> Array:
    """The loss of every run and example that belongs to a metric.

    Parameters
    ----------
    metric
        Its name. Classes have the cross-entropy, numbers the squared error, values themselves.
    outputs
        (run, example, number).
    gold
        The right answers, (example,).

    Returns
    -------
    numpy.ndarray
        (run, example); lower is better.

    Examples
    --------
    >>> example_losses("pearson", np.array([[[1.0], [2.0]]]), np.array([1.0, 4.0])).tolist()
    [[0.0, 4.0]]
    """
    about = METRICS[metric]
    if about.outputs == "classes":
        top = outputs.max(-1, keepdims=True)
        spread = top[..., 0] + np.log(np.exp(outputs - top).sum(-1))
        right = np.take_along_axis(outputs, gold.astype(np.int64)[None, :, None], -1)[..., 0]
        return np.asarray(spread - right)
    if about.outputs == "number":
        return np.asarray((outputs[..., 0] - gold) ** 2)
    return np.asarray(-about.sign * outputs[..., 0])


def main(task: Task) -> str:
    """The metric that a task is judged by.

    >>> from headscope.tasks.task import GLUE
    >>> main(GLUE["sts-b"])
    'pearson'
    """
    return task.metrics[0]


def score(task: Task, outputs: Array, gold: Array) -> dict[str, float]:
    """The scores of a model's outputs by all metrics of a task.

    Parameters
    ----------
    task
        The task.
    outputs
        (example, class), or (example,) for a regression.
    gold
        The right answers, as :func:`~headscope.tasks.label_ids` gives them.

    Raises
    ------
    UserError
        If the outputs have another shape, or are not finite.

    Examples
    --------
    >>> from headscope.tasks.task import GLUE
    >>> score(GLUE["rte"], np.array([[2.0, 1.0], [0.5, 0.1]]), np.array([0, 1]))
    {'accuracy': 0.5}
    """
    outputs = np.asarray(outputs, np.float64)
    shape = (len(gold), len(task.labels)) if task.labels else (len(gold),)
    if outputs.shape != shape:
        raise UserError(
            f"the outputs for {len(gold)} examples of {task.title} must have shape {shape}, "
            f"got {outputs.shape} instead"
        )
    if not np.isfinite(outputs).all():
        wrong = int((~np.isfinite(outputs)).sum())
        what = "1 output is" if wrong == 1 else f"{wrong} outputs are"
        raise UserError(
            f"{task.title}: {what} not finite (NaN or infinite)",
            hint="train with a lower learning rate",
        )
    columns = outputs if task.labels else outputs[:, None]
    return {name: METRICS[name].score(columns, np.asarray(gold)) for name in task.metrics}


def majority(task: Task, train: Array, gold: Array) -> dict[str, float]:
    """The scores of always giving the most frequent answer of the training data, or their mean.

    Parameters
    ----------
    task
        The task.
    train, gold
        The right answers of the training data, and of the data that is scored.

    Examples
    --------
    >>> from headscope.tasks.task import GLUE
    >>> majority(GLUE["rte"], np.array([0, 0, 1]), np.array([0, 1, 1, 1]))
    {'accuracy': 0.25}
    """
    if not task.labels:
        return score(task, np.full(len(gold), np.mean(train)), gold)
    outputs = np.zeros((len(gold), len(task.labels)))
    outputs[:, np.bincount(train, minlength=len(task.labels)).argmax()] = 1.0
    return score(task, outputs, gold)
