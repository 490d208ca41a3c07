"""Rows and sentences for the page of Jo and Myaeng 2020: published numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.heads import Head
from headscope.models import Model, Pooling
from headscope.numbers import interval
from headscope.page import records
from headscope.papers.jo2020 import facts
from headscope.papers.sections import as_sentence, counted
from headscope.results import Atlas
from headscope.runs.tune import Tuned
from headscope.stats.probing import best_layer, median_gain
from headscope.stats.syntax_semantics import correlation, syntactic_semantic
from headscope.tasks import Task
from headscope.tasks.probing import TITLES, ProbingTask, all_notes

Row = dict[str, Any]
PLACES = {"cls": "the first token", "last": "the last token", "mean": "the mean over tokens"}
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


def task_notes(tasks: Sequence[ProbingTask]) -> list[str]:
    """Say how the tasks were made.

    Parameters
    ----------
    tasks
        The probing tasks.

    Returns
    -------
    list of str
        Sentences: what the labels are, and which sentences were skipped.
    """
    notes = (note.replace(": labels: ", " labels: ", 1) for note in all_notes(tasks))
    return [as_sentence(note.replace(": skipped: ", ": skipped ", 1)) for note in notes]


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


def state_rows(probed: Mapping[str, Atlas]) -> list[Row]:
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


def gain_text(table: pd.DataFrame) -> str:
    """Say how much the top heads gain (Section 4.4).

    Parameters
    ----------
    table
        What :func:`headscope.stats.probing.top_table` returned.

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


def tuning_text(done: Mapping[str, Sequence[Tuned]]) -> str:
    """Say how the models of Table 4 were tuned.

    Parameters
    ----------
    done
        Tuned models of all seeds, by what the classifier was trained on.

    Returns
    -------
    str
        The settings and the time that was spent.
    """
    runs = [tuned for several in done.values() for tuned in several]
    first = runs[0]
    return (
        "A linear layer, tanh, dropout 0.1 and a classifier on top, all weights trainable; batches "
        f"of {first.settings.batch_size}, {counted(first.settings.epochs, 'epoch')}, learning rate "
        f"{first.settings.learning_rate:g}, {first.examples['train']} training examples; "
        f"{sum(tuned.minutes for tuned in runs):.1f} minutes for {counted(len(runs), 'run')}."
    )


def table_4_poolings(
    results: Atlas, task: str, *, position: str, top: int | None
) -> dict[str, Pooling]:
    """Say what the three classifiers of Table 4 are trained on.

    Parameters
    ----------
    results
        The frozen heads of the task, which the layer and the heads are chosen from.
    task
        The task's name.
    position
        Where vectors are read.
    top
        How many heads. Default: as many as a layer has.

    Returns
    -------
    dict
        Poolings by state: the last layer, the best layer and the top heads.
    """
    layer = best_layer(results, task)
    count = top or results["probe"].sizes["head"]
    ranked = results["probe_top"]["rank"].sel(task=task, way="top").values[:count]
    poolings = (
        Pooling(position=position),
        Pooling(layer=layer, position=position),
        Pooling([Head.parse(str(head)) for head in ranked], position=position),
    )
    return dict(zip(STATES, poolings, strict=True))


def place_text(results: Atlas) -> str:
    """Where vectors were read, in words.

    Parameters
    ----------
    results
        Results of probing.
    """
    return PLACES[results.provenance["position"]]
