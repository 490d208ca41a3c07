"""The charts that figures are made of: squares for heads, panels of them, points by layer, rows.

Each takes labelled arrays or a frame and the words around them; none knows a measure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import unknown
from headscope.figures.later import alt
from headscope.figures.style import (
    BLUE,
    COLOURS,
    GREY,
    ORANGE,
    RED,
    SHARES,
    either_colour,
    interval,
    is_share,
    legend_ticks,
    legend_title,
    styled,
    subject,
    tidy,
    unit_text,
)
from headscope.heads import Head
from headscope.results import Atlas

WORDS = {"name": "head", "low": "95 % from", "high": "to"}
SHAPES = [
    *("circle", "square", "triangle-up", "diamond"),
    *("cross", "triangle-down", "triangle-left", "triangle-right"),
]
SMALL: dict[str, Any] = {"labelFontSize": 8, "labelOverlap": True}

# --- Numbers for a page that draws a chart itself -------------------------------------------------


@dataclass(frozen=True)
class Panels:
    """What a chart of heads shows: points by layer, or small grids.

    Parameters
    ----------
    parts
        By title: an array with dims layer and head.
    lines
        References across a chart of layers, by name: a value for each layer.
    ends
        The ends of the intervals, of a chart with one part.
    framed
        By title: the heads to be framed.
    """

    kind: Literal["layers", "grids"]
    parts: Mapping[str, xr.DataArray]
    unit: str = ""
    lines: Mapping[str, Sequence[float]] = field(default_factory=dict)
    ends: Mapping[str, xr.DataArray] = field(default_factory=dict)
    framed: Mapping[str, xr.DataArray] = field(default_factory=dict)
    diverging: bool = False
    shared: bool = True


@dataclass(frozen=True)
class Rows:
    """What a chart of rows shows: one per label, with the columns of :func:`ranked_bars`."""

    table: pd.DataFrame
    label: str
    unit: str = ""


def with_numbers(chart: Any, numbers: Panels | Rows) -> Any:
    """Remember what a chart shows. It is no part of its specification: files stay as they are."""
    object.__setattr__(chart, "_numbers", numbers)
    return chart


def numbers_of(chart: Any) -> Panels | Rows | None:
    """What a chart shows; None where its builder does not say, or it was changed since."""
    numbers: Panels | Rows | None = vars(chart).get("_numbers")
    return numbers


# --- Parts of charts ------------------------------------------------------------------------------


def tips(*columns: str, **titles: str | None) -> list[Any]:
    """Say what is shown on hover.

    Parameters
    ----------
    *columns : str
        A column of text (``"role"``), one with its type (``"heads:Q"``), or a number with its
        format (``"value .3f"``).
    **titles : str
        What a column is called there; name, low and high have words of their own.

    Examples
    --------
    >>> [tip.to_dict() for tip in tips("name", "value .3f", value="share")][1]
    {'field': 'value', 'format': '.3f', 'title': 'share', 'type': 'quantitative'}
    """
    shown = []
    for column in columns:
        field, _, form = column.rpartition(" ")
        if form[:1] not in (".", "+"):
            field, form = column, ""
        name, _, kind = field.partition(":")
        more = {"format": form, "title": titles.get(name, WORDS.get(name))}
        more = {key: word for key, word in more.items() if word or (key == "title" and word == "")}
        shown.append(alt.Tooltip(f"{name}:{kind or ('Q' if form else 'N')}", **more))
    return shown


def heading(text: str, *lines: str, **looks: Any) -> Any:
    """The title of one panel among several, with smaller lines below it."""
    if lines:
        smaller = {"subtitleFontSize": 9, "subtitleColor": "#555"}
        looks = {"subtitle": list(lines), **smaller, **looks}
    return alt.TitleParams(text, **{"fontSize": 11, "anchor": "middle", **looks})


def known_range(values: Any, *, empty: tuple[float, float] = (0.0, 1.0)) -> tuple[float, float]:
    """The smallest and the largest defined value.

    Examples
    --------
    >>> known_range([0.5, float("nan"), 0.25]), known_range([])
    ((0.25, 0.5), (0.0, 1.0))
    """
    known = np.asarray(values, float)
    known = known[np.isfinite(known)]
    return (float(known.min()), float(known.max())) if known.size else empty


def shade(
    field: str,
    domain: Sequence[float],
    unit: str = "",
    *,
    scale: Mapping[str, Any] | None = None,
    **legend: Any,
) -> Any:
    """Colour by a number, from dark to bright, with round numbers in the legend."""
    low, high = domain[0], domain[-1]
    return alt.Color(
        f"{field}:Q",
        scale=alt.Scale(**{"scheme": "viridis", "domain": list(domain), **(scale or {})}),
        legend=alt.Legend(**{**legend_ticks(low, high), **legend}),
        **({"title": legend_title(unit)} if unit else {}),
    )


def named(colours: Mapping[str, Any]) -> Any:
    """A scale with one colour for each name."""
    return alt.Scale(domain=list(colours), range=list(colours.values()))


def panels(charts: Sequence[Any], columns: int, spacing: Any, **scales: str) -> Any:
    """Put charts side by side in lines; scales are ``shared`` or ``independent``."""
    return alt.concat(*charts, columns=columns, spacing=spacing).resolve_scale(**scales)


def equal_lines(count: int, most: int) -> int:
    """How many panels stand in a line: at most so many, and all lines about equally full.

    Examples
    --------
    >>> equal_lines(6, 5), equal_lines(10, 5)
    (3, 5)
    """
    return -(-count // -(-count // most))


# --- Squares: one per head, layer 1 at the bottom -------------------------------------------------

# Up to so many heads per layer, squares are large enough for a number.
ROOMY = 16
LARGE, SMALLER = 34, 20
HIGH = 0.8  # a square's height as a share of its width


def square_side(heads: int) -> int:
    """Return how many pixels wide the square of a head is.

    Examples
    --------
    >>> square_side(12), square_side(32)
    (34, 20)
    """
    return LARGE if heads <= ROOMY else SMALLER


def legend_length(heads: int, layers: int, side: int = 0) -> float:
    """Return the pixels of a colour legend about as high as the grid.

    Examples
    --------
    >>> round(legend_length(12, 6)), legend_length(12, 48)
    (133, 200)
    """
    return max(60, min(200, (side or square_side(heads)) * HIGH * layers - 30))


def squares(frame: pd.DataFrame, side: float = 0, high: float = 0, **axis: Any) -> Any:
    """Start a chart with one square per head; marks and colours are up to the caller.

    Parameters
    ----------
    frame : DataFrame
        With the columns layer and head.
    side, high : float, optional
        Pixels of a square's width and height.
    **axis
        Looks of both axes.

    Returns
    -------
    altair chart
        A chart without marks.
    """
    heads, layers = frame["head"].nunique(), frame["layer"].nunique()
    side = side or square_side(heads)
    up = {"axis": alt.Axis(**axis)} if axis else {}
    return alt.Chart(frame, width=side * heads, height=(high or side * HIGH) * layers).encode(
        x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0, **axis)),
        y=alt.Y("layer:O", title="layer", sort="descending", **up),
    )


def split_defined(base: Any, field: str = "value") -> tuple[Any, Any]:
    """Split a chart into the heads that have a value and those that have none.

    They need layers of their own: in a colour condition Vega-Lite drops undefined values, or gives
    them the colour of 0.
    """
    return (
        base.transform_filter(f"isValid(datum.{field})"),
        base.transform_filter(f"!isValid(datum.{field})"),
    )


def coloured(base: Any, colour: Any, tooltip: list[Any]) -> list[Any]:
    """Draw squares with the given colour, and grey ones where the value is not defined."""
    defined, undefined = split_defined(base)
    return [
        undefined.mark_rect(color=GREY).encode(tooltip=tooltip[:1]),
        defined.mark_rect().encode(color=colour, tooltip=tooltip),
    ]


def numbered(base: Any, bright_from: float, tooltip: list[Any]) -> list[Any]:
    """Print each square's value: black on bright colours, white on dark ones, a dash for none.

    A number lies over its square and would hide the square's tooltip, so it has the same one.
    """
    defined, undefined = split_defined(base)
    ink = either_colour(f"datum.value > {bright_from}", "black", "white")
    return [
        undefined.mark_text(fontSize=9, text="–", color="#555").encode(tooltip=tooltip[:1]),
        defined.mark_text(fontSize=9).encode(
            text=alt.Text("value:Q", format=".2f"), color=ink, tooltip=tooltip
        ),
    ]


def outline(heads: Sequence[Head], colour: str = RED) -> Any:
    """Draw a frame around some heads, to be laid over a grid of squares.

    Examples
    --------
    >>> [row["layer"] for row in outline([Head(2, 8), Head(0, 1)]).data.values]
    [3, 1]
    """
    rows = [{"layer": head.layer + 1, "head": head.head + 1, "name": str(head)} for head in heads]
    frames = alt.Chart(alt.InlineData(values=rows))
    return frames.mark_rect(filled=False, stroke=colour, strokeWidth=3).encode(
        x=alt.X("head:O", title="head"),
        y=alt.Y("layer:O", title="layer", sort="descending"),
        tooltip=tips("name")[0],
    )


def heat_map(
    values: xr.DataArray,
    *,
    title: str,
    subtitle: str = "",
    unit: str = "",
    domain: tuple[float, float] | None = None,
    low: xr.DataArray | None = None,
    high: xr.DataArray | None = None,
) -> Any:
    """Draw one square per head, coloured by its value.

    The value and its interval show on hover; the value is also printed where there is room. A head
    without a value is grey.

    Parameters
    ----------
    values : DataArray
        With dims layer and head.
    title, subtitle : str
        Above the map.
    unit : str
        What the values are, for the legend.
    domain : pair of float, optional
        The ends of the colour scale; by default the smallest and the largest value.
    low, high : DataArray, optional
        The ends of each value's interval.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> grid = xr.DataArray([[0.5, 0.25]], {"layer": [1], "head": [1, 2]}, ("layer", "head"))
    >>> chart = heat_map(grid, title="Mine", unit="share of attention, 0–1", domain=(0, 1))
    >>> chart.to_dict()["layer"][1]["encoding"]["color"]["title"]
    ['share of', 'attention, 0–1']
    """
    ends: dict[str, xr.DataArray] = {}
    if low is not None and high is not None:
        ends = {"low": low, "high": high}
    frame = tidy(xr.Dataset({"value": values, **ends}))
    domain = domain or known_range(values.values)
    shown = tips("name", *(f"{name} .3f" for name in ("value", *ends)), value=unit or "value")
    heads, layers = values.sizes["head"], values.sizes["layer"]
    base = squares(frame)
    colour = shade("value", domain, unit, gradientLength=legend_length(heads, layers))
    marks = coloured(base, colour, shown)
    if heads <= ROOMY:
        marks += numbered(base, (domain[0] + domain[1]) / 2, shown)
    chart = styled(alt.layer(*marks), title, subtitle)
    numbers = Panels("grids", {title: values}, unit, ends=ends, diverging=domain[0] < 0)
    return with_numbers(chart, numbers)


def measure_map(results: Atlas, measure: str, title: str, *, unit: str = "", **labels: str) -> Any:
    """Draw the heat map of one statistic of a measure, with intervals.

    Parameters
    ----------
    results : Atlas
        Results that have the measure.
    measure : str
        The measure's name.
    title : str
        Above the map.
    unit : str, optional
        What the values are; by default the measure's own unit. Shares are coloured from 0 to 1.
    **labels : str
        Which statistic of the measure, e.g. ``offset="previous"``.

    Returns
    -------
    altair chart
    """
    data = results[measure].sel(labels)
    own = str(data.attrs.get("unit", ""))
    low, high = interval(data)
    return heat_map(
        data["mean"],
        title=title,
        subtitle=subject(results.provenance),
        unit=unit or unit_text(own),
        domain=SHARES if is_share(own) else None,
        low=low,
        high=high,
    )


# --- Panels: a small grid of squares for each label -----------------------------------------------

SPECIAL = {"cls": "[CLS]", "sep": "[SEP]"}
Scale = Literal["one", "each"]
SCALES: dict[Scale, str] = {
    "one": "all maps have one colour scale",
    "each": "each map has its own colour scale",
}


def heat_grid(
    values: xr.DataArray,
    dim: str,
    *,
    title: str,
    subtitle: str = "",
    unit: str = "",
    diverging: bool = False,
    columns: int = 4,
    scale: Scale = "each",
    least: float = 0.0,
    framed: xr.DataArray | None = None,
) -> Any:
    """Draw a small heat map of all heads for each label of a dimension.

    Parameters
    ----------
    values : DataArray
        With dims layer, head and ``dim``.
    dim : str
        The dimension whose labels get a map each.
    title, subtitle : str
        Above the figure.
    unit : str
        What the values are.
    diverging : bool
        Whether values are differences: then each colour scale is centred on 0.
    columns : int
        How many maps stand in a row.
    scale : {"each", "one"}
        Whether each map has its own colour scale, or all have one. With one, maps can be compared,
        and labels that differ by orders of magnitude look as different as they are.
    least : float
        Where the colour scale begins, unless it is diverging.
    framed : DataArray, optional
        True for the heads to be framed, with the dims of ``values``.

    Returns
    -------
    altair chart

    Raises
    ------
    UserError
        If there is no such scale.

    Examples
    --------
    >>> labels = {"layer": [1], "head": [1, 2], "feature": ["noun"]}
    >>> values = xr.DataArray([[[0.1], [0.2]]], labels, tuple(labels))
    >>> [part.title.text for part in heat_grid(values, "feature", title="Features").concat]
    ['noun']
    """
    if scale not in SCALES:
        raise unknown("colour scale", scale, SCALES)
    shared = scale == "one"
    side = max(4, min(15, 180 // values.sizes["head"]))
    length = max(90, side * values.sizes["layer"]) if shared else side * values.sizes["layer"]
    legend: dict[str, Any] = {
        "gradientLength": length,
        "gradientThickness": 8,
        "labelFontSize": 8,
        "offset": 6,
    }
    legend["title"] = legend_title(unit) if shared and unit else None
    looks = {"scheme": "purpleorange", "domainMid": 0} if diverging else {}
    shown = tips("name", f"value {'+' if diverging else ''}.4f", value=unit)
    charts = []
    for label in values[dim].values:
        part = values.sel({dim: label})
        domain = _domain(values if shared else part, least, diverging=diverging)
        base = squares(tidy(part), side, side, **SMALL)
        marks = coloured(base, shade("value", domain, scale=looks, **legend), shown)
        text = SPECIAL.get(str(label), str(label))
        chart = alt.layer(*marks).properties(title=heading(text))
        if framed is not None:
            frame = tidy(framed.sel({dim: label}))
            heads = [Head.parse(name) for name in frame.loc[frame["value"].astype(bool), "name"]]
            chart = chart + _frames(heads)
        charts.append(chart)
    grid = panels(charts, columns, 22, color="shared" if shared else "independent")
    words = f"{unit}; {SCALES[scale]}" if unit else SCALES[scale]
    labels = {SPECIAL.get(str(label), str(label)): {dim: label} for label in values[dim].values}
    parts, frames = (
        {} if one is None else {text: one.sel(where, drop=True) for text, where in labels.items()}
        for one in (values, framed)
    )
    numbers = Panels("grids", parts, unit, framed=frames, diverging=diverging, shared=shared)
    return with_numbers(styled(grid, title, subtitle, words), numbers)


def _domain(values: xr.DataArray, least: float, *, diverging: bool) -> tuple[float, float]:
    """The ends of a colour scale."""
    low, high = known_range(values.values, empty=(0.0, 0.0))
    if diverging:
        most = max(abs(low), abs(high))
        return (-most, most) if most > 0 else (-1.0, 1.0)
    return least, high if high > least else least + 1.0


def _frames(heads: Sequence[Head]) -> Any:
    """Draw a thin frame around chosen heads."""
    rows = [{"layer": head.layer + 1, "head": head.head + 1} for head in heads]
    base = alt.Chart(pd.DataFrame(rows, columns=["layer", "head"]))
    return base.mark_rect(filled=False, stroke="black", strokeWidth=1.5).encode(
        x=alt.X("head:O", title="head"), y=alt.Y("layer:O", title="layer", sort="descending")
    )


def measure_grid(
    results: Atlas,
    measure: str,
    title: str,
    *,
    labels: Sequence[str] = (),
    columns: int = 4,
    scale: Scale | None = None,
) -> Any:
    """Draw small heat maps of a measure that has one dimension of its own.

    Parameters
    ----------
    results : Atlas
        Results that have the measure.
    measure : str
        Its name. The change of a measure from one model to another gets diverging colours.
    title : str
        Above the figure.
    labels : sequence of str
        The labels to draw; by default all.
    columns : int
        How many maps stand in a row.
    scale : {"one", "each"}, optional
        See :func:`heat_grid`. By default changes have one colour scale, and other values one each.

    Returns
    -------
    altair chart
    """
    data = results[measure]
    values = data["mean"]
    dim = next(str(dim) for dim in values.dims if dim not in ("layer", "head"))
    change = measure.endswith("-change")
    return heat_grid(
        values.sel({dim: list(labels)}) if labels else values,
        dim,
        title=title,
        subtitle=subject(results.provenance),
        unit=unit_text(str(data.attrs.get("unit", "share of attention"))),
        diverging=change,
        columns=columns,
        scale=scale or ("one" if change else "each"),
    )


def by_task(values: Mapping[str, xr.DataArray]) -> xr.DataArray:
    """Put arrays by layer and head side by side.

    Examples
    --------
    >>> grid = xr.DataArray([[0.5, 0.25]], {"layer": [1], "head": [1, 2]}, ("layer", "head"))
    >>> by_task({"RTE": grid, "MRPC": grid}).dims
    ('task', 'layer', 'head')
    """
    plain = [part.reset_coords(drop=True) for part in values.values()]
    return xr.concat(plain, "task").assign_coords(task=list(values))


# --- Points by layer ------------------------------------------------------------------------------

# Series stand so many layers apart, and the heads of a layer are spread over so much of it:
# otherwise heads with the same value would hide each other.
APART, SPREAD = 0.26, 0.2
# Clark et al. 2019 call attention heavy if it is over half of a head's.
HALF = {"half": 0.5}


def layer_scatter(
    series: Mapping[str, xr.DataArray],
    *,
    title: str,
    subtitle: str = "",
    unit: str = "",
    line: xr.DataArray | None = None,
    line_name: str = "",
    levels: Mapping[str, float] | None = None,
    top: float | None = None,
) -> Any:
    """Draw one point per head above its layer, and a line through the layer means.

    Parameters
    ----------
    series : mapping of str to DataArray
        What is drawn, by the name in the legend; each has dims layer and head.
    title, subtitle : str
        Above the figure.
    unit : str
        What the values are, for the y axis.
    line : DataArray, optional
        A reference with dims layer and head, drawn dashed: its mean over heads.
    line_name : str
        The name of the reference.
    levels : mapping of str to float, optional
        Values that mean something, by name: thin lines across the whole figure.
    top : float, optional
        The end of the y axis, which starts at 0.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> grid = xr.DataArray([[0.5, 0.25]], {"layer": [1], "head": [1, 2]}, ("layer", "head"))
    >>> layer_scatter({"mine": grid}, title="Mine", unit="share").title.text
    'Mine'
    """
    frames = []
    for number, (name, values) in enumerate(series.items()):
        frame = tidy(values)
        ranks = frame["head"].rank(method="dense") - 1
        spread = SPREAD * (ranks / max(ranks.max(), 1) - 0.5)
        aside = (number - (len(series) - 1) / 2) * APART
        frames.append(frame.assign(series=name, place=frame["layer"] + aside + spread))
    frame = pd.concat(frames, ignore_index=True)
    layers = sorted(int(layer) for layer in frame["layer"].unique())
    frame = frame.dropna(subset=["value"])
    limit = top or (1.0 if frame.empty else None)

    def across(field: str) -> Any:
        """An axis with a tick at every layer, defined there or not."""
        ends = alt.Scale(domain=[layers[0] - 0.5, layers[-1] + 0.5], nice=False)
        ticks = alt.Axis(values=layers, format="d", grid=False)
        return alt.X(f"{field}:Q", title="layer", axis=ticks, scale=ends)

    names = list(series)
    legend: dict[str, Any] = {
        "title": None,
        "legend": alt.Legend(orient="top", offset=6, labelLimit=300),
    }
    colour = alt.Color("series:N", scale=named(dict(zip(names, COLOURS, strict=False))), **legend)
    shape = alt.Shape("series:N", scale=named(dict(zip(names, SHAPES, strict=False))), **legend)
    up = alt.Scale(domain=[0, limit]) if limit else alt.Scale(zero=True)
    means = alt.Chart(frame).mark_line(strokeWidth=2)
    points = alt.Chart(frame).mark_point(filled=False, size=30, strokeWidth=1.3)
    marks = [
        means.encode(x=across("layer"), y=alt.Y("mean(value):Q", title=unit), color=colour),
        points.encode(
            x=across("place"),
            y=alt.Y("value:Q", title=unit, scale=up),
            color=colour,
            shape=shape,
            tooltip=tips("name", "series", "value .3f", series="statistic", value=unit),
        ),
    ]
    if line is not None:
        ends = line.mean("head").to_dataframe(name="value").reset_index().assign(what=line_name)
        dashed = alt.Chart(ends).mark_line(strokeDash=[5, 4], color="#555")
        words = alt.Chart(ends.tail(1)).mark_text(align="right", dy=-7, color="#555")
        marks += [
            dashed.encode(x=across("layer"), y="value:Q"),
            words.encode(x=across("layer"), y="value:Q", text="what:N"),
        ]
    if frame.empty:
        nothing = pd.DataFrame({"what": ["not defined for this model or corpus"]})
        marks.append(alt.Chart(nothing).mark_text(color="#555").encode(text="what:N"))
    width = max(360, 43 * len(layers))
    if levels:
        heights = pd.DataFrame([{"value": high, "what": name} for name, high in levels.items()])
        rules = alt.Chart(heights).mark_rule(color="#999", strokeDash=[2, 2])
        words = alt.Chart(heights).mark_text(align="left", fontSize=11, color="#666")
        beside = words.encode(x=alt.value(width + 5), y="value:Q", text="what:N")
        marks = [rules.encode(y="value:Q"), beside, *marks]
    chart = styled(alt.layer(*marks).properties(width=width, height=260), title, subtitle)
    lines = {name: [high] * len(layers) for name, high in (levels or {}).items()}
    if line is not None:
        lines[line_name] = list(line.mean("head").values)
    return with_numbers(chart, Panels("layers", series, unit, lines))


def uniform_level(share: float | None) -> dict[str, float]:
    """Name the share of attention that [SEP] would get by chance, as a fraction like the paper's.

    Examples
    --------
    >>> uniform_level(2 / 128), uniform_level(None)
    ({'uniform: 1/64': 0.015625}, {})
    """
    if share is None or not share > 0:
        return {}
    return {f"uniform: 1/{1 / share:.0f}": share}


# --- Rows: one per label --------------------------------------------------------------------------

BEST = {"accuracy": "best head", "baseline": "best fixed offset"}
# The column that is written beside the rows.
BESIDE = "words beside"


def ranked_bars(
    table: pd.DataFrame, *, label: str, title: str, subtitle: str = "", unit: str = "accuracy, 0–1"
) -> Any:
    """Draw one row per label: the best head's accuracy with its interval, and the baseline.

    Parameters
    ----------
    table : DataFrame
        With the columns head, accuracy, low, high and baseline, and one that names the rows. A
        column ``words beside`` is written to the right of the rows; without it, the head.
    label : str
        The column that names the rows.
    title, subtitle : str
        Above the figure.
    unit : str
        What the values are, for the x axis from 0 to 1.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> row = {"relation": "det", "head": "3-9", "accuracy": 0.9, "low": 0.8, "high": 0.95}
    >>> table = pd.DataFrame([row | {"baseline": 0.5}])
    >>> len(ranked_bars(table, label="relation", title="Dependencies").layer)
    3
    """
    frame = table.assign(order=range(len(table)))
    rows = alt.Y(f"{label}:N", sort=alt.SortField("order"), title=None)
    scale = alt.Scale(domain=[0, 1])
    width = 310
    base = alt.Chart(frame, width=width, height=max(120, 20 * len(frame)))
    intervals = base.mark_rule(color=BLUE, strokeWidth=2).encode(
        y=rows, x=alt.X("low:Q", scale=scale, title=unit), x2="high:Q"
    )
    beside = BESIDE if BESIDE in frame else "head"
    shown = [
        f"{name} {'.2g' if name[:1] == 'p' else '.3f'}"
        if pd.api.types.is_float_dtype(table[name])
        else name
        for name in map(str, table.columns)
    ]
    names = base.mark_text(align="left", fontSize=11, color="#444").encode(
        y=rows,
        x=alt.value(width + 8),
        text=f"{beside}:N",
        tooltip=tips(*shown, name=None, low=None, high=None),
    )
    long = frame.melt([label, "order"], list(BEST), var_name="what", value_name="value")
    long["what"] = long["what"].map(BEST)
    legend = alt.Legend(orient="top", title=None)
    looks = {
        "color": alt.Color("what:N", scale=_pair(BLUE, ORANGE), legend=legend),
        "shape": alt.Shape("what:N", scale=_pair("circle", "square"), legend=legend),
    }
    dots = alt.Chart(long).mark_point(filled=True, size=60)
    dots = dots.encode(y=rows, x=alt.X("value:Q", scale=scale, title=unit), **looks)
    chart = styled(alt.layer(intervals, dots, names), title, subtitle)
    return with_numbers(chart, Rows(table, label, unit))


def _pair(*looks: str) -> Any:
    """The looks of the best head and of the baseline."""
    return named(dict(zip(BEST.values(), looks, strict=True)))
