"""Heat maps of what every head knows of every task (Jo and Myaeng 2020, Fig. 3, 4, 6 and 7): one model, several models, or one model before and after tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import ResultsError, UserError, unknown
from headscope.figures.gallery import figure
from headscope.figures.roles import note, titled
from headscope.figures.style import GREY
from headscope.results import Results
from headscope.stats.probing import probing_of, task_titles
from headscope.tasks.metrics import metric_title

WIDE, NARROW = 144, 96
"""Pixels of a heat map across, in figures of one model and of several: both can be divided by 4, 6, 8, 12 and 16 heads, so that squares have no seams."""
COLUMNS, FEW = 5, 4
SORTED, UNSORTED = "heads, best first", "head"
OWN, SHARED = "every map has a colour range of its own", "one colour range for all maps of a column"

Range = tuple[float, float]


@dataclass(frozen=True)
class Panel:
    """One heat map: ``frame`` has layer, head, name, value, and low and high where they are known."""

    title: str
    frame: pd.DataFrame
    unit: str
    domain: Range
    remark: str = ""


def model_name(results: Results) -> str:
    """A model's name for a title: a folder by its last part, a hub id whole."""
    name = str(results.provenance["model"]["name"]).rstrip("/")
    return name if name.count("/") < 2 else name.rsplit("/", 1)[-1]


@figure(
    "probe",
    title="What each head knows of each task",
    caption="As Jo and Myaeng 2020, Figure 3: the test score of a logistic regression on each head's output. Heads of a layer are sorted, the best at the left; layer 1 is at the "
    "bottom; every map has a colour range of its own. Hover for head and interval. Grey: not defined.",
    needs=("probe",),
)
def _probe(results: Results) -> Any:
    return task_maps(results)


@figure(
    "probe-unsorted",
    title="What each head knows of each task, heads in their places",
    caption="As Jo and Myaeng 2020, Figure 7: the same with every head in its own column, so that one head can be followed through the tasks.",
    needs=("probe",),
)
def _unsorted(results: Results) -> Any:
    return task_maps(results, ordered=False)


@figure(
    "probe-selectivity",
    title="Scores of heads less those of shuffled labels",
    caption="Test score less the score of a probe that was trained on shuffled labels (Hewitt and Liang 2019 call such a difference selectivity). Heads in their places.",
    needs=("probe",),
)
def _selectivity(results: Results) -> Any:
    data = probing_of(results)
    title, name = "Selectivity of heads", model_name(results)
    if not bool(data["control"].notnull().any()):
        return note("no probe was trained on shuffled labels", title, name)
    gain = xr.Dataset({"value": data["test"] - data["control"]})
    panels = [
        _panel(gain.sel(task=task), shown, "test − control")
        for task, shown in task_titles(results).items()
    ]
    return titled(_wrapped(panels, ordered=False), title, f"{name}; {OWN}")


def task_maps(results: Results, *, ordered: bool = True) -> Any:
    """One heat map a task, for one model; ``ordered`` puts the best head of each layer at the left."""
    panels = [_task_panel(results, task) for task in task_titles(results)]
    return titled(
        _wrapped(panels, ordered=ordered), "Probes of heads", f"{model_name(results)}; {OWN}"
    )


def probe_grid(
    models: Mapping[str, Results],
    tasks: Sequence[str] | None = None,
    *,
    sorted: bool = True,
    shared: bool = False,
) -> Any:
    """One row a model, one column a task (Figures 3, 6 and 7). ``tasks`` are by default those that all models were probed with.

    Every map has its own colour range, as models and tasks differ more than the heads of one; ``shared`` gives the maps of a column one range, to compare models.
    """
    names = _common(models, tasks)
    ranges = (
        {task: _range([_values(results, task) for results in models.values()]) for task in names}
        if shared
        else {}
    )
    rows = {
        model: [_task_panel(results, task, ranges.get(task)) for task in names]
        for model, results in models.items()
    }
    return titled(_rows(rows, ordered=sorted), "Probes of heads", SHARED if shared else OWN)


def before_after(
    states: Mapping[str, Results], tasks: Sequence[str] | None = None, *, sorted: bool = True
) -> Any:
    """One row a task, one column a state of one model: before tuning, tuned from the last layer, tuned from the top heads (Figure 4). The maps of a row share one colour range."""
    names = _common(states, tasks)
    shapes = {
        name: (probing_of(results).sizes["layer"], probing_of(results).sizes["head"])
        for name, results in states.items()
    }
    if len(set(shapes.values())) > 1:
        told = ", ".join(f"{name}: {layers} × {heads}" for name, (layers, heads) in shapes.items())
        raise ResultsError(
            f"the states must be of one model, with the same layers and heads; got {told}",
            hint="draw different models with probe_grid",
        )
    ranges = {
        task: _range([_values(results, task) for results in states.values()]) for task in names
    }
    titles = task_titles(next(iter(states.values())))
    rows = {
        titles[task]: [
            _task_panel(results, task, ranges[task], title=state)
            for state, results in states.items()
        ]
        for task in names
    }
    return titled(
        _rows(rows, ordered=sorted),
        "Probes of heads before and after tuning",
        "one colour range for all maps of a row",
    )


