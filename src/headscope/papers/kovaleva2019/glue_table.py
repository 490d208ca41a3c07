"""Table 1 of Kovaleva et al. 2019: the scores of tuned models beside the published ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from headscope.page import Table
from headscope.papers.kovaleva2019 import facts
from headscope.papers.sections import as_sentence
from headscope.runs.tune import Start
from headscope.tasks import Task
from headscope.tasks.metrics import metric_title

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


def tuning_tables(done: Sequence[Scored], notes: Sequence[str]) -> list[Table]:
    """Make Table 1, and with several seeds a second one with the range over seeds.

    Parameters
    ----------
    done
        Tuned models, of any tasks and starts.
    notes
        What is to be said about them; a note on one task begins with it: ``"RTE: …"``.
    """
    several = len(done) > len({(tuned.task.name, tuned.start) for tuned in done})
    below = ["Dev scores in percent."]
    below.append("Majority: always the most frequent class of the training data.")
    if several:
        below.append("Several tuning seeds: the median.")
    titles = {tuned.task.title for tuned in done}
    below += map(as_sentence, merged_notes(notes, titles))
    tables = [Table(table_rows(done, ranges=False), title="Table 1", note=" ".join(below))]
    if several:
        note = "The lowest and the highest score in percent."
        tables.append(Table(range_rows(done), title="Range over tuning seeds", note=note))
    return tables


def table_rows(done: Sequence[Scored], *, ranges: bool = True) -> list[dict[str, Any]]:
    """Make the rows of Table 1.

    Parameters
    ----------
    done
        Tuned models, of any tasks and starts.
    ranges
        Whether the range over seeds stands in brackets behind the median.

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
            "metric": "/".join(map(metric_title, first.task.metrics)),
            "train": first.examples.get("train", "–"),
            "dev": first.examples["dev"],
            "majority": _percent([first.majority]),
        }
        for start in COLUMNS:
            here = [tuned.scores for tuned in runs if tuned.start == start]
            if here:
                fact = published.get(name)
                row[f"{start}: paper"] = _slashed(getattr(fact, start)) if fact else "–"
                row[f"{start}: here"] = _percent(here, ranges=ranges)
        known = [tuned.minutes for tuned in runs if np.isfinite(tuned.minutes)]
        rows.append(row | {"minutes": f"{sum(known):.1f}" if known else "–"})
    return rows


def range_rows(done: Sequence[Scored]) -> list[dict[str, Any]]:
    """List the lowest and the highest score over seeds, one row per task and metric.

    Parameters
    ----------
    done
        Tuned models, of any tasks and starts.
    """
    rows: list[dict[str, Any]] = []
    for task in {tuned.task.name: tuned.task for tuned in done}.values():
        for metric in task.metrics:
            row: dict[str, Any] = {"task": task.title, "metric": metric_title(metric)}
            for start in COLUMNS:
                scores = [
                    100 * tuned.scores[metric]
                    for tuned in done
                    if tuned.task.name == task.name and tuned.start == start
                ]
                if scores:
                    row[start] = _range(scores)
            rows.append(row)
    return rows


def merged_notes(notes: Sequence[str], titles: Collection[str]) -> list[str]:
    """Say only once what several tasks have in common.

    Parameters
    ----------
    notes
        Sentences, some of which begin with a task and a colon.
    titles
        The tasks.

    Examples
    --------
    >>> merged_notes(["RTE: cut", "STS-B: cut", "none: known", "RTE: cut"], {"RTE", "STS-B"})
    ['RTE, STS-B: cut', 'none: known']
    """
    merged: dict[str, dict[str, None]] = {}
    for note in notes:
        task, _, text = note.partition(": ")
        if task in titles:
            merged.setdefault(text, {})[task] = None
        else:
            merged.setdefault(note, {})
    return [f"{', '.join(tasks)}: {text}" if tasks else text for text, tasks in merged.items()]


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
        f"Fine-tuning adds {gain:.1f} points to an untrained classifier on average over {of}; "
        f"published: {facts.MEAN_GAIN} over seven tasks (accuracy where a task has it)."
    )


def _percent(scores: Sequence[Mapping[str, float]], *, ranges: bool = True) -> str:
    """The median of each metric over seeds, in percent; with the range, if there are several."""
    columns = [[100 * score[metric] for score in scores] for metric in scores[0]]
    median = _slashed([float(np.median(column)) for column in columns])
    if len(scores) == 1 or not ranges:
        return median
    return f"{median} ({', '.join(map(_range, columns))})"


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.1f}–{max(values):.1f}"


def _slashed(values: Sequence[float]) -> str:
    """Scores of several metrics in one cell, such as 87.9/82.3."""
    return "/".join("–" if np.isnan(value) else f"{value:.1f}" for value in values)
