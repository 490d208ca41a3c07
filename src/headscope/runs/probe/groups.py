"""The groups of a probing run's results: scores of heads, of layers, and of heads together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.heads import Head
from headscope.results.moments import pearson_interval, wilson
from headscope.runs.probe.classify import ClassifierScores
from headscope.runs.probe.rows import LabelledRows
from headscope.tasks.probing import ProbingTask

WAYS = ("top", "greedy")
"""Ways of selecting heads: by their own scores, or greedily."""
SOURCE = "Jo and Myaeng 2020"
Array = NDArray[np.float64]


def unit_group(
    task: ProbingTask,
    rows: LabelledRows,
    scores: Sequence[ClassifierScores],
    dims: tuple[str, ...],
) -> xr.Dataset:
    """The scores of heads or layers.

    Parameters
    ----------
    task
        The task.
    rows
        Its labels and splits.
    scores
        Scores of each layer's units.
    dims
        ``("layer", "head")`` or ``("layer",)``.

    Returns
    -------
    xarray.Dataset
        With dimension ``task`` of length 1.
    """
    arrays = {
        name: np.stack([getattr(one, name) for one in scores])
        for name in ("validation", "test", "l2", "control", "constant")
    }
    if dims == ("layer",):
        arrays = {name: values[:, 0] for name, values in arrays.items()}
    arrays["low"], arrays["high"] = score_interval(rows, arrays["test"])
    variables: dict[str, Any] = {
        name: (("task", *dims), values[None].astype(np.float64)) for name, values in arrays.items()
    }
    facts = _task_facts(task, rows) | {"unsolved": sum(one.unsolved for one in scores)}
    variables |= {name: (("task",), np.array([value])) for name, value in facts.items()}
    data = xr.Dataset(variables)
    data = data.assign_coords(
        {"task": [task.name], **{dim: np.arange(1, data.sizes[dim] + 1) for dim in dims}}
    )
    # Lists and exports of any results read these three.
    unknown = xr.full_like(data["test"], np.nan)
    size = xr.full_like(data["test"], len(rows.test))
    data = data.assign(mean=data["test"], deviation=unknown, n=size)
    return data.assign_attrs(_attributes(f"Test score of a classifier on each {dims[-1]}"))


def top_group(
    task: ProbingTask,
    rows: LabelledRows,
    scores: Mapping[tuple[str, int], ClassifierScores],
    orders: Mapping[str, Sequence[Head]],
    *,
    counts: Sequence[int],
    total: int,
) -> xr.Dataset:
    """The scores of several heads together.

    Parameters
    ----------
    task
        The task.
    rows
        Its labels and splits.
    scores
        Scores by way of selection and number of heads; NaN where there are none.
    orders
        The heads in the order of their selection, by way.
    counts
        Numbers of heads.
    total
        Number of heads of the model.

    Returns
    -------
    xarray.Dataset
        With dimension ``task`` of length 1.
    """
    shape = (1, len(WAYS), len(counts))
    arrays = {name: np.full(shape, np.nan) for name in ("validation", "test", "l2")}
    for (way, n), one in scores.items():
        for name, values in arrays.items():
            values[0, WAYS.index(way), counts.index(n)] = getattr(one, name)[0]
    arrays["low"], arrays["high"] = score_interval(rows, arrays["test"])
    names = [
        [str(head) for head in orders[way]] + [""] * (total - len(orders[way])) for way in WAYS
    ]
    variables: dict[str, Any] = {
        name: (("task", "way", "n"), values) for name, values in arrays.items()
    }
    variables["rank"] = (("task", "way", "place"), np.array([names]))
    variables["test_size"] = (("task",), np.array([len(rows.test)]))
    data = xr.Dataset(variables).assign_coords(
        task=[task.name], way=list(WAYS), n=list(counts), place=np.arange(1, total + 1)
    )
    return data.assign_attrs(_attributes("Test score of a classifier on n heads together"))


def score_interval(rows: LabelledRows, test: Array) -> tuple[Array, Array]:
    """95 % intervals of test scores: Wilson's for accuracies, Fisher's for correlations."""
    size = len(rows.test)
    if rows.regression:
        return pearson_interval(test, size)
    missing = np.isnan(test)
    low, high = wilson(np.round(np.where(missing, 0.0, test) * size), np.full(test.shape, size))
    return np.where(missing, np.nan, low), np.where(missing, np.nan, high)


def _task_facts(task: ProbingTask, rows: LabelledRows) -> dict[str, Any]:
    return {
        "title": task.title,
        "group": task.group,
        "metric": "pearson" if rows.regression else "accuracy",
        "majority": rows.majority,
        "classes": rows.classes,
        "train": len(rows.train),
        "dev": len(rows.dev),
        "test_size": len(rows.test),
    }


def _attributes(title: str) -> dict[str, str]:
    return {
        "title": title,
        "unit": "accuracy (0–1) or Pearson correlation",
        "source": SOURCE,
        "listed": "no",
    }
