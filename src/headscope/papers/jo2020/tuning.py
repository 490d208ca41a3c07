"""Table 4 and Figure 4 of Jo and Myaeng 2020: models fine-tuned from layers and from heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.heads import Head
from headscope.models import Pooling
from headscope.papers.jo2020 import facts
from headscope.papers.sections import counted
from headscope.results import Atlas
from headscope.runs.tune import Tuned
from headscope.stats.tables.probing import best_layer
from headscope.tasks import Task

Row = dict[str, Any]
Runs = Mapping[str, Sequence[Tuned]]
"""Tuned models of all seeds, by what the classifier was trained on."""
STATES = ("last layer", "best layer", "top heads")
"""What the classifiers of Table 4 are trained on."""
GAINS = (
    "Points by which a score is above that of the last layer: the mean over the rows of Table 4 of "
    "the difference between medians, and the lowest and the highest of any seed."
)


def tuning_rows(
    tasks: Sequence[Task], done: Mapping[str, Mapping[str, Runs]], encoders: Mapping[str, str]
) -> list[Row]:
    """Make the rows of Table 4.

    Parameters
    ----------
    tasks
        The tasks.
    done
        Tuned models by model and task.
    encoders
        The published encoder that each model is; empty for none.

    Returns
    -------
    list of dict
        One row per model, task and metric: the median of all seeds, with the lowest and the highest
        score. Published numbers stand beside those of the same encoder.
    """
    rows: list[Row] = []
    for model, runs in done.items():
        published = {
            (row.task, row.metric): (row.last, row.best, row.top)
            for row in facts.TABLE_4.get(encoders[model], ())
        }
        for task in tasks:
            for metric in task.metrics:
                row: Row = {"model": model, "task": f"{task.title} ({metric})"}
                known = published.get((task.name, metric))
                for place, state in enumerate(STATES):
                    scores = _scores(runs[task.name][state], metric)
                    row[state] = f"{np.median(scores):.1f} ({min(scores):.1f}–{max(scores):.1f})"
                    if known:
                        row[f"{state}: paper"] = known[place]
                rows.append(row)
    return rows


def _scores(runs: Sequence[Tuned], metric: str) -> NDArray[np.float64]:
    return np.array([100 * tuned.scores[metric] for tuned in runs])


def mean_gain(tasks: Sequence[Task], runs: Mapping[str, Runs], state: str) -> float:
    """Average the gain over the last layer over all tasks and metrics, in points (Section 5.2).

    Parameters
    ----------
    tasks
        The tasks.
    runs
        Tuned models of one model, by task.
    state
        What the classifier was trained on.

    Returns
    -------
    float
        The mean difference between medians over seeds.
    """
    gains = [
        np.median(_scores(runs[task.name][state], metric))
        - np.median(_scores(runs[task.name][STATES[0]], metric))
        for task in tasks
        for metric in task.metrics
    ]
    return float(np.mean(gains))


def gain_rows(
    tasks: Sequence[Task], done: Mapping[str, Mapping[str, Runs]], encoders: Mapping[str, str]
) -> list[Row]:
    """Average the gains over the last layer over all tasks and metrics (Section 5.2).

    Parameters
    ----------
    tasks, done, encoders
        As for :func:`tuning_rows`.

    Returns
    -------
    list of dict
        One row per model and state, in points.
    """
    rows: list[Row] = []
    for model, runs in done.items():
        for state in STATES[1:]:
            gains = np.array(
                [
                    _scores(runs[task.name][state], metric)
                    - _scores(runs[task.name][STATES[0]], metric)
                    for task in tasks
                    for metric in task.metrics
                ]
            )
            seeds = gains.mean(0)
            row: Row = {
                "model": model,
                "trained on": state,
                "mean gain": f"{mean_gain(tasks, runs, state):+.2f}",
                "lowest seed": f"{seeds.min():+.2f}",
                "highest seed": f"{seeds.max():+.2f}",
            }
            published = facts.TUNED_GAINS.get(encoders[model])
            if published is not None and state == STATES[2]:
                row["paper"] = f"{published:+.2f}"
            rows.append(row)
    return rows


def state_rows(probed: Mapping[str, Mapping[str, Mapping[str, Atlas]]]) -> list[Row]:
    """Summarise the frozen scores of heads before and after fine-tuning (Figure 4).

    Parameters
    ----------
    probed
        Probing results by model, task and state.

    Returns
    -------
    list of dict
        The mean over heads and the best head, in percent, and the rank correlation of the heads
        with those before.
    """
    from scipy.stats import spearmanr  # slow to import

    rows: list[Row] = []
    for model, tasks in probed.items():
        for task, states in tasks.items():
            first = next(iter(states.values()))["probe"]["test"].sel(task=task).values.ravel()
            for state, results in states.items():
                scores = results["probe"]["test"].sel(task=task).values.ravel()
                rho = spearmanr(first, scores, nan_policy="omit").statistic
                rows.append(
                    {
                        "model": model,
                        "task": str(results["probe"]["title"].sel(task=task).values),
                        "state": state,
                        "mean over heads": 100 * float(np.nanmean(scores)),
                        "best head": 100 * float(np.nanmax(scores)),
                        "Spearman with before": None if state == "before" else float(rho),
                    }
                )
    return rows


def state_changes(
    probed: Mapping[str, Mapping[str, Mapping[str, Atlas]]],
) -> dict[str, list[tuple[float, float]]]:
    """Collect how fine-tuning changed the heads, for the paper's claims.

    Parameters
    ----------
    probed
        Probing results by model, task and state.

    Returns
    -------
    dict
        By model, for each task and tuned state: the change of the mean over heads in points, and
        the rank correlation with before.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    before = 0.0
    for row in state_rows(probed):
        if row["state"] == "before":
            before = row["mean over heads"]
        else:
            change = row["mean over heads"] - before
            found.setdefault(row["model"], []).append((change, row["Spearman with before"]))
    return found


