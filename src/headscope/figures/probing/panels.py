"""Small heat maps of probing scores, in a grid or in rows; what the figures of probes share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import unknown
from headscope.figures.squares import coloured
from headscope.figures.style import short_model
from headscope.figures.tidy import tidy
from headscope.results import Atlas
from headscope.stats.tables.probing import probing_of, task_titles
from headscope.tasks.metrics import metric_title

WIDE, NARROW = 144, 96
"""Pixels of a map across, in figures of few and of many maps.

Both can be divided by 4, 6, 8, 12 and 16 heads, so that squares have no seams.
"""
COLUMNS = 5
"""The most maps of a line."""
SORTED, UNSORTED = "heads, best first", "head"

Range = tuple[float, float]
Colours = Literal["own", "shared", "majority"]
"""The colour range of a map: its own smallest to its own largest value; one range for all maps of
a task; or one for all maps of a task that begins at the majority class's share."""
RANGES: dict[str, str] = {
    "own": "each map has its own colour range",
    "shared": "all maps of a task have the same colour range",
    "majority": "all maps of a task have the same colour range, from the majority class up",
}
MARK = "dot: the head's 95 % interval includes the majority class"


def check_colours(colours: str) -> None:
    """Refuse a colour range that does not exist."""
    if colours not in get_args(Colours):
        raise unknown("colour range", colours, get_args(Colours))


@dataclass(frozen=True)
class Panel:
    """One small heat map.

    Parameters
    ----------
    title : str
        Above the map.
    frame : DataFrame
        With the columns layer, head, name, value and place (the rank in its layer); low and high
        where they are known; and chance (whether low to high includes the majority class).
    unit : str
        What the values are.
    domain : pair of float
        The ends of the colour scale.
    remarks : tuple of str
        Lines under the title.
    """

    title: str
    frame: pd.DataFrame
    unit: str
    domain: Range
    remarks: tuple[str, ...] = ()

    @property
    def marked(self) -> bool:
        """Whether any head is marked as no better than the majority class."""
        return "chance" in self.frame and bool(self.frame["chance"].any())


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


def task_range(models: Sequence[Atlas], task: str, colours: Colours) -> Range | None:
    """Return the colour range of a task's maps; None where each map has its own.

    A range that begins at the majority class falls back on the smallest value where the majority
    is unknown (correlations) or no head is above it.
    """
    if colours == "own":
        return None
    data = [probing_of(results).sel(task=task) for results in models]
    low, high = score_range([one["test"] for one in data])
    majority = min(float(one["majority"]) for one in data)
    return (majority, high) if colours == "majority" and majority < high else (low, high)


def task_panel(results: Atlas, task: str, domain: Range | None = None, *, title: str = "") -> Panel:
    """Return the map of one task's test scores."""
    data = probing_of(results).sel(task=task)
    metric, majority = str(data["metric"].values), float(data["majority"])
    remarks = [metric_title(metric)]
    values = data[["test", "low", "high"]].rename(test="value")
    if metric == "accuracy" and np.isfinite(majority):
        digits = 2 if majority >= 0.01 else 3
        remarks = [f"accuracy; majority {majority:.{digits}f}"]
        values["chance"] = (values["low"] <= majority) & (majority <= values["high"])
    if "test_size" in data and np.isfinite(float(data["test_size"])):
        remarks.append(f"{int(data['test_size']):,} test examples")
    return value_panel(
        values, title or task_titles(results)[task], metric_title(metric), domain, *remarks
    )


def value_panel(
    values: xr.Dataset, title: str, unit: str, domain: Range | None = None, *remarks: str
) -> Panel:
    """Return the map of any values by layer and head."""
    frame = tidy(values)
    ranks = frame.groupby("layer")["value"].rank(
        method="first", ascending=False, na_option="bottom"
    )
    frame["place"] = ranks.astype(int)
    return Panel(title, frame, unit, domain or score_range([values["value"]]), remarks)


def legend_lines(panels: Sequence[Panel], colours: str) -> list[str]:
    """Say what colours and marks mean, for the figure's subtitle."""
    return [RANGES[colours], MARK if any(panel.marked for panel in panels) else ""]


def wrapped(panels: Sequence[Panel], *, ordered: bool, columns: int = COLUMNS) -> Any:
    """Draw maps in lines of at most five, the last line as full as the others if possible."""
    return _lines(panels, WIDE, ordered=ordered, bottom=True, columns=columns)


def _lines(
    panels: Sequence[Panel], width: int, *, ordered: bool, bottom: bool, columns: int
) -> Any:
    """Draw maps in as few lines as possible, equally full."""
    lines = -(-len(panels) // columns)
    across = -(-len(panels) // lines)
    charts = [
        _map(
            panel,
            width,
            ordered=ordered,
            first=place % across == 0,
            last=bottom and place + across >= len(panels),
        )
        for place, panel in enumerate(panels)
    ]
    return alt.concat(*charts, columns=across, spacing={"row": 14, "column": 18}).resolve_scale(
        color="independent", x="independent", y="independent"
    )


def in_rows(rows: Mapping[str, Sequence[Panel]], *, ordered: bool, columns: int = COLUMNS) -> Any:
    """Draw the maps of each name below it, in lines of at most five.

    Maps are equally wide, so columns line up.
    """
    drawn = []
    for place, (name, panels) in enumerate(rows.items()):
        width = WIDE if min(len(panels), columns) <= COLUMNS else NARROW
        across = min(len(panels), columns)
        heading = alt.TitleParams(
            name,
            fontSize=12,
            anchor="start",
            frame="bounds",
            offset=4,
            limit=(width + 56) * max(across, 2),
        )
        bottom = place == len(rows) - 1
        row = _lines(panels, width, ordered=ordered, bottom=bottom, columns=columns)
        drawn.append(row.properties(title=heading))
    return alt.vconcat(*drawn, spacing=14)


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
        subtitle=list(panel.remarks) if panel.remarks else alt.Undefined,
        fontSize=11,
        subtitleFontSize=9,
        subtitleColor="#555",
        anchor="middle",
        limit=width + 30,
        offset=3,
    )
    squares = coloured(base, _colour(panel, height), _tooltip(panel))
    if panel.marked:
        squares.append(_marks(base, _tooltip(panel)))
    return alt.layer(*squares).properties(title=heading)


def _marks(base: Any, tooltip: list[Any]) -> Any:
    """Dot the heads that may be no better than the majority class; dots show on every colour."""
    chance = base.transform_filter("datum.chance")
    return chance.mark_point(
        shape="circle", filled=True, size=7, color="white", stroke="#222", strokeWidth=0.6
    ).encode(tooltip=tooltip)


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
    scale = alt.Scale(scheme="viridis", domain=[low, high], clamp=True)
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
