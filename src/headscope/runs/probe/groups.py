"""The groups of a probing run's results: scores of heads, of layers, and of heads together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.results.moments import pearson_interval, wilson
from headscope.runs.probe.judge import SHORTLIST
from headscope.runs.probe.rows import LabelledRows
from headscope.runs.probe.task_scores import WAYS, Arrays, TaskScores
from headscope.tasks.task import ProbingTask

SOURCE = "Jo and Myaeng 2020"
Array = NDArray[np.float64]


def task_groups(
    task: ProbingTask,
    rows: LabelledRows,
    scores: TaskScores,
    counts: Sequence[int],
    numbers: Sequence[int],
) -> dict[str, xr.Dataset]:
    """The groups of the results of one task.

    Parameters
    ----------
    task
        The task.
    rows
        Its labels and splits.
    scores
        The scores of its classifiers.
    counts
        Numbers of heads of the curve.
    numbers
        The numbers of the layers, from 1.

    Returns
    -------
    dict of xarray.Dataset
        ``probe``, ``probe_layer`` and ``probe_top``, with dimension ``task`` of length 1; and
        ``probe_embeddings`` if the embeddings were probed.
    """
    heads, layers = scores.unsolved.tolist()
    of_heads = {"layer": numbers, "head": range(1, scores.heads["test"].shape[1] + 1)}
    groups = {
        "probe": _units(task, rows, scores.heads, heads, of_heads),
        "probe_layer": _units(task, rows, scores.layers, layers, {"layer": numbers}),
        "probe_top": _top(task, rows, scores, counts),
    }
    if scores.embeddings:
        groups["probe_embeddings"] = embedding_group(task, rows, scores.embeddings)
    return groups


def embedding_group(task: ProbingTask, rows: LabelledRows, scores: Arrays) -> xr.Dataset:
    """The scores of the embeddings alone, (task,).

    Parameters
    ----------
    task
        The task.
    rows
        Its labels and splits.
    scores
        By name, as :class:`~headscope.runs.probe.task_scores.TaskScores` has them.
    """
    units = {name: values[0] for name, values in scores.items() if name != "unsolved"}
    return _units(task, rows, units, int(scores["unsolved"][0]), {})


def score_interval(rows: LabelledRows, test: Array) -> tuple[Array, Array]:
    """95 % intervals of test scores: Wilson's for accuracies, Fisher's for correlations."""
    size = len(rows.test)
    if rows.regression:
        return pearson_interval(test, size)
    missing = np.isnan(test)
    low, high = wilson(np.round(np.where(missing, 0.0, test) * size), np.full(test.shape, size))
    return np.where(missing, np.nan, low), np.where(missing, np.nan, high)


def _units(
    task: ProbingTask,
    rows: LabelledRows,
    scores: Arrays,
    unsolved: int,
    labels: Mapping[str, Sequence[int]],
) -> xr.Dataset:
    """The scores of heads or layers; ``labels`` are those of each dimension."""
    low, high = score_interval(rows, scores["test"])
    variables: dict[str, Any] = {
        name: (("task", *labels), values[None])
        for name, values in {**scores, "low": low, "high": high}.items()
    }
    facts = {
        "title": task.title,
        "group": task.group,
        "metric": "pearson" if rows.regression else "accuracy",
        "majority": rows.majority,
        "classes": rows.classes,
        "train": len(rows.train),
        "dev": len(rows.dev),
        "test_size": len(rows.test),
        "unsolved": unsolved,
    }
    variables |= {name: (("task",), np.array([value])) for name, value in facts.items()}
    data = xr.Dataset(variables)
    # In this order: tables of the results list layers, then heads.
    data = data.assign_coords(
        {"task": [task.name], **{dim: list(numbers) for dim, numbers in labels.items()}}
    )
    what = f"each {list(labels)[-1]}" if labels else "the mean embedding of all tokens"
    return data.assign_attrs(attributes(f"Test score of a classifier on {what}"))


def _top(
    task: ProbingTask, rows: LabelledRows, scores: TaskScores, counts: Sequence[int]
) -> xr.Dataset:
    """The scores of several heads together."""
    low, high = score_interval(rows, scores.top["test"])
    variables: dict[str, Any] = {
        name: (("task", "way", "n"), values[None])
        for name, values in {**scores.top, "low": low, "high": high}.items()
    }
    total = scores.rank.shape[1]
    names = [[str(head) for head in scores.ranked(way)] for way in WAYS]
    padded = [each + [""] * (total - len(each)) for each in names]
    variables["rank"] = (("task", "way", "place"), np.array([padded]))
    variables["test_size"] = (("task",), np.array([len(rows.test)]))
    data = xr.Dataset(variables).assign_coords(
        task=[task.name], way=list(WAYS), n=list(counts), place=np.arange(1, total + 1)
    )
    return data.assign_attrs(
        **attributes("Test score of a classifier on n heads together"), shortlist=SHORTLIST
    )


def attributes(title: str) -> dict[str, str]:
    """The attributes of a group of test scores."""
    return {
        "title": title,
        "unit": "accuracy (0–1) or Pearson correlation",
        "source": SOURCE,
        "listed": "no",
        "kind": "probe",
    }
