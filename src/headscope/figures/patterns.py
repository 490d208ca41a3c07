"""Classes of patterns: their shares, heads, maps and typical examples (Kovaleva et al. 2019)."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.figures.builders import ROOMY, named, squares, tips
from headscope.figures.gallery import figure
from headscope.figures.later import alt
from headscope.figures.save import grey_png
from headscope.figures.sizes import fixed
from headscope.figures.style import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    either_colour,
    short_corpus,
    styled,
    subject,
)
from headscope.results import Atlas
from headscope.stats.tables.patterns import (
    leading_patterns,
    pattern_heads,
    pattern_layers,
    pattern_shares,
    shares_by_file,
)

PATTERNS = {
    "vertical": BLUE,
    "diagonal": ORANGE,
    "vertical+diagonal": GREEN,
    "block": PURPLE,
    "heterogeneous": "#9AA0A6",
}
# For readers who cannot tell the colours apart.
LETTERS = dict(zip(PATTERNS, ("V", "D", "VD", "B", "H"), strict=True))


def class_colour() -> Any:
    """Return the colour encoding of the column ``pattern``."""
    return alt.Color("pattern:N", scale=named(PATTERNS), title="class", sort=list(PATTERNS))


# --- Shares of classes ----------------------------------------------------------------------------


def pattern_bars(shares: pd.DataFrame, by: str, *, title: str, subtitle: str = "") -> Any:
    """Draw stacked bars of classes, in a fixed order.

    Parameters
    ----------
    shares : DataFrame
        With the columns pattern, share, low and high, and ``by``.
    by : str
        One bar for each value of this column, in the order of the frame.
    title, subtitle : str
        Above the figure.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> columns = ["task", "pattern", "share", "low", "high"]
    >>> rows = [["RTE", "block", 0.4, 0.3, 0.5], ["RTE", "vertical", 0.6, 0.5, 0.7]]
    >>> shares = pd.DataFrame(rows, columns=columns)
    >>> pattern_bars(shares, "task", title="Classes").data["end"].tolist()
    [0.6, 1.0]
    """
    order = {name: place for place, name in enumerate(PATTERNS)}
    frame = shares.assign(place=shares["pattern"].map(order)).sort_values("place")
    ends, share = frame.groupby(by)["share"].cumsum(), frame["share"]
    frame = frame.assign(start=ends - share, end=ends, middle=ends - share / 2, percent=100 * share)
    columns, layers = list(dict.fromkeys(shares[by])), by == "layer"
    base = alt.Chart(frame, width=max(140, (48 if layers else 96) * len(columns)), height=260)
    axis = alt.Axis(labelAngle=0, labelLimit=120)
    x = alt.X(f"{by}:O", sort=columns, title="layer" if layers else None, axis=axis)
    scale = alt.Scale(domain=[0, 1], nice=False)
    bars = base.mark_bar(stroke="white", strokeWidth=0.5).encode(
        x=x,
        y=alt.Y("start:Q", scale=scale, title="share of maps", axis=alt.Axis(format="%")),
        y2="end:Q",
        color=class_colour(),
        tooltip=tips(
            by, "pattern", "share .1%", "low .1%", "high .1%", pattern="class", share="share"
        ),
    )
    # Smaller shares are not printed into their bar.
    numbers = base.transform_filter("datum.share >= 0.045").mark_text(fontSize=10, color="black")
    text = alt.Text("percent:Q", format=".0f")
    numbers = numbers.encode(x=x, y=alt.Y("middle:Q", scale=scale), text=text)
    return styled(alt.layer(bars, numbers), title, subtitle)


def task_patterns(files: Mapping[str, Atlas]) -> Any:
    """Draw the classes of several results (tasks, models) side by side.

    Parameters
    ----------
    files : mapping of str to Atlas
        One bar each, by the name below it.

    Returns
    -------
    altair chart
    """
    unit = "share of maps, in percent"
    return pattern_bars(shares_by_file(files), "file", title="Pattern classes", subtitle=unit)


@figure("patterns", title="Pattern classes", needs=["pattern"])
def patterns(results: Atlas) -> Any:
    """After Kovaleva et al. 2019, Figure 2, for one corpus: the share of each class among all maps
    (every head on every example), as the network classifies them. Hover for the 95 % interval
    (jackknife over groups of documents).
    """
    corpus = short_corpus(str(results.provenance["corpus"]["name"]))
    shares = pattern_shares(results).assign(of=corpus)
    return pattern_bars(shares, "of", title="Pattern classes", subtitle=subject(results.provenance))


@figure("pattern-layers", title="Pattern classes by layer", needs=["pattern"])
def pattern_layers_bars(results: Atlas) -> Any:
    """The share of each class among each layer's maps, in percent (after Kovaleva et al. 2019,
    §4.1). Hover for the 95 % interval (jackknife over groups of documents).
    """
    title, about = "Pattern classes by layer", subject(results.provenance)
    return pattern_bars(pattern_layers(results), "layer", title=title, subtitle=about)


@figure("pattern-heads", title="Leading pattern class, head by head", needs=["pattern"])
def pattern_heads_map(results: Atlas) -> Any:
    """The most frequent class of each head's maps; the paler, the smaller its share of inputs. V
    vertical, D diagonal, VD both, B block, H heterogeneous. Hover for all classes and Wilson's
    95 % interval.
    """
    # Vega reads a plus sign in a column's name as part of a path.
    plain = {name: f"of_{name}".replace("+", "_") for name in PATTERNS}
    shares = pattern_heads(results).pivot(index="name", columns="pattern", values="share")
    frame = leading_patterns(results).merge(shares.rename(columns=plain).reset_index(), on="name")
    frame = frame.assign(letter=frame["pattern"].map(LETTERS))
    shown = [f"{name} .0%" for name in ("share", "low", "high", *plain.values())]
    called = {column: name for name, column in plain.items()}
    base = squares(frame).encode(
        tooltip=tips(
            "name", "pattern", *shown, pattern="leading class", share="its share", **called
        )
    )
    share = alt.Opacity(
        "share:Q",
        scale=alt.Scale(domain=[1 / len(PATTERNS), 1], range=[0.15, 1], clamp=True),
        title=["its share", "of inputs"],
        legend=alt.Legend(format="%", values=[0.25, 0.5, 0.75, 1]),
    )
    marks = [base.mark_rect().encode(color=class_colour(), opacity=share)]
    if frame["head"].nunique() <= ROOMY:
        marks.append(base.mark_text(fontSize=10, color="black").encode(text="letter:N"))
    return styled(alt.layer(*marks), "Leading pattern class", subject(results.provenance))


def confusion_map(confusion: pd.DataFrame, *, title: str, subtitle: str = "") -> Any:
    """Draw a confusion matrix: one square with its count per label and prediction.

    Parameters
    ----------
    confusion : DataFrame
        Counts, labels in rows and predictions in columns.
    title, subtitle : str
        Above the figure.

    Returns
    -------
    altair chart
        A darker square is a larger share of the label's maps.

    Examples
    --------
    >>> counts = pd.DataFrame({"block": [3], "vertical": [1]}, index=["block"])
    >>> confusion_map(counts, title="Confusion").data["share"].tolist()
    [0.75, 0.25]
    """
    labels = confusion.reset_index(names="label")
    counts = labels.melt(id_vars="label", var_name="predicted", value_name="count")
    totals = counts.groupby("label")["count"].transform("sum").clip(lower=1)
    counts["share"] = counts["count"] / totals
    order = list(PATTERNS)
    base = alt.Chart(counts, width=300, height=220).encode(
        x=alt.X("predicted:N", sort=order, title="predicted", axis=alt.Axis(labelAngle=-25)),
        y=alt.Y("label:N", sort=order, title="label"),
        tooltip=tips("label", "predicted", "count:Q", count="maps"),
    )
    scale = alt.Scale(scheme="blues", domain=[0, 1])
    ink = either_colour("datum.share > 0.6", "white", "black")
    return styled(
        alt.layer(
            base.mark_rect().encode(color=alt.Color("share:Q", scale=scale, legend=None)),
            base.mark_text(fontSize=12).encode(text="count:Q", color=ink),
        ),
        title,
        subtitle,
    )


# --- All maps of one example, and typical ones ----------------------------------------------------

CELL, GAP, EDGE = 64, 12, 3  # pixels of a map, between two maps, and of the frame around one
# A map is drawn with at least this many dots per side. Each weight gets a whole number of dots, so
# that no row is thicker than another.
LEAST = 96
CLIP, FAINTEST = 0.99, 1e-3


def shades(attention: NDArray[Any]) -> NDArray[np.float64]:
    """Return a map as people label it and as the network sees it.

    Parameters
    ----------
    attention : array
        Weights, (query, key).

    Returns
    -------
    array
        Square roots of the weights, relative to the map's 99th percentile; 1 is black.

    Examples
    --------
    >>> shades(np.array([[0.25, 0.0], [1.0, 0.0]])).round(2).tolist()
    [[0.51, 0.0], [1.0, 0.0]]
    """
    roots = np.sqrt(np.clip(np.asarray(attention, np.float64), 0.0, 1.0))
    return np.minimum(roots / max(float(np.quantile(roots, CLIP)), FAINTEST), 1.0)


def pattern_grid(
    maps: NDArray[Any],
    patterns: Sequence[Sequence[str]],
    *,
    title: str,
    subtitle: str = "",
    numbers: Sequence[int] = (),
) -> Any:
    """Draw every map of one example, the first layer at the bottom.

    Thousands of cells per map would be too many marks, so each map is one small picture.

    Parameters
    ----------
    maps : array
        Weights, (layer, head, query, key).
    patterns : sequence of sequences of str
        The class of each map, by layer and head.
    title, subtitle : str
        Above the figure.
    numbers : sequence of int, optional
        The numbers of the layers, from 1, where they have gaps.

    Returns
    -------
    altair chart

    Raises
    ------
    UserError
        If the maps do not have four dimensions, with as many queries as keys.
    """
    maps = np.asarray(maps, np.float64)
    if maps.ndim != 4 or maps.shape[2] != maps.shape[3] or not maps.size:
        raise UserError(
            "the maps must be (layer, head, query, key) with as many queries as keys, "
            f"got the shape {maps.shape} instead",
            hint="give the maps of one example, stacked over layers",
        )
    layers, heads = maps.shape[:2]
    wide, high = heads * (CELL + GAP) - GAP, layers * (CELL + GAP) - GAP
    across = alt.Scale(domain=[0, wide], nice=False, zero=False)
    down = alt.Scale(domain=[0, high], nice=False, zero=False, reverse=True)
    frame = _places(maps, patterns, numbers or range(1, layers + 1))
    marks = [_pictures(frame, across, down), *_frames(frame, across, down)]
    bare = alt.ViewBackground(strokeOpacity=0)
    drawing = alt.layer(*marks, view=bare).properties(width=wide, height=high)
    lines = textwrap.wrap(subtitle, max(30, wide // 6), max_lines=3, placeholder=" …")
    lowest = int(frame["layer"].min())
    reading = f"rows: layers, {lowest} at the bottom; columns: heads; dark: high attention"
    chart = fixed(styled(drawing, title, *lines, reading))
    chart.title.limit = max(wide, 200)
    return chart


def _places(
    maps: NDArray[np.float64], patterns: Sequence[Sequence[str]], numbers: Sequence[int]
) -> pd.DataFrame:
    """Return one row per map: its head, class, place and picture."""
    layers, heads = maps.shape[:2]
    rows = [
        {
            "layer": numbers[layer],
            "head": head + 1,
            "name": f"{numbers[layer]}-{head + 1}",
            "pattern": patterns[layer][head],
            "letter": LETTERS[patterns[layer][head]],
            "x": head * (CELL + GAP),
            "y": (layers - 1 - layer) * (CELL + GAP),
            "url": map_picture(maps[layer, head]),
        }
        for layer in range(layers)
        for head in range(heads)
    ]
    return pd.DataFrame(rows)


def _pictures(frame: pd.DataFrame, across: Any, down: Any) -> Any:
    """Draw the maps."""
    chart = alt.Chart(frame[["x", "y", "url", "name", "pattern"]])
    return chart.mark_image(
        width=CELL, height=CELL, align="left", baseline="top", aria=False
    ).encode(
        url="url:N",
        x=alt.X("x:Q", scale=across, axis=None),
        y=alt.Y("y:Q", scale=down, axis=None),
        tooltip=tips("name", "pattern", pattern="class"),
    )


def _frames(frame: pd.DataFrame, across: Any, down: Any) -> list[Any]:
    """Draw the frames, the letters of the classes, and the numbers of layers and heads."""
    around = {
        "left": frame["x"] - EDGE / 2,
        "right": frame["x"] + CELL + EDGE / 2,
        "top": frame["y"] - EDGE / 2,
        "bottom": frame["y"] + CELL + EDGE / 2,
        "xm": frame["x"] + CELL / 2,
        "ym": frame["y"] + CELL / 2,
    }
    base = alt.Chart(frame.drop(columns="url").assign(**around))

    def x(field: str) -> Any:
        return alt.X(f"{field}:Q", scale=across, axis=None)

    def y(field: str) -> Any:
        return alt.Y(f"{field}:Q", scale=down, axis=None)

    stroke = alt.Stroke("pattern:N", scale=named(PATTERNS), title="class", sort=list(LETTERS))
    small: dict[str, Any] = {"fontSize": 10, "color": "#555"}
    first, lowest = "datum.head == 1", f"datum.layer == {frame['layer'].min()}"
    return [
        base.mark_rect(filled=False, strokeWidth=EDGE).encode(
            x=x("left"),
            x2="right:Q",
            y=y("top"),
            y2="bottom:Q",
            stroke=stroke,
            tooltip=tips("name", "pattern", pattern="class"),
        ),
        _letters(base, x("x"), y("y")),
        base.transform_filter(first)
        .mark_text(align="right", dx=-8, **small)
        .encode(x=x("x"), y=y("ym"), text="layer:O"),
        base.transform_filter(lowest)
        .mark_text(baseline="top", dy=CELL + 6, **small)
        .encode(x=x("xm"), y=y("y"), text="head:O"),
    ]


def _letters(base: Any, x: Any, y: Any) -> Any:
    """Draw the class in letters with a white edge, so that it can be read without colours."""
    looks: dict[str, Any] = {
        "align": "right",
        "baseline": "top",
        "dx": CELL - 4,
        "dy": 3,
        "fontSize": 12,
        "fontWeight": "bold",
    }
    edge = base.mark_text(stroke="white", strokeWidth=4, strokeJoin="round", color="white", **looks)
    letter = base.mark_text(**looks)
    return alt.layer(
        edge.encode(x=x, y=y, text="letter:N"), letter.encode(x=x, y=y, text="letter:N")
    )


def map_picture(attention: NDArray[np.float64]) -> str:
    """Return a map in shades of grey, as an address that holds the picture itself."""
    dots = -(-LEAST // len(attention))
    grey = np.round(255 * (1.0 - shades(attention))).astype(np.uint8)
    large = np.kron(grey, np.ones((dots, dots), np.uint8))
    return "data:image/png;base64," + base64.b64encode(grey_png(large)).decode()


# Pixels of a map, between two maps, and of the line with a head's name.
SIDE, BETWEEN, LABEL = 96, 30, 18
# What a map is of, such as a task and a head, and its weights (query, key).
NamedMap = tuple[str, NDArray[Any]]


def typical_maps(maps: Mapping[str, Sequence[NamedMap]], *, subtitle: str = "") -> Any:
    """Draw some maps of each class, one column per class.

    Parameters
    ----------
    maps : mapping of str to sequence of (str, array)
        Names and maps by class; a class may have none.
    subtitle : str
        A line under the title.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> chart = typical_maps({"diagonal": [("RTE 1-3", np.eye(4))]})
    >>> [len(rows) for rows in chart.to_dict()["datasets"].values()]
    [1, 5]
    """
    rows = []
    for column, name in enumerate(PATTERNS):
        for row, (label, weights) in enumerate(maps.get(name, ())):
            corner = {"x": column * (SIDE + BETWEEN), "y": LABEL + row * (SIDE + BETWEEN)}
            rows.append({"label": label, "url": map_picture(np.asarray(weights, float)), **corner})
    most = max(map(len, maps.values()), default=0) or 1
    wide, high = len(PATTERNS) * (SIDE + BETWEEN) - BETWEEN, LABEL + most * (SIDE + BETWEEN)
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, wide], nice=False), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[0, high], nice=False, reverse=True), axis=None)
    base = alt.Chart(pd.DataFrame(rows, columns=["label", "url", "x", "y"])).encode(x=x, y=y)
    pictures = base.mark_image(width=SIDE, height=SIDE, align="left", baseline="top", aria=False)
    names = base.mark_text(align="left", baseline="top", dy=SIDE + 3, fontSize=10, color="#555")
    heads = pd.DataFrame(
        [
            {"class": name, "x": place * (SIDE + BETWEEN), "y": 0, "colour": colour}
            for place, (name, colour) in enumerate(PATTERNS.items())
        ]
    )
    titles = (
        alt.Chart(heads)
        .mark_text(align="left", baseline="top", fontSize=11, fontWeight="bold")
        .encode(x=x, y=y, text="class:N", color=alt.Color("colour:N", scale=None))
    )
    drawing = alt.layer(
        pictures.encode(url="url:N"),
        names.encode(text="label:N"),
        titles,
        view=alt.ViewBackground(strokeOpacity=0),
    )
    return styled(
        drawing.properties(width=wide, height=high),
        "Typical maps of each class",
        subtitle,
        "rows: from; columns: to; dark: high attention",
    )
