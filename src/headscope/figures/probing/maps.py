"""What every head of one model knows of every task (Jo and Myaeng 2020, Figures 3 and 7)."""

from __future__ import annotations

from typing import Any

import xarray as xr

from headscope.figures.probing.panels import (
    RANGES,
    Colours,
    check_colours,
    legend_lines,
    model_name,
    task_panel,
    task_range,
    value_panel,
    wrapped,
)
from headscope.figures.style import note, styled
from headscope.results import Atlas
from headscope.stats.tables.probing import probing_of, task_titles

TITLE = "Test scores of probes on heads"


def task_maps(results: Atlas, *, ordered: bool = True, colours: Colours = "own") -> Any:
    """Draw one heat map per task.

    Parameters
    ----------
    results : Atlas
        Results of a probe.
    ordered : bool
        Whether the heads of each layer are sorted, the best on the left.
    colours : {"own", "majority"}
        Where the colour range of a map begins: at its smallest value or at the majority class.

    Returns
    -------
    altair chart

    Raises
    ------
    UserError
        If there is no such colour range.
    """
    check_colours(colours)
    panels = [
        task_panel(results, task, task_range([results], task, colours))
        for task in task_titles(results)
    ]
    lines = legend_lines(panels, colours)
    return styled(wrapped(panels, ordered=ordered), TITLE, model_name(results), *lines)


def probe(results: Atlas) -> Any:
    """Draw one map per task with sorted heads."""
    return task_maps(results)


def probe_unsorted(results: Atlas) -> Any:
    """Draw one map per task with every head in its own column."""
    return task_maps(results, ordered=False)


def probe_from_majority(results: Atlas) -> Any:
    """Draw one map per task with sorted heads, coloured from the majority class up."""
    return task_maps(results, colours="majority")


def probe_selectivity(results: Atlas) -> Any:
    """Draw one map per task: the score minus that of a probe trained on shuffled labels."""
    data = probing_of(results)
    title, name = "Scores of heads above shuffled labels", model_name(results)
    if not bool(data["control"].notnull().any()):
        return note("no probe was trained on shuffled labels", title, name)
    gain = xr.Dataset({"value": data["test"] - data["control"]})
    panels = [
        value_panel(gain.sel(task=task), shown, "test score minus control")
        for task, shown in task_titles(results).items()
    ]
    unit = "test score minus that with shuffled labels"
    return styled(wrapped(panels, ordered=False), title, f"{name}; {unit}", RANGES["own"])