def _common(models: Mapping[str, Results], tasks: Sequence[str] | None) -> list[str]:
    """The tasks to draw: those asked for, which all must have, or those that all have."""
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


def _values(results: Results, task: str) -> xr.DataArray:
    return probing_of(results)["test"].sel(task=task)


def _range(arrays: Sequence[xr.DataArray]) -> Range:
    """From the smallest to the largest known value; around a single value, so that a colour scale has two ends."""
    known = np.concatenate([array.values[np.isfinite(array.values)] for array in arrays])
    if not known.size:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    return (low, high) if high > low else (low - 0.01, high + 0.01)


def _task_panel(
    results: Results, task: str, domain: Range | None = None, *, title: str = ""
) -> Panel:
    data = probing_of(results).sel(task=task)
    metric = str(data["metric"].values)
    values = data[["test", "low", "high"]].rename(test="value")
    return _panel(
        values,
        title or task_titles(results)[task],
        metric_title(metric),
        domain,
        _remark(data),
    )


def _remark(data: xr.Dataset) -> str:
    """What the scores of a task are to be held against."""
    metric, majority = str(data["metric"].values), float(data["majority"])
    return (
        f"majority {majority:.2g}"
        if metric == "accuracy" and np.isfinite(majority)
        else metric_title(metric)
    )


def _panel(
    values: xr.Dataset, title: str, unit: str, domain: Range | None = None, remark: str = ""
) -> Panel:
    frame = values.reset_coords(drop=True).to_dataframe().reset_index()
    frame["name"] = frame["layer"].astype(str) + "-" + frame["head"].astype(str)
    frame["place"] = (
        frame.groupby("layer")["value"]
        .rank(method="first", ascending=False, na_option="bottom")
        .astype(int)
    )
    return Panel(title, frame, unit, domain or _range([values["value"]]), remark)


def _wrapped(panels: Sequence[Panel], *, ordered: bool) -> Any:
    """Maps in rows of at most five, the last row as full as the others if that can be."""
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


def _rows(rows: Mapping[str, Sequence[Panel]], *, ordered: bool) -> Any:
    """A row of maps under each name. Maps are equally wide, so that columns stand under each other."""
    lines = []
    for place, (name, panels) in enumerate(rows.items()):
        width = WIDE if len(panels) <= FEW else NARROW
        charts = [
            _map(panel, width, ordered=ordered, first=column == 0, last=place == len(rows) - 1)
            for column, panel in enumerate(panels)
        ]
        row = alt.hconcat(*charts, spacing=16).resolve_scale(
            color="independent", x="independent", y="independent"
        )
        lines.append(
            row.properties(
                title=alt.TitleParams(
                    name,
                    fontSize=12,
                    anchor="start",
                    frame="bounds",
                    offset=4,
                    limit=(width + 56) * max(len(panels), 2),
                )
            )
        )
    return alt.vconcat(*lines, spacing=14)


def _map(panel: Panel, width: int, *, ordered: bool, first: bool, last: bool) -> Any:
    """A small heat map with its own legend; the axes are named only at the left and at the bottom."""
    layers, heads = panel.frame["layer"].nunique(), panel.frame["head"].nunique()
    height = max(60, layers * min(13, max(7, 160 // layers)))
    column, told = ("place", SORTED) if ordered else ("head", UNSORTED)
    small: dict[str, Any] = {
        "labelFontSize": 8,
        "titleFontSize": 9,
        "ticks": False,
        "domain": False,
        "labelOverlap": True,
        "titlePadding": 3,
    }
    base = alt.Chart(panel.frame, width=heads * max(2, round(width / heads)), height=height).encode(
        x=alt.X(
            f"{column}:O",
            title=told if last else None,
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
    low, high = panel.domain
    places = ".3f" if high - low < 0.02 else ".2f"
    legend = alt.Legend(
        title=None,
        gradientLength=height,
        gradientThickness=7,
        labelFontSize=8,
        values=[low, (low + high) / 2, high],
        format=places,
        offset=5,
    )
    shown = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("value:Q", format=".3f", title=panel.unit),
    ]
    if "low" in panel.frame:
        shown += [
            alt.Tooltip("low:Q", format=".3f", title="95 % from"),
            alt.Tooltip("high:Q", format=".3f", title="to"),
        ]
    scale = alt.Scale(scheme="viridis", domain=[low, high])
    squares = alt.layer(
        base.transform_filter("!isValid(datum.value)")
        .mark_rect(color=GREY)
        .encode(tooltip=shown[:1]),
        base.transform_filter("isValid(datum.value)")
        .mark_rect()
        .encode(color=alt.Color("value:Q", scale=scale, legend=legend), tooltip=shown),
    )
    text = alt.TitleParams(
        panel.title,
        subtitle=[panel.remark] if panel.remark else [],
        fontSize=11,
        subtitleFontSize=9,
        subtitleColor="#555",
        anchor="middle",
        limit=width + 30,
        offset=3,
    )
    return squares.properties(title=text)
