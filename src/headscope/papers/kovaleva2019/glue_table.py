"""Table 1 of Kovaleva et al. 2019: the scores of tuned models beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headscope.papers.kovaleva2019 import facts
from headscope.runs.tune import Tuned

COLUMNS = ("untrained", "random", "pretrained")
"""The starts, in the order of the paper's columns."""


def table_rows(done: Sequence[Tuned]) -> list[dict[str, Any]]:
    """Make the rows of Table 1.

    Parameters
    ----------
    done
        Tuned models, of any tasks and starts.

    Returns
    -------
    list of dict
        One row per task, with one published and one own score per start. Several seeds of one
        start give their median.
    """
    published = {row.task: row for row in facts.TABLE_1}
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(tuned.task.name for tuned in done):
        runs = [tuned for tuned in done if tuned.task.name == name]
        first = runs[0]
        row = {
            "task": first.task.title,
            "metric": "/".join(first.task.metrics),
            "train": first.examples["train"],
            "dev": first.examples["dev"],
            "majority": _percent([first.majority]),
        }
        for start in COLUMNS:
            here = [tuned.scores for tuned in runs if tuned.settings.start == start]
            if here:
                fact = published.get(name)
                row[f"{start}: paper"] = _slashed(getattr(fact, start)) if fact else "–"
                row[f"{start}: here"] = _percent(here)
        rows.append(row | {"minutes": f"{sum(tuned.minutes for tuned in runs):.1f}"})
    return rows


def _percent(scores: Sequence[dict[str, float]]) -> str:
    """The median of each metric over seeds, in percent."""
    medians = [float(np.median([score[metric] for score in scores])) for metric in scores[0]]
    return _slashed([100 * median for median in medians])


def _slashed(values: Sequence[float]) -> str:
    """Scores of several metrics in one cell, such as 87.9/82.3."""
    return "/".join("–" if np.isnan(value) else f"{value:.1f}" for value in values)
