"""Maps of all heads, one per task (Kovaleva et al. 2019, Figures 5, 6 and 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr

from headscope.figures.ablation.scores import way_text
from headscope.figures.grids import SPECIAL, Scale, heat_grid
from headscope.figures.style import subjects
from headscope.results import Atlas
from headscope.tasks.metrics import metric_title

ALPHA = 0.05
"""Heads whose corrected p is smaller are framed."""
WIDEST = 4
"""Maps in a row."""


def similarity_by_task(results: Mapping[str, Atlas]) -> Any:
    """Draw how similar each head's maps are before and after fine-tuning (Figure 5).

    Parameters
    ----------
    results : mapping of str to Atlas
        Comparisons of two models, by the name of the task.

    Returns
    -------
    altair chart
        One map per task, on one scale from 0 to 1.
    """
    values = by_task({name: one["change"]["mean"] for name, one in results.items()})
    return heat_grid(
        values,
        "task",
        title="Similarity of maps before and after fine-tuning",
        subtitle=subjects([one.provenance for one in results.values()]),
        unit="cosine, 1 = unchanged",
        columns=min(WIDEST, len(results)),
        scale="one",
    )


def special_by_task(results: Mapping[str, Atlas]) -> Any:
    """Draw attention to [SEP] and [CLS], one column per task (Figure 6).

    Parameters
    ----------
    results : mapping of str to Atlas
        Surveys of fine-tuned models with the measure ``feature``, by the name of the task.

    Returns
    -------
    altair chart
        [SEP] above, [CLS] below, all on one scale.
    """
    maps = {
        f"{SPECIAL[token]}, {name}": one["feature"]["mean"].sel(feature=token, drop=True)
        for token in ("sep", "cls")
        for name, one in results.items()
    }
    return heat_grid(
        by_task(maps),
        "task",
        title="Attention to [SEP] (above) and [CLS] (below)",
        subtitle=subjects([one.provenance for one in results.values()]),
        unit="share of attention",
        columns=len(results),
        scale="one",
    )


def heads_off_by_task(results: Mapping[str, Atlas], *, scale: Scale = "each") -> Any:
    """Draw what disabling each head does to the score (Figure 8).

    Parameters
    ----------
    results : mapping of str to Atlas
        Ablations, by the name of the task.
    scale : {"each", "one"}
        Tasks have different metrics, so each map has its own scale by default.

    Returns
    -------
    altair chart
        One map per task: the change from the baseline in points; heads with a corrected p below
        0.05 are framed.
    """
    changes, framed = {}, {}
    for name, one in results.items():
        data = one["head_off"]
        sign = 1.0 if data.attrs["better"] == "higher" else -1.0
        metric = metric_title(str(data.attrs["metric"]))
        label = f"{name}: {metric} {100 * float(data.attrs['baseline']):.1f}"
        changes[label] = 100 * sign * data["difference"]
        framed[label] = data["p_corrected"] < ALPHA
    way = way_text(str(next(iter(results.values()))["head_off"].attrs["way"]))
    return heat_grid(
        by_task(changes),
        "task",
        title="Gain from disabling one head",
        subtitle=f"{way}; framed: p < {ALPHA:g}, corrected",
        unit="points above the score with all heads",
        diverging=True,
        columns=min(WIDEST, len(results)),
        scale=scale,
        framed=by_task(framed),
    )


def by_task(values: Mapping[str, xr.DataArray]) -> xr.DataArray:
    """Put arrays by layer and head side by side.

    Examples
    --------
    >>> grid = xr.DataArray([[0.5, 0.25]], {"layer": [1], "head": [1, 2]}, ("layer", "head"))
    >>> by_task({"RTE": grid, "MRPC": grid}).dims
    ('task', 'layer', 'head')
    """
    plain = [one.reset_coords(drop=True) for one in values.values()]
    return xr.concat(plain, "task").assign_coords(task=list(values))
