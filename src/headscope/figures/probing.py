"""What heads know of probing tasks (Jo and Myaeng 2020)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import ResultsError, UserError, unknown
from headscope.figures.builders import (
    coloured,
    equal_lines,
    heading,
    known_range,
    named,
    panels,
    shade,
    tips,
)
from headscope.figures.gallery import figure
from headscope.figures.later import alt
from headscope.figures.style import BLUE, GREEN, ORANGE, note, short_model, styled, tidy
from headscope.results import Atlas
from headscope.stats.tables.probing import (
    best_layer,
    correlation,
    probing_of,
    syntactic_semantic,
    task_titles,
)
from headscope.tasks.metrics import metric_title

TITLE = "Test scores of probes on heads"
SIGNS = {"Pearson": "r", "Spearman": "ρ"}
COLUMNS = 5  # the most maps of a line
# The most maps of a line before and after tuning: two models in three states, as in the paper.
MOST = 6
# Pixels of a map across, in figures of few and of many maps. Both can be divided by 4, 6, 8, 12 and
# 16 heads, so that squares have no seams.
WIDE, NARROW = 144, 96
LABELS: dict[str, Any] = {"labelFontSize": 9, "titleFontSize": 10}

Range = tuple[float, float]
# The colour range of a map: its own smallest to its own largest value; one range for all maps of a
# task; or one for all maps of a task that begins at the majority class's share.
Colours = Literal["own", "shared", "majority"]
RANGES: dict[str, str] = {
    "own": "each map has its own colour range",
    "shared": "all maps of a task have the same colour range",
    "majority": "all maps of a task have the same colour range, from the majority class up",
}
NOTHING = "there is nothing to draw: no results were given"
# Results of probes of one model by state, such as before and after tuning.
States = Mapping[str, Atlas]
MARK = "dot: the head's 95 % interval includes the majority class"

# --- Small maps -----------------------------------------------------------------------------------


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
    low, high = known_range(np.concatenate([array.values.ravel() for array in arrays]))
    return (low, high) if high > low else (low - 0.01, high + 0.01)


def task_range(models: Sequence[Atlas], task: str, colours: Colours) -> Range | None:
    """Return the colour range of a task's maps; None where each map has its own.

    A range that begins at the majority class falls back on the smallest value where the majority
    is unknown (correlations) or no head is above it.
    """
    if colours == "own":
        return None
    data = [probing_of(results).sel(task=task) for results in models]
    low, high = score_range([scores["test"] for scores in data])
    majority = min(float(scores["majority"]) for scores in data)
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


def legend_lines(maps: Sequence[Panel], colours: str) -> list[str]:
    """Say what colours and marks mean, for the figure's subtitle."""
    return [RANGES[colours], MARK if any(panel.marked for panel in maps) else ""]


def wrapped(
    maps: Sequence[Panel],
    *,
    ordered: bool,
    columns: int = COLUMNS,
    width: int = WIDE,
    bottom: bool = True,
) -> Any:
    """Draw maps in as few lines as possible, equally full; the last line names the axis."""
    across = equal_lines(len(maps), columns)
    charts = [
        _map(
            panel,
            width,
            ordered=ordered,
            first=place % across == 0,
            last=bottom and place + across >= len(maps),
        )
        for place, panel in enumerate(maps)
    ]
    apart = dict.fromkeys(("color", "x", "y"), "independent")
    return panels(charts, across, {"row": 14, "column": 18}, **apart)


def in_rows(rows: Mapping[str, Sequence[Panel]], *, ordered: bool, columns: int = COLUMNS) -> Any:
    """Draw the maps of each name below it; maps are equally wide, so columns line up."""
    drawn = []
    for place, (name, maps) in enumerate(rows.items()):
        across = min(len(maps), columns)
        width = WIDE if across <= COLUMNS else NARROW
        limit = (width + 56) * max(across, 2)
        title = heading(name, fontSize=12, anchor="start", frame="bounds", offset=4, limit=limit)
        bottom = place == len(rows) - 1
        row = wrapped(maps, ordered=ordered, columns=columns, width=width, bottom=bottom)
        drawn.append(row.properties(title=title))
    return alt.vconcat(*drawn, spacing=14)


