"""Small heat maps of probing scores, in a grid or in rows; what the figures of probes share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from headscope.figures.squares import coloured
from headscope.figures.style import short_model
from headscope.figures.tidy import tidy
from headscope.results import Atlas
from headscope.stats.probing import probing_of, task_titles
from headscope.tasks.metrics import metric_title

WIDE, NARROW = 144, 96
"""Pixels of a map across, in figures of few and of many maps.

Both can be divided by 4, 6, 8, 12 and 16 heads, so that squares have no seams.
"""
COLUMNS, FEW = 5, 4
SORTED, UNSORTED = "heads, best first", "head"

Range = tuple[float, float]


@dataclass(frozen=True)
class Panel:
    """One small heat map.

    Parameters
    ----------
    title : str
        Above the map.
    frame : DataFrame
        With the columns layer, head, name, value and place (the rank in its layer), and low and
        high where they are known.
    unit : str
        What the values are.
    domain : pair of float
        The ends of the colour scale.
    remark : str
        Under the title.
    """

    title: str
    frame: pd.DataFrame
    unit: str
    domain: Range
    remark: str = ""


def model_name(results: Atlas) -> str:
    """Return a model's name for a title."""
    return short_model(str(results.provenance["model"]["name"]))


def score_range(arrays: Sequence[xr.DataArray]) -> Range:
    """Return the smallest and the largest known value; a single value gets some room around it.

    Examples
    --------
    >>> score_range([xr.DataArray([0.5, 0.75]), xr.DataArray([np.nan])])
    (0.5, 0.75)
    """
    known = np.concatenate([array.values[np.isfinite(array.values)] for array in arrays])
    if not known.size:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    return (low, high) if high > low else (low - 0.01, high + 0.01)


def task_panel(results: Atlas, task: str, domain: Range | None = None, *, title: str = "") -> Panel:
    """Return the map of one task's test scores."""
    data = probing_of(results).sel(task=task)
    metric, majority = str(data["metric"].values), float(data["majority"])
    remark = metric_title(metric)
    if metric == "accuracy" and np.isfinite(majority):
        remark = f"accuracy; majority class {majority:.2f}"
    values = data[["test", "low", "high"]].rename(test="value")
    return value_panel(
        values, title or task_titles(results)[task], metric_title(metric), domain, remark
    )


def value_panel(
    values: xr.Dataset, title: str, unit: str, domain: Range | None = None, remark: str = ""
) -> Panel:
    """Return the map of any values by layer and head."""
    frame = tidy(values)
    ranks = frame.groupby("layer")["value"].rank(
        method="first", ascending=False, na_option="bottom"
    )
    frame["place"] = ranks.astype(int)
    return Panel(title, frame, unit, domain or score_range([values["value"]]), remark)


def wrapped(panels: Sequence[Panel], *, ordered: bool) -> Any:
    """Draw maps in rows of at most five, the last row as full as the others if possible."""
    lines = -(-len(panels) // COLUMNS)
    across = -(-len(panels) // lines)
    charts = [
        _map(
            panel,
            WIDE,
            ordered=ordered,
            first=place % across == 0,
            last=place + across >= len(panels),
        )
        for place, panel in enumerate(panels)
    ]
    return alt.concat(*charts, columns=across, spacing={"row": 14, "column": 18}).resolve_scale(
        color="independent", x="independent", y="independent"
    )


def in_rows(rows: Mapping[str, Sequence[Panel]], *, ordered: bool) -> Any:
    """Draw a row of maps below each name; maps are equally wide, so columns line up."""
    lines = []
    for place, (name, panels) in enumerate(rows.items()):
        width = WIDE if len(panels) <= FEW else NARROW
        last = place == len(rows) - 1
        charts = [
            _map(panel, width, ordered=ordered, first=column == 0, last=last)
            for column, panel in enumerate(panels)
        ]
        heading = alt.TitleParams(
            name,
            fontSize=12,
            anchor="start",
            frame="bounds",
            offset=4,
            limit=(width + 56) * max(len(panels), 2),
        )
        row = alt.hconcat(*charts, spacing=16).properties(title=heading)
        lines.append(row.resolve_scale(color="independent", x="independent", y="independent"))
    return alt.vconcat(*lines, spacing=14)


def _map(panel: Panel, width: int, *, ordered: bool, first: bool, last: bool) -> Any:
    """Draw a map with its own legend; axes are named only on the left and at the bottom."""
    layers, heads = panel.frame["layer"].nunique(), panel.frame["head"].nunique()
    height = max(60, layers * min(13, max(7, 160 // layers)))
    column, words = ("place", SORTED) if ordered else ("head", UNSORTED)
    small: dict[str, Any] = {
        "labelFontSize": 8,
        "labelSeparation": 2,
        "titleFontSize": 9,
        "ticks": False,
        "domain": False,
        "labelOverlap": True,
        "titlePadding": 3,
    }
    base = alt.Chart(panel.frame, width=heads * max(2, round(width / heads)), height=height).encode(
        x=alt.X(
            f"{column}:O",
            title=words if last else None,
            axis=alt.Axis(labelAngle=0, labels=not ordered, **small),
            scale=alt.Scale(padding=0),
        ),
        y=alt.Y(
            "layer:O",
            title="layer" if first else None,
            sort="descending",
            axis=alt.Axis(**small),
            scale=alt.Scale(padding=0),
        ),
    )
    heading = alt.TitleParams(
        panel.title,
        subtitle=[panel.remark] if panel.remark else alt.Undefined,
        fontSize=11,
        subtitleFontSize=9,
        subtitleColor="#555",
        anchor="middle",
        limit=width + 30,
        offset=3,
    )
    squares = coloured(base, _colour(panel, height), _tooltip(panel))
    return alt.layer(*squares).properties(title=heading)


def _colour(panel: Panel, height: int) -> alt.Color:
    """Return the colour scale of a map, with a legend as high as the map."""
    low, high = panel.domain
    legend = alt.Legend(
        title=None,
        gradientLength=height,
        gradientThickness=7,
        labelFontSize=8,
        values=[low, (low + high) / 2, high],
        format=".3f" if high - low < 0.02 else ".2f",
        offset=5,
    )
    scale = alt.Scale(scheme="viridis", domain=[low, high])
    return alt.Color("value:Q", scale=scale, legend=legend)


def _tooltip(panel: Panel) -> list[Any]:
    """Show head, value and interval."""
    shown = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("value:Q", format=".3f", title=panel.unit),
    ]
    if "low" in panel.frame:
        shown += [
            alt.Tooltip("low:Q", format=".3f", title="95 % from"),
            alt.Tooltip("high:Q", format=".3f", title="to"),
        ]
    return shown
