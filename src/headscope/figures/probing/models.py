"""Probes of several models, or of one model before and after tuning (Jo and Myaeng 2020).

Their Figures 3, 6 and 7 have models in rows and tasks in columns; Figure 4 is of one model in
several states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from headscope.errors import ResultsError, UserError, unknown
from headscope.figures.probing.maps import TITLE
from headscope.figures.probing.panels import (
    COLUMNS,
    Colours,
    Panel,
    check_colours,
    in_rows,
    legend_lines,
    score_range,
    task_panel,
    task_range,
)
from headscope.figures.style import styled
from headscope.results import Atlas
from headscope.stats.tables.probing import probing_of, task_titles

MOST = 6
"""The most maps of a line before and after tuning: two models in three states, as in the paper."""


def probe_grid(
    models: Mapping[str, Atlas],
    tasks: Sequence[str] | None = None,
    *,
    sorted: bool = True,
    colours: Colours = "own",
    columns: int = COLUMNS,
) -> Any:
    """Draw probes of several models: models below each other, their tasks side by side.

    Parameters
    ----------
    models : mapping of str to Atlas
        Results of probes, by the name of the model.
    tasks : sequence of str, optional
        The tasks; by default those that all models were probed with.
    sorted : bool
        Whether the heads of each layer are sorted, the best on the left.
    colours : {"own", "shared", "majority"}
        ``"own"`` gives each map its own colour range, because models and tasks differ more than
        heads do. ``"shared"`` gives all maps of a task one range, so that models can be compared.
        ``"majority"`` lets that range begin at the share of the majority class.
    columns : int
        The most maps of a line.

    Returns
    -------
    altair chart

    Raises
    ------
    UserError
        If no results are given, a model was not probed with one of the tasks, or there is no such
        colour range.
    ResultsError
        If the models have no task in common.
    """
    check_colours(colours)
    names = common_tasks(models, tasks)
    every = list(models.values())
    ranges = {task: task_range(every, task, colours) for task in names}
    rows = {
        model: [task_panel(results, task, ranges[task]) for task in names]
        for model, results in models.items()
    }
    lines = legend_lines([panel for row in rows.values() for panel in row], colours)
    return styled(in_rows(rows, ordered=sorted, columns=columns), TITLE, *lines)


States = Mapping[str, Atlas]
"""Results of probes of one model by state, such as before and after tuning."""


def before_after(models: Mapping[str, Mapping[str, States]], *, sorted: bool = True) -> Any:
    """Draw probes of models in several states as one grid: tasks in rows, states in columns.

    Parameters
    ----------
    models : mapping
        By model and task name: results of probes by state, e.g. before tuning, tuned from the last
        layer, tuned from the top heads. The maps of one model and task share one colour range.
    sorted : bool
        Whether the heads of each layer are sorted, the best on the left.

    Returns
    -------
    altair chart
        The columns of one model stand beside those of the next.

    Raises
    ------
    UserError
        If no results are given, or a state was not probed with its task.
    ResultsError
        If the states of a model have different layers or heads.
    """
    tasks = list(dict.fromkeys(task for given in models.values() for task in given))
    if not tasks:
        raise UserError("there is nothing to draw: no results were given")
    rows: dict[str, list[Panel]] = {}
    for task in tasks:
        for model, given in models.items():
            states = given.get(task, {})
            if states:
                common_tasks(states, [task])
                _check_shapes(states)
                title = task_titles(next(iter(states.values())))[task]
                domain = score_range([_scores(results, task) for results in states.values()])
                named = f"{model}: " if len(models) > 1 else ""
                rows.setdefault(title, []).extend(
                    task_panel(results, task, domain, title=f"{named}{state}")
                    for state, results in states.items()
                )
    across = max(len(panels) for panels in rows.values())
    columns = (
        across if across <= MOST else max(len(one) for m in models.values() for one in m.values())
    )
    lines = legend_lines([panel for row in rows.values() for panel in row], "shared")
    return styled(
        in_rows(rows, ordered=sorted, columns=columns),
        f"{TITLE}, before and after tuning",
        "all maps of one model and task have the same colour range",
        *lines[1:],
    )


def _check_shapes(states: Mapping[str, Atlas]) -> None:
    """Refuse states of models that differ in layers or heads."""
    sizes = {name: probing_of(results).sizes for name, results in states.items()}
    shapes = {name: f"{size['layer']} × {size['head']}" for name, size in sizes.items()}
    if len(set(shapes.values())) > 1:
        given = ", ".join(f"{name}: {shape}" for name, shape in shapes.items())
        raise ResultsError(
            f"the states must be of one model, with the same layers and heads; got {given}",
            hint="draw different models with probe_grid",
        )


def common_tasks(models: Mapping[str, Atlas], tasks: Sequence[str] | None) -> list[str]:
    """Return the tasks to draw: those asked for, which all must have, or those that all have."""
    if not models:
        raise UserError("there is nothing to draw: no results were given")
    there = [list(task_titles(results)) for results in models.values()]
    common = [task for task in there[0] if all(task in names for names in there)]
    wrong = next((task for task in tasks or () if task not in common), None)
    if wrong is not None:
        raise unknown("task", wrong, common)
    if not common:
        raise ResultsError(
            "the results have no task in common", hint="probe all models with the same tasks"
        )
    return list(tasks) if tasks else common


def _scores(results: Atlas, task: str) -> xr.DataArray:
    return probing_of(results)["test"].sel(task=task)
