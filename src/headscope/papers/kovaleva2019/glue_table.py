"""Table 1 of Kovaleva et al. 2019: the scores of tuned models beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from headscope.numbers import number
from headscope.papers.kovaleva2019 import facts
from headscope.runs.tune import Start
from headscope.tasks import Task

COLUMNS: tuple[Start, ...] = ("untrained", "random", "pretrained")
"""The starts, in the order of the paper's columns."""


class Scored(Protocol):
    """A model with its scores on a task: trained here, or found."""

    @property
    def task(self) -> Task:
        """The task."""

    @property
    def start(self) -> Start:
        """The weights that training started from."""

    @property
    def scores(self) -> Mapping[str, float]:
        """The task's metrics on the dev examples."""

    @property
    def majority(self) -> Mapping[str, float]:
        """The same for the most frequent class."""

    @property
    def examples(self) -> Mapping[str, int]:
        """The number of examples, ``train`` (if known) and ``dev``."""

    @property
    def minutes(self) -> float:
        """How long training took; NaN if nobody knows."""


def table_rows(done: Sequence[Scored]) -> list[dict[str, Any]]:
    """Make the rows of Table 1.

    Parameters
    ----------
    done
        Tuned models, of any tasks and starts.

    Returns
    -------
    list of dict
        One row per task, with one published and one own score per start. Several seeds of one
        start give their median, with the smallest and the largest score in brackets.
    """
    published = {row.task: row for row in facts.TABLE_1}
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(tuned.task.name for tuned in done):
        runs = [tuned for tuned in done if tuned.task.name == name]
        first = runs[0]
        row = {
            "task": first.task.title,
            "metric": "/".join(first.task.metrics),
            "train": first.examples.get("train", "–"),
            "dev": first.examples["dev"],
            "majority": _percent([first.majority]),
        }
        for start in COLUMNS:
            here = [tuned.scores for tuned in runs if tuned.start == start]
            if here:
                fact = published.get(name)
                row[f"{start}: paper"] = _slashed(getattr(fact, start)) if fact else "–"
                row[f"{start}: here"] = _percent(here)
        known = [tuned.minutes for tuned in runs if np.isfinite(tuned.minutes)]
        rows.append(row | {"minutes": f"{sum(known):.1f}" if known else "–"})
    return rows


def mean_gain(done: Sequence[Scored]) -> tuple[float, int]:
    """Average what fine-tuning adds to the score of an untrained classifier (Section 4.3).

    The paper's 35.9 is the mean over tasks of the last column of Table 1 minus the first, with
    accuracy where a task has it.

    Parameters
    ----------
    done
        Tuned models, of any tasks and starts.

    Returns
    -------
    gain : float
        In points; NaN if no task has both starts.
    tasks : int
        How many tasks it is the mean of.
    """
    gains = []
    for task in {tuned.task.name: tuned.task for tuned in done}.values():
        metric = "accuracy" if "accuracy" in task.metrics else task.metrics[0]
        runs = [tuned for tuned in done if tuned.task.name == task.name]
        before, after = (
            [tuned.scores[metric] for tuned in runs if tuned.start == start]
            for start in ("untrained", "pretrained")
        )
        if before and after:
            gains.append(100 * float(np.median(after) - np.median(before)))
    return (float(np.mean(gains)) if gains else float("nan")), len(gains)


def gain_sentence(done: Sequence[Scored]) -> str:
    """Say what fine-tuning adds on average, beside the published number."""
    gain, tasks = mean_gain(done)
    if not tasks:
        return f"Published: fine-tuning adds {facts.MEAN_GAIN} points on average over seven tasks."
    of = "1 task" if tasks == 1 else f"{tasks} tasks"
    return (
        f"Fine-tuning adds {number(gain)} points to an untrained classifier on average over {of}; "
        f"published: {facts.MEAN_GAIN} over seven tasks (accuracy where a task has it)."
    )


def _percent(scores: Sequence[Mapping[str, float]]) -> str:
    """The median of each metric over seeds, in percent; with the range, if there are several."""
    columns = [[100 * score[metric] for score in scores] for metric in scores[0]]
    median = _slashed([float(np.median(column)) for column in columns])
    if len(scores) == 1:
        return median
    ranges = (f"{min(column):.1f}–{max(column):.1f}" for column in columns)
    return f"{median} ({', '.join(ranges)})"


def _slashed(values: Sequence[float]) -> str:
    """Scores of several metrics in one cell, such as 87.9/82.3."""
    return "/".join("–" if np.isnan(value) else f"{value:.1f}" for value in values)
