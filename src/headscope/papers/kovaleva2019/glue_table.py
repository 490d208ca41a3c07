"""Table 1 of Kovaleva et al. 2019: what tuned models score, beside the published numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headscope.papers.kovaleva2019.facts import KOVALEVA_TABLE_1
from headscope.runs.tune import Tuned

COLUMNS = ("untrained", "random", "pretrained")
"""The starts, in the order of the paper's columns."""


def table_rows(done: Sequence[Tuned]) -> list[dict[str, Any]]:
    """Table 1: one row a task, the starts as columns, the paper's numbers beside ours."""
    published = {row.task: row for row in KOVALEVA_TABLE_1}
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
                row |= {
                    f"{start}: paper": _slashed(getattr(published[name], start))
                    if name in published
                    else "–",
                    f"{start}: here": _percent(here),
                }
        rows.append(row | {"minutes": f"{sum(tuned.minutes for tuned in runs):.1f}"})
    return rows


def _percent(scores: Sequence[dict[str, float]]) -> str:
    return _slashed(
        [100 * float(np.median([score[metric] for score in scores])) for metric in scores[0]]
    )


def _slashed(values: Sequence[float]) -> str:
    return "/".join("–" if value != value else f"{value:.1f}" for value in values)
