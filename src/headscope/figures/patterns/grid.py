"""All maps of one example, layers × heads, each framed in the colour of its class.

Kovaleva et al. 2019 show maps this way in Figure 1 and Appendix A.
"""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.figures.patterns.classes import LETTERS, class_scale
from headscope.figures.png import grey_png
from headscope.figures.style import styled

CELL, GAP, EDGE = 64, 12, 3
"""Pixels of a map, between two maps, and of the frame around one."""
LEAST = 96
"""A map is drawn with at least this many dots per side.

Each weight gets a whole number of dots, so that no row is thicker than another.
"""
CLIP = 0.99
FAINTEST = 1e-3


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
    chart = styled(drawing, title, *lines, reading)
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


def _pictures(frame: pd.DataFrame, across: alt.Scale, down: alt.Scale) -> Any:
    """Draw the maps."""
    chart = alt.Chart(frame[["x", "y", "url", "name", "pattern"]])
    return chart.mark_image(
        width=CELL, height=CELL, align="left", baseline="top", aria=False
    ).encode(
        url="url:N",
        x=alt.X("x:Q", scale=across, axis=None),
        y=alt.Y("y:Q", scale=down, axis=None),
        tooltip=_tooltip(),
    )


def _frames(frame: pd.DataFrame, across: alt.Scale, down: alt.Scale) -> list[Any]:
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

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=across, axis=None)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=down, axis=None)

    stroke = alt.Stroke("pattern:N", scale=class_scale(), title="class", sort=list(LETTERS))
    small: dict[str, Any] = {"fontSize": 10, "color": "#555"}
    first, lowest = "datum.head == 1", f"datum.layer == {frame['layer'].min()}"
    return [
        base.mark_rect(filled=False, strokeWidth=EDGE).encode(
            x=x("left"), x2="right:Q", y=y("top"), y2="bottom:Q", stroke=stroke, tooltip=_tooltip()
        ),
        _letters(base, x("x"), y("y")),
        base.transform_filter(first)
        .mark_text(align="right", dx=-8, **small)
        .encode(x=x("x"), y=y("ym"), text="layer:O"),
        base.transform_filter(lowest)
        .mark_text(baseline="top", dy=CELL + 6, **small)
        .encode(x=x("xm"), y=y("y"), text="head:O"),
    ]


def _tooltip() -> list[Any]:
    return [alt.Tooltip("name:N", title="head"), alt.Tooltip("pattern:N", title="class")]


def _letters(base: Any, x: Any, y: Any) -> Any:
    """Draw the class in letters with a white edge, so that it can be read without colours."""
    place: dict[str, Any] = {
        "align": "right",
        "baseline": "top",
        "dx": CELL - 4,
        "dy": 3,
        "fontSize": 12,
        "fontWeight": "bold",
    }
    edge = base.mark_text(stroke="white", strokeWidth=4, strokeJoin="round", color="white", **place)
    letter = base.mark_text(**place)
    return alt.layer(
        edge.encode(x=x, y=y, text="letter:N"), letter.encode(x=x, y=y, text="letter:N")
    )


def map_picture(attention: NDArray[np.float64]) -> str:
    """Return a map in shades of grey, as an address that holds the picture itself."""
    dots = -(-LEAST // len(attention))
    grey = np.round(255 * (1.0 - shades(attention))).astype(np.uint8)
    large = np.kron(grey, np.ones((dots, dots), np.uint8))
    return "data:image/png;base64," + base64.b64encode(grey_png(large)).decode()
