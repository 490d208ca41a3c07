"""Rows for the tables of Jo and Myaeng 2020: the published numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headscope.models import Model
from headscope.page import records
from headscope.papers.jo2020 import facts
from headscope.results import Results
from headscope.runs.tune import Tuned
from headscope.stats.syntax_semantics import correlation, syntactic_semantic
from headscope.tasks import Task
from headscope.tasks.probing import ProbingTask

Row = dict[str, Any]
ENCODERS = {"bert": "BERT base", "gpt2": "GPT2", "openai-gpt": "GPT"}
"""Whose published numbers stand beside those of an architecture."""
STATES = ("last layer", "best layer", "top heads")
"""What the classifiers of Table 4 are trained on."""


def encoder_rows(models: Mapping[str, Model]) -> list[Row]:
    """Make the rows of Table 1.

    Parameters
    ----------
    models
        Our models, by the names that readers know.

    Returns
    -------
    list of dict
        Our models, then the paper's.
    """
    rows: list[Row] = []
    for name, model in models.items():
        shape = model.shape(model.main_stack())
        size = f"{model.network.num_parameters() / 1e6:.1f}M"
        rows.append(_encoder(name, shape.layers, shape.heads, size))
    published = (
        _encoder(f"{row.name} (paper)", row.layers, row.heads, row.parameters)
        for row in facts.TABLE_1
    )
    return [*rows, *published]


def _encoder(name: str, layers: int, heads: int, parameters: str) -> Row:
    return {"encoder": name, "layers": layers, "heads": heads, "parameters": parameters}


def task_rows(tasks: Sequence[ProbingTask]) -> list[Row]:
    """Make the rows of Table 2.

    Parameters
    ----------
    tasks
        The probing tasks.

    Returns
    -------
    list of dict
        Classes and sentences of each task.
    """
    classes = {row.name: row.classes for row in facts.TABLE_2}
    return [
        {
            "task": task.title,
            "group": task.group,
            "classes": len(task.labels),
            "paper: classes": classes.get(task.name),
            **{split: len(task.splits.get(split, ())) for split in ("train", "dev", "test")},
        }
        for task in tasks
    ]


def scatter_rows(probed: Mapping[str, Results], *, seed: int) -> tuple[list[Row], str]:
    """Make the table of correlations between syntactic and semantic scores (Figure 5).

    Parameters
    ----------
    probed
        Probing results, by model.
    seed
        Seed of the intervals.

    Returns
    -------
    rows : list of dict
        Correlations over heads with their intervals.
    note : str
        Which tasks are syntactic and which semantic.
    """
    rows: list[Row] = []
    for name, results in probed.items():
        frame = syntactic_semantic(results)
        rows += [{"model": name, **row} for row in records(correlation(frame, seed=seed))]
    tasks, missing = frame.attrs["tasks"], frame.attrs["missing"]
    note = (
        f"Syntactic: {', '.join(tasks['syntactic'])}. Semantic: {', '.join(tasks['semantic'])}."
        + (f" Not probed: {', '.join(missing)}." if missing else "")
        + " Intervals are over heads, and over whole layers, because the heads of one layer are "
        "not independent."
    )
    return rows, note


def tuning_rows(task: Task, done: Mapping[str, Sequence[Tuned]]) -> list[Row]:
    """Make the rows of Table 4 for one task.

    Parameters
    ----------
    task
        The task.
    done
        Tuned models of all seeds, by what the classifier was trained on.

    Returns
    -------
    list of dict
        One row per metric: the median of all seeds, with the lowest and the highest score.
    """
    published = {
        row.metric: (row.last, row.best, row.top)
        for row in facts.TABLE_4["BERT base"]
        if row.task == task.name
    }
    rows: list[Row] = []
    for metric in task.metrics:
        row: Row = {"task": f"{task.title} ({metric})"}
        for place, state in enumerate(STATES):
            scores = [100 * tuned.scores[metric] for tuned in done[state]]
            row[f"{state}: paper"] = published.get(metric, (None, None, None))[place]
            row[f"{state}: here"] = f"{np.median(scores):.1f} ({min(scores):.1f}–{max(scores):.1f})"
        rows.append(row)
    return rows


def state_rows(probed: Mapping[str, Results]) -> list[Row]:
    """Summarise the frozen scores of heads before and after fine-tuning (Figure 4).

    Parameters
    ----------
    probed
        Probing results of one task, by state.

    Returns
    -------
    list of dict
        The mean over heads and the best head, in percent.
    """
    return [
        {
            "state": state,
            "mean over heads": 100 * float(results["probe"]["test"].mean()),
            "best head": 100 * float(results["probe"]["test"].max()),
        }
        for state, results in probed.items()
    ]