def _map(panel: Panel, width: int, *, ordered: bool, first: bool, last: bool) -> Any:
    """Draw a map with its own legend; axes are named only on the left and at the bottom."""
    layers, heads = panel.frame["layer"].nunique(), panel.frame["head"].nunique()
    height = max(60, layers * min(13, max(7, 160 // layers)))
    column, words = ("place", "heads, best first") if ordered else ("head", "head")
    small: dict[str, Any] = {
        "labelFontSize": 8,
        "labelSeparation": 2,
        "titleFontSize": 9,
        "ticks": False,
        "domain": False,
        "labelOverlap": True,
        "titlePadding": 3,
    }
    seamless = alt.Scale(padding=0)
    base = alt.Chart(panel.frame, width=heads * max(2, round(width / heads)), height=height).encode(
        x=alt.X(
            f"{column}:O",
            title=words if last else None,
            axis=alt.Axis(labelAngle=0, labels=not ordered, **small),
            scale=seamless,
        ),
        y=alt.Y(
            "layer:O",
            title="layer" if first else None,
            sort="descending",
            axis=alt.Axis(**small),
            scale=seamless,
        ),
    )
    low, high = panel.domain
    colour = shade(
        "value",
        panel.domain,
        scale={"clamp": True},
        title=None,
        gradientLength=height,
        gradientThickness=7,
        labelFontSize=8,
        values=[low, (low + high) / 2, high],
        format=".3f" if high - low < 0.02 else ".2f",
        offset=5,
    )
    ends = ("low .3f", "high .3f") if "low" in panel.frame else ()
    shown = tips("name", "value .3f", *ends, value=panel.unit)
    marks = coloured(base, colour, shown)
    if panel.marked:
        # White with an edge: such dots show on every colour.
        chance = base.transform_filter("datum.chance")
        dots = {"size": 7, "color": "white", "stroke": "#222", "strokeWidth": 0.6}
        marks.append(chance.mark_point(shape="circle", filled=True, **dots).encode(tooltip=shown))
    title = heading(panel.title, *panel.remarks, limit=width + 30, offset=3)
    return alt.layer(*marks).properties(title=title)


# --- One model ------------------------------------------------------------------------------------


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
    maps = [
        task_panel(results, task, task_range([results], task, colours))
        for task in task_titles(results)
    ]
    lines = legend_lines(maps, colours)
    return styled(wrapped(maps, ordered=ordered), TITLE, model_name(results), *lines)


@figure("probe", title="What each head knows of each task", needs=["probe"])
def probe(results: Atlas) -> Any:
    """After Jo and Myaeng 2020, Figure 3: the test score of a logistic regression on each head's
    output. The heads of a layer are sorted, best on the left; layer 1 is at the bottom; each map
    has its own colour range. Hover for head and interval. Grey: not defined.
    """
    return task_maps(results)


@figure(
    "probe-unsorted",
    title="What each head knows of each task, heads in their places",
    needs=["probe"],
)
def probe_unsorted(results: Atlas) -> Any:
    """After Jo and Myaeng 2020, Figure 7: the same scores with every head in its own column, so
    that one head can be followed through the tasks.
    """
    return task_maps(results, ordered=False)


@figure(
    "probe-majority",
    title="What each head knows of each task, above the majority class",
    needs=["probe"],
)
def probe_from_majority(results: Atlas) -> Any:
    """The same scores with colours that begin at the share of the majority class, so that a map on
    which no head knows anything is dark. A dot marks a head whose 95 % interval includes that
    share.
    """
    return task_maps(results, colours="majority")


@figure("probe-selectivity", title="Score of each head above shuffled labels", needs=["probe"])
def probe_selectivity(results: Atlas) -> Any:
    """The test score minus the score of a probe trained on shuffled labels. This is not the
    selectivity of Hewitt and Liang (2019), who compare with a control task. Heads are in their
    places.
    """
    data = probing_of(results)
    title, name = "Scores of heads above shuffled labels", model_name(results)
    if not bool(data["control"].notnull().any()):
        return note("no probe was trained on shuffled labels", title, name)
    gain = xr.Dataset({"value": data["test"] - data["control"]})
    maps = [
        value_panel(gain.sel(task=task), shown, "test score minus control")
        for task, shown in task_titles(results).items()
    ]
    unit = "test score minus that with shuffled labels"
    return styled(wrapped(maps, ordered=False), title, f"{name}; {unit}", RANGES["own"])


# The curves of concatenated heads and the lines of whole layers: colour, dashes, words.
LOOKS = {
    "top": (BLUE, [1, 0]),
    "greedy": (GREEN, [6, 2]),
    "last layer": ("#888888", [2, 2]),
    "best layer": (ORANGE, [8, 3]),
}
CHOSEN = {"top": "n best heads", "greedy": "n heads chosen greedily"}
APART = 1.5  # two labelled numbers of heads differ at least by this factor


@figure("top-n", title="Score of n concatenated heads", needs=["probe", "probe_layer", "probe_top"])
def top_curves(results: Atlas) -> Any:
    """After Jo and Myaeng 2020, §3.3: the heads with the best validation scores, and heads added
    one by one (greedy), each time the one of a shortlist with which validation gains most.
    Bands are 95 % intervals of the test score; horizontal lines are the hidden states of the last
    layer and of the layer with the best validation score.

    Parameters
    ----------
    results : Atlas
        Results of a probe, with heads, layers and concatenated heads.

    Returns
    -------
    altair chart
        The number of heads is on a logarithmic axis.
    """
    titles = task_titles(results)
    across = equal_lines(len(titles), COLUMNS)
    charts = []
    for place, (task, title) in enumerate(titles.items()):
        first, last = place % across == 0, place + across >= len(titles)
        panel = _top_panel(results, task, first=first, last=last)
        charts.append(panel.properties(title=heading(title, offset=4, limit=190)))
    scales = {"x": "independent", "y": "independent", "color": "shared", "strokeDash": "shared"}
    return styled(
        panels(charts, across, {"row": 16, "column": 20}, **scales),
        "Score of n concatenated heads",
        f"{model_name(results)}; y axes do not begin at 0",
    )


def _top_panel(results: Atlas, task: str, *, first: bool, last: bool) -> Any:
    """Draw the curves of one task, and the scores of whole layers as horizontal lines."""
    top = probing_of(results, "probe_top").sel(task=task)
    unit = metric_title(str(probing_of(results)["metric"].sel(task=task).values))
    title, own = (unit if first else None), alt.Scale(zero=False, nice=5)
    y = alt.Y("test:Q", title=title, scale=own, axis=alt.Axis(format=".2f", tickCount=5, **LABELS))
    counts = sorted(int(n) for n in top["n"].values)
    labelled = named_counts(counts, probing_of(results).sizes["head"])
    x = alt.X(
        "n:Q",
        title="heads" if last else None,
        scale=alt.Scale(type="log", base=2, domain=[counts[0], max(counts[-1], 2)], nice=False),
        axis=alt.Axis(values=labelled, format="d", grid=False, **LABELS),
    )
    legend = alt.Legend(
        orient="top",
        title=None,
        symbolStrokeWidth=2,
        symbolType="stroke",
        symbolOpacity=1,
        symbolSize=300,
        labelLimit=200,
        labelExpr=f"{json.dumps(CHOSEN)}[datum.label] || datum.label",
    )
    colours, dashes = ({name: look[part] for name, look in LOOKS.items()} for part in (0, 1))
    colour = alt.Color("what:N", scale=named(colours), legend=legend)
    dash = alt.StrokeDash("what:N", scale=named(dashes), legend=legend)
    score = ("test .3f", "low .3f", "high .3f")
    chosen = tips("what", "n:Q", *score, what="chosen by", n="heads", test=unit)
    layer = tips("what", "layer:O", *score, what="of", test=unit)
    frame = top[["test", "low", "high"]].reset_coords(drop=True).to_dataframe().reset_index()
    frame = frame.rename(columns={"way": "what"}).dropna(subset="test")
    base = alt.Chart(frame, width=170, height=130)
    low = alt.Y("low:Q", scale=own, title=title)
    band = base.mark_area(opacity=0.18).encode(x=x, y=low, y2="high:Q", color=colour)
    rules = alt.Chart(_layers(results, task)).mark_rule(strokeWidth=1.5)
    rules = rules.encode(y=y, color=colour, strokeDash=dash, tooltip=layer)
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash)
    points = base.mark_point(filled=True, size=22).encode(x=x, y=y, color=colour, tooltip=chosen)
    return alt.layer(band, rules, lines, points)


def named_counts(counts: Sequence[int], first: int) -> list[int]:
    """Choose the numbers of heads that are written under a logarithmic axis.

    Parameters
    ----------
    counts : sequence of int
        All numbers of heads, in order.
    first : int
        The heads of a layer: the number that should be written if any is.

    Returns
    -------
    list of int
        ``first`` and the ends, and others as long as they do not touch.

    Examples
    --------
    >>> named_counts([1, 2, 4, 6, 8, 12, 16, 18, 24, 36, 72], 12)
    [1, 2, 4, 6, 12, 18, 36, 72]
    """
    kept: list[int] = []
    for count in [*(other for other in (first, counts[-1], counts[0]) if other in counts), *counts]:
        if all(max(count, other) / min(count, other) >= APART for other in kept):
            kept.append(count)
    return sorted(kept)


def _layers(results: Atlas, task: str) -> pd.DataFrame:
    """Return the scores of the last and of the best layer, where they are known."""
    data = probing_of(results, "probe_layer").sel(task=task)
    chosen = {"last layer": int(data["layer"].values[-1]), "best layer": best_layer(results, task)}
    rows = [
        {"what": what, "layer": layer}
        | {name: float(data[name].sel(layer=layer)) for name in ("test", "low", "high")}
        for what, layer in chosen.items()
        if layer is not None
    ]
    return pd.DataFrame(rows).dropna(subset="test")


# --- Several models, or one before and after tuning -----------------------------------------------


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
    ranges = {task: task_range(list(models.values()), task, colours) for task in names}
    rows = {
        model: [task_panel(results, task, ranges[task]) for task in names]
        for model, results in models.items()
    }
    lines = legend_lines([panel for row in rows.values() for panel in row], colours)
    return styled(in_rows(rows, ordered=sorted, columns=columns), TITLE, *lines)


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
    rows: dict[str, list[Panel]] = {}
    for task in dict.fromkeys(task for tasks in models.values() for task in tasks):
        for model, tasks in models.items():
            states = tasks.get(task, {})
            if not states:
                continue
            common_tasks(states, [task])
            _check_shapes(states)
            title = task_titles(next(iter(states.values())))[task]
            scores = [probing_of(results)["test"].sel(task=task) for results in states.values()]
            prefix = f"{model}: " if len(models) > 1 else ""
            rows.setdefault(title, []).extend(
                task_panel(results, task, score_range(scores), title=f"{prefix}{state}")
                for state, results in states.items()
            )
    if not rows:
        raise UserError(NOTHING)
    across = max(len(maps) for maps in rows.values())
    most = max(len(states) for tasks in models.values() for states in tasks.values())
    lines = legend_lines([panel for row in rows.values() for panel in row], "shared")
    return styled(
        in_rows(rows, ordered=sorted, columns=across if across <= MOST else most),
        f"{TITLE}, before and after tuning",
        "all maps of one model and task have the same colour range",
        *lines[1:],
    )


def _check_shapes(states: States) -> None:
    """Refuse states of models that differ in layers or heads."""
    sizes = {name: probing_of(results).sizes for name, results in states.items()}
    shapes = {name: f"{size['layer']} × {size['head']}" for name, size in sizes.items()}
    if len(set(shapes.values())) > 1:
        listed = ", ".join(f"{name}: {shape}" for name, shape in shapes.items())
        raise ResultsError(
            f"the states must be of one model, with the same layers and heads; got {listed}",
            hint="draw different models with probe_grid",
        )


def common_tasks(models: Mapping[str, Atlas], tasks: Sequence[str] | None) -> list[str]:
    """Return the tasks to draw: those asked for, which all must have, or those that all have."""
    if not models:
        raise UserError(NOTHING)
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


# --- Two scores of each head ----------------------------------------------------------------------

SCATTER = "Syntactic and semantic scores of heads"


@figure(
    "syntactic-semantic", title="Syntactic against semantic score, head by head", needs=["probe"]
)
def syntactic_semantic_scatter(results: Atlas) -> Any:
    """After Jo and Myaeng 2020, Figure 5: a head's mean test accuracy over the syntactic tasks
    (Depth, TopConst, BigramShift) and over the semantic ones (Tense, SubjNum, ObjNum, OddManOut,
    CoordInv) that were probed, coloured by layer. The 95 % intervals are Fisher's, and a bootstrap
    over whole layers, since heads of one layer are not independent.
    """
    try:
        frame = syntactic_semantic(results)
    except ResultsError as error:
        return note(error.message.partition(" (")[0], SCATTER, model_name(results))
    groups = [f"{group}: {', '.join(names)}" for group, names in frame.attrs["tasks"].items()]
    lines = [model_name(results), *correlation_text(frame), *groups]
    return styled(_scatter(frame, 320, 300), SCATTER, *lines)


def scatter_grid(models: Mapping[str, Atlas]) -> Any:
    """Draw the scatter of several models, each with its correlation, on the same axes.

    Parameters
    ----------
    models : mapping of str to Atlas
        Results of probes, by the name of the model.

    Returns
    -------
    altair chart

    Raises
    ------
    UserError
        If no results are given.
    ResultsError
        If a model was not probed with a syntactic and a semantic task.
    """
    if not models:
        raise UserError(NOTHING)
    frames = {name: syntactic_semantic(results) for name, results in models.items()}
    ends = pd.concat(frames.values())[["syntactic", "semantic"]].agg(["min", "max"])
    looks: dict[str, Any] = {"fontSize": 12, "anchor": "start", "frame": "group", "offset": 4}
    charts = [
        _scatter(frame, 190, 180, ends).properties(
            title=heading(name, *correlation_text(frame), limit=230, **looks)
        )
        for name, frame in frames.items()
    ]
    apart = dict.fromkeys(("x", "y", "color"), "independent")
    return styled(
        panels(charts, min(4, len(charts)), 24, **apart),
        SCATTER,
        "all models have the same axes; 95 % intervals over heads and over layers",
    )


def correlation_text(frame: pd.DataFrame) -> list[str]:
    """Write Pearson's and Spearman's correlation, each with its intervals.

    Parameters
    ----------
    frame : DataFrame
        From :func:`headscope.stats.syntax_semantics.syntactic_semantic`.

    Returns
    -------
    list of str
        One line each: the value, the interval over heads, and the one over layers.
    """
    lines = []
    for row in correlation(frame).to_dict("records"):
        sign = SIGNS[str(row["correlation"])]
        if pd.isna(row["value"]):
            lines.append(f"{sign} is not defined")
            continue
        parts = [
            f"{words}{row[f'{kind}low']:.2f} to {row[f'{kind}high']:.2f}"
            for kind, words in (("", ""), ("layer ", "over layers "))
            if not pd.isna(row[f"{kind}low"])
        ]
        spread = f" ({'; '.join(parts)})" if parts else ""
        lines.append(f"{sign} = {row['value']:.2f}{spread}")
    return lines


def _scatter(frame: pd.DataFrame, width: int, height: int, ends: pd.DataFrame | None = None) -> Any:
    """Draw one point per head, dark in low layers and bright in high ones.

    ``ends`` has the smallest and the largest score of each axis.
    """
    layers = int(frame["layer"].max())
    legend = alt.Legend(
        title="layer",
        gradientLength=min(height, 140),
        gradientThickness=9,
        # Up to twelve layers are named each.
        values=sorted(range(1, layers + 1) if layers <= 12 else {1, (layers + 1) // 2, layers}),
        format="d",
        **LABELS,
    )
    scale = alt.Scale(scheme="viridis", domain=[1, max(layers, 2)])
    small = alt.Axis(**LABELS, tickCount=5, format=".2f")

    def axis(name: str) -> dict[str, Any]:
        same = {} if ends is None else {"nice": True, "domain": ends[name].tolist()}
        title = f"{name} score: accuracy"
        return {"title": title, "scale": alt.Scale(zero=False, **same), "axis": small}

    points = alt.Chart(_known(frame, "syntactic", "semantic"), width=width, height=height)
    return points.mark_point(
        filled=True, size=34, opacity=0.9, stroke="#333", strokeWidth=0.3
    ).encode(
        x=alt.X("syntactic:Q", **axis("syntactic")),
        y=alt.Y("semantic:Q", **axis("semantic")),
        color=alt.Color("layer:Q", scale=scale, legend=legend),
        tooltip=tips("name", "syntactic .3f", "semantic .3f"),
    )


def _known(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Name the heads that have a value in all of some columns."""
    names = frame["layer"].astype(str) + "-" + frame["head"].astype(str)
    return frame.assign(name=names).dropna(subset=list(columns))


def agreement_grid(scores: pd.DataFrame, correlations: pd.DataFrame, *, title: str = "") -> Any:
    """Draw one panel per task: each head's published score against ours.

    Parameters
    ----------
    scores : DataFrame
        From :func:`headscope.stats.probe_agreement.paired_scores`.
    correlations : DataFrame
        From :func:`headscope.stats.probe_agreement.probe_agreement`.
    title : str, optional
        Whose scores these are.

    Returns
    -------
    altair chart
        Points are coloured by layer; each panel has its own axes.
    """
    own = alt.Scale(zero=False)
    axis = alt.Axis(format=".2f", labelFontSize=8, titleFontSize=9, tickCount=4)
    charts = []
    for task, rows in scores.groupby("task", sort=False):
        values = correlations[correlations["task"] == task].dropna(subset=["value"])
        words = [f"{SIGNS[str(row.correlation)]} = {row.value:.2f}" for row in values.itertuples()]
        line = ", ".join(words) or "no correlation is defined"
        points = alt.Chart(_known(rows, "here", "published"), width=150, height=150)
        drawn = points.mark_point(filled=True, size=22, opacity=0.85).encode(
            x=alt.X("published:Q", title="published", scale=own, axis=axis),
            y=alt.Y("here:Q", title="here", scale=own, axis=axis),
            color=alt.Color("layer:Q", scale=alt.Scale(scheme="viridis"), title="layer"),
            tooltip=tips("name", "published .3f", "here .3f"),
        )
        above = heading(
            str(task), subtitle=line, subtitleFontSize=9, subtitleColor="#555", offset=4
        )
        above.anchor = alt.Undefined
        charts.append(drawn.properties(title=above))
    scales = {"x": "independent", "y": "independent", "color": "shared"}
    return styled(
        panels(charts, equal_lines(len(charts), COLUMNS), 18, **scales),
        title or "Scores of heads, published and here",
        "one point per head; each panel has its own axes",
    )
