"""Rows and sentences for the page of Jo and Myaeng 2020: published numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from headscope.models import Model
from headscope.numbers import interval
from headscope.page import records
from headscope.papers.jo2020 import facts
from headscope.papers.sections import as_sentence
from headscope.results import Atlas
from headscope.stats.tables.probing import correlation, median_gain, syntactic_semantic
from headscope.tasks.task import TITLES, ProbingTask, all_notes

Row = dict[str, Any]
PLACES = {"cls": "the first token", "last": "the last token", "mean": "the mean over tokens"}


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


def task_notes(tasks: Sequence[ProbingTask]) -> list[str]:
    """Say what a reader must know of how the tasks were made.

    Parameters
    ----------
    tasks
        The probing tasks.

    Returns
    -------
    list of str
        Sentences. How labels were found and which sentences were skipped is in the results file.
    """
    made = any(note.startswith("labels: ") for task in tasks for note in task.notes)
    where = "Tasks are made from a treebank; the notes of the results file say how."
    others = (
        replace(
            task, notes=tuple(n for n in task.notes if not n.startswith(("labels: ", "skipped: ")))
        )
        for task in tasks
    )
    return [*([where] if made else []), *(as_sentence(note) for note in all_notes(list(others)))]


def scatter_rows(probed: Mapping[str, Atlas], *, seed: int) -> tuple[list[Row], str]:
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
        rows += [_correlation(name, row) for row in records(correlation(frame, seed=seed))]
    tasks, missing = frame.attrs["tasks"], frame.attrs["missing"]
    note = (
        f"Syntactic: {', '.join(tasks['syntactic'])}. Semantic: {', '.join(tasks['semantic'])}."
        + (f" Not probed: {', '.join(TITLES[name] for name in missing)}." if missing else "")
        + " The second interval draws whole layers, because the heads of one layer are not "
        "independent."
    )
    return rows, note


def _correlation(model: str, row: Row) -> Row:
    return {
        "model": model,
        "correlation": row["correlation"],
        "value": row["value"],
        "95 % interval over heads": interval(row["low"], row["high"]),
        "95 % interval over layers": interval(row["layer low"], row["layer high"]),
        "heads": row["heads"],
    }


def gain_text(table: pd.DataFrame) -> str:
    """Say how much the top heads gain (Section 4.4).

    Parameters
    ----------
    table
        What :func:`headscope.stats.tables.probing.top_table` returned.

    Returns
    -------
    str
        The median gains over the last and the best layer.
    """
    last, best = median_gain(table, over="last"), median_gain(table)
    greedy_last = median_gain(table, way="greedy", over="last")
    greedy_best = median_gain(table, way="greedy")
    return (
        f"In the median over tasks, the {table['n'][0]} best heads together gain {last:.1f} % over "
        f"the last layer and {best:.1f} % over the best layer; chosen greedily, "
        f"{greedy_last:.1f} % and {greedy_best:.1f} %. (The paper reports {facts.MEDIAN_GAIN:g} % "
        "over the best layer; "
        "by its tables, that is the gain over the last layer.)"
    )


def place_text(results: Atlas) -> str:
    """Where vectors were read, in words.

    Parameters
    ----------
    results
        Results of probing.
    """
    return PLACES[results.provenance["position"]]
