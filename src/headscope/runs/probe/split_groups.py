"""The groups of results of repeated splits: means over splits with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.heads import Head
from headscope.runs.probe.groups import attributes
from headscope.runs.probe.rows import LabelledRows
from headscope.runs.probe.splits import WAYS
from headscope.runs.probe.task_scores import Arrays
from headscope.stats.tables.probing import HEADS, TOP, split_interval
from headscope.tasks.probing import ProbingTask

Variables = dict[str, tuple[tuple[str, ...], Any]]
TITLE = "Mean test score over splits that were drawn again"


def split_groups(
    task: ProbingTask, rows: LabelledRows, scores: Arrays, numbers: Sequence[int]
) -> dict[str, xr.Dataset]:
    """The groups of results of one task's repeated splits.

    Parameters
    ----------
    task
        The task.
    rows
        Its labels and splits.
    scores
        What :func:`headscope.runs.probe.splits.split_scores` returned.
    numbers
        The numbers of the layers, from 1.

    Returns
    -------
    dict of xarray.Dataset
        ``probe_splits`` (task, layer, head): the mean over splits, its interval, and the share of
        splits in which the head is one of the top heads (``chosen``). ``probe_splits_top`` (task,
        way): the same for the last layer, the best layer and the top heads; ``each`` has the
        scores of the single splits, ``best_layer`` and ``rank`` what they chose.
    """
    test = np.moveaxis(scores["test"], 0, -1)  # (layer, head, split)
    picked = [[Head(*head) for head in few] for few in scores["rank"].tolist()]
    chosen = np.zeros(test.shape)
    for split, few in enumerate(picked):
        for layer, head in few:
            chosen[list(numbers).index(layer + 1), head, split] = 1.0
    heads = _means(rows, test, scores["validation"].mean(0), ("layer", "head"))
    heads["chosen"] = ("task", "layer", "head"), chosen.mean(-1)[None]
    top = _means(rows, scores["top_test"], scores["top_validation"].mean(-1), ("way",))
    top |= {
        "each": (("task", "way", "split"), scores["top_test"][None]),
        "best_layer": (("task", "split"), np.array(numbers)[scores["best_layer"]][None]),
        "rank": (("task", "split", "place"), np.array([[[*map(str, few)] for few in picked]])),
    }
    splits, places = (np.arange(1, size + 1) for size in scores["rank"].shape[:2])
    of_heads = {"layer": list(numbers), "head": np.arange(1, test.shape[1] + 1)}
    of_top = {"way": list(WAYS), "split": splits, "place": places}
    return {
        HEADS: _group(task, rows, heads, of_heads, f"{TITLE}, of each head"),
        TOP: _group(task, rows, top, of_top, f"{TITLE}, of layers and of the top heads"),
    }


def _means(
    rows: LabelledRows, test: NDArray[Any], validation: NDArray[Any], dims: tuple[str, ...]
) -> Variables:
    """Means over the last dimension, the splits, with their intervals."""
    mean, low, high = split_interval(test, len(rows.train), len(rows.test))
    least = -1.0 if rows.regression else 0.0
    named = {
        "test": mean,
        "low": np.clip(low, least, 1.0),
        "high": np.clip(high, least, 1.0),
        "validation": validation,
    }
    return {name: (("task", *dims), values[None]) for name, values in named.items()}


def _group(
    task: ProbingTask,
    rows: LabelledRows,
    variables: Variables,
    labels: Mapping[str, Any],
    title: str,
) -> xr.Dataset:
    facts = {
        "title": task.title,
        "classes": rows.classes,
        "train": len(rows.train),
        "test_size": len(rows.test),
    }
    known = {name: (("task",), np.array([value])) for name, value in facts.items()}
    data = xr.Dataset({**variables, **known}).assign_coords({"task": [task.name], **labels})
    return data.assign_attrs(attributes(title))
