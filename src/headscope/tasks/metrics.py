"""Scores of a task: accuracy, F1, Pearson and Spearman, from a classifier's outputs and the right answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from headscope.errors import UserError
from headscope.tasks.task import Task

Array = NDArray[Any]


def accuracy(predicted: Array, gold: Array) -> float:
    """The share of right answers; NaN of none."""
    return float((predicted == gold).mean()) if len(gold) else float("nan")


def f1(predicted: Array, gold: Array) -> float:
    """F1 of class 1. It is 0 where class 1 is there but never found, as in the paper's table, and NaN where there is neither a right nor a wrong one.

    >>> f1(np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0]))
    0.5
    """
    hits = np.sum((predicted == 1) & (gold == 1))
    marked = np.sum(predicted == 1) + np.sum(gold == 1)
    return float(2 * hits / marked) if marked else float("nan")


def pearson(predicted: Array, gold: Array) -> float:
    """The correlation of two lists of numbers; NaN if one of them is constant."""
    if len(gold) < 2 or np.ptp(predicted) == 0 or np.ptp(gold) == 0:
        return float("nan")
    one, two = predicted - predicted.mean(), gold - gold.mean()
    return float(np.clip(one @ two / np.sqrt((one @ one) * (two @ two)), -1, 1))


def spearman(predicted: Array, gold: Array) -> float:
    """The correlation of two lists' ranks; equal values share their rank."""
    return pearson(rankdata(predicted), rankdata(gold))


METRICS: dict[str, Callable[[Array, Array], float]] = {
    "accuracy": accuracy,
    "f1": f1,
    "pearson": pearson,
    "spearman": spearman,
}


def main(task: Task) -> str:
    """The metric that a task is judged by."""
    return task.metrics[0]


def score(task: Task, outputs: Array, gold: Array) -> dict[str, float]:
    """The metrics of a task. ``outputs``: (examples, classes), or (examples,) for a regression; ``gold`` as :func:`label_ids` gives it.

    >>> from headscope.tasks.task import GLUE
    >>> score(GLUE["rte"], np.array([[2.0, 1.0], [0.5, 0.1]]), np.array([0, 1]))
    {'accuracy': 0.5}
    """
    outputs = np.asarray(outputs, np.float64)
    shape = (len(gold), len(task.labels)) if task.labels else (len(gold),)
    if outputs.shape != shape:
        raise UserError(
            f"the outputs for {len(gold)} examples of {task.title} must have shape {shape}, got {outputs.shape} instead"
        )
    if not np.isfinite(outputs).all():
        raise UserError(
            f"{int((~np.isfinite(outputs)).sum())} outputs for {task.title} are no numbers (NaN or infinite)",
            hint="train with a lower --learning-rate",
        )
    predicted = outputs.argmax(1) if task.labels else outputs
    return {name: METRICS[name](predicted, np.asarray(gold)) for name in task.metrics}


def majority(task: Task, train: Array, gold: Array) -> dict[str, float]:
    """The scores of always answering what is most frequent in training (the mean, for a regression).

    >>> from headscope.tasks.task import GLUE
    >>> majority(GLUE["rte"], np.array([0, 0, 1]), np.array([0, 1, 1, 1]))
    {'accuracy': 0.25}
    """
    if not task.labels:
        return score(task, np.full(len(gold), np.mean(train)), gold)
    outputs = np.zeros((len(gold), len(task.labels)))
    outputs[:, np.bincount(train, minlength=len(task.labels)).argmax()] = 1.0
    return score(task, outputs, gold)