def mean_scores(runs: Sequence[Atlas]) -> Atlas:
    """Average the scores of heads over the runs of several seeds.

    Parameters
    ----------
    runs
        Probing results of one model, task by task the same.

    Returns
    -------
    Atlas
        The first run with mean test scores. Several runs have no interval: one run's would not
        cover the scatter between them.
    """
    if len(runs) == 1:
        return runs[0]
    first = runs[0]["probe"]
    test = sum(one["probe"]["test"] for one in runs) / len(runs)
    unknown = first["test"] * np.nan
    probe = first.assign(test=test, low=unknown, high=unknown)
    return Atlas.build({"probe": probe}, runs[0].provenance)


def pooling_text(model: str, task: Task, poolings: Mapping[str, Pooling]) -> str:
    """Say which layer and heads were chosen.

    Parameters
    ----------
    model
        What readers call the model.
    task
        The task.
    poolings
        What :func:`table_4_poolings` returned.
    """
    heads = poolings["top heads"].title.removeprefix("heads ")
    return f"{model}, {task.title}: best layer {poolings['best layer'].title}, top heads {heads}."


def tuning_text(done: Mapping[str, Mapping[str, Runs]]) -> str:
    """Say how the models of Table 4 were tuned.

    Parameters
    ----------
    done
        Tuned models by model and task.

    Returns
    -------
    str
        The settings and the time that was spent.
    """
    runs = [
        tuned
        for tasks in done.values()
        for states in tasks.values()
        for several in states.values()
        for tuned in several
    ]
    first = runs[0]
    sizes = sorted({tuned.examples["train"] for tuned in runs})
    examples = " to ".join(f"{size:,}" for size in dict.fromkeys((sizes[0], sizes[-1])))
    return (
        "A linear layer, tanh, dropout 0.1 and a classifier on top, all weights trainable; batches "
        f"of {first.settings.batch_size}, {counted(first.settings.epochs, 'epoch')}, learning rate "
        f"{first.settings.learning_rate:g}, {examples} training examples; "
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
