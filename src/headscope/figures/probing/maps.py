"""What every head of one model knows of every task (Jo and Myaeng 2020, Figures 3 and 7)."""

from __future__ import annotations

from typing import Any

import xarray as xr

from headscope.figures.probing.panels import model_name, task_panel, value_panel, wrapped
from headscope.figures.style import note, styled
from headscope.results import Atlas
from headscope.stats.probing import probing_of, task_titles

TITLE = "Test scores of probes on heads"
OWN = "each map has its own colour range"


def task_maps(results: Atlas, *, ordered: bool = True) -> Any:
    """Draw one heat map per task.

    Parameters
    ----------
    results : Atlas
        Results of a probe.
    ordered : bool
        Whether the heads of each layer are sorted, the best on the left.

    Returns
    -------
    altair chart
    """
    panels = [task_panel(results, task) for task in task_titles(results)]
    return styled(wrapped(panels, ordered=ordered), TITLE, f"{model_name(results)}; {OWN}")


def probe(results: Atlas) -> Any:
    """Draw one map per task with sorted heads."""
    return task_maps(results)


def probe_unsorted(results: Atlas) -> Any:
    """Draw one map per task with every head in its own column."""
    return task_maps(results, ordered=False)


def probe_selectivity(results: Atlas) -> Any:
    """Draw one map per task: the score minus that of a probe trained on shuffled labels."""
    data = probing_of(results)
    title, name = "Selectivity of heads", model_name(results)
    if not bool(data["control"].notnull().any()):
        return note("no probe was trained on shuffled labels", title, name)
    gain = xr.Dataset({"value": data["test"] - data["control"]})
    panels = [
        value_panel(gain.sel(task=task), shown, "test score minus control")
        for task, shown in task_titles(results).items()
    ]
    unit = "test score minus that with shuffled labels"
    return styled(wrapped(panels, ordered=False), title, f"{name}; {unit}", OWN)
