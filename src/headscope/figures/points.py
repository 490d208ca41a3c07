"""Heads as points in the plane (Clark et al. 2019, Figure 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.style import COLOURS, styled

SHAPES = [
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-left",
    "triangle-right",
]
MORE = [*COLOURS, "#8C6D31", "#6B6ECF"]
OTHERS = "#c4c9cf"
"""The colour of the last category, "none of these"."""
WIDTH, HEIGHT = 605, 520
LETTERS = 11
"""The size of names in pixels."""
POINT = 3.5
"""Half the size of a point in pixels; a name may touch its edge."""
DIGIT, HYPHEN, HIGH = 0.63, 0.36, 0.72
"""The width of a digit and of a hyphen and the height of digits, as shares of a name's size."""
MARGIN = 1.5
"""Pixels that stay free to the left and right of a name."""
Box = tuple[float, float, float, float]


def head_points(
    points: pd.DataFrame,
    *,
    title: str,
    subtitle: str = "",
    colour: str,
    categories: list[str] | None = None,
) -> Any:
    """Draw one point per head with its name, where there is room for it; all are named on hover.

    Parameters
    ----------
    points : DataFrame
        With the columns name, x and y, and the one that colours the points.
    title, subtitle : str
        Above the figure; the subtitle may have several lines.
    colour : str
        The column that colours the points: a number (the layer), or a category.
    categories : list of str, optional
        The categories in the order of the legend; the last one, "none of these", is context: small
        and grey, without names. Without categories, ``colour`` is a number.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> points = pd.DataFrame({"name": ["1-1"], "x": [0.0], "y": [1.0], "layer": [1]})
    >>> chart = head_points(points, title="Heads", colour="layer")
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['point', 'text']
    """
    frame = points.assign(context=False if categories is None else points[colour] == categories[-1])
    frame = frame.sort_values("context", ascending=False, kind="stable")  # context lies below
    across, down = (_ends(frame[axis]) for axis in ("x", "y"))
    bare = alt.Axis(labels=False, ticks=False)
    x = alt.X("x:Q", title="first dimension (no unit)", axis=bare, scale=_scale(across))
    y = alt.Y("y:Q", title="second dimension (no unit)", axis=bare, scale=_scale(down))
    size = alt.condition("datum.context", alt.value(25), alt.value(70))
    tooltip = [alt.Tooltip("name:N", title="head"), alt.Tooltip(f"{colour}:N")]
    marks = alt.Chart(frame).mark_point(filled=True, opacity=0.9)
    words = alt.Chart(_names(frame, across, down)).mark_text(fontSize=LETTERS, color="#333")
    drawn = alt.layer(
        marks.encode(x=x, y=y, size=size, tooltip=tooltip, **_colours(colour, categories)),
        words.encode(x=x, y=y, text="name:N"),
    )
    return styled(drawn.properties(width=WIDTH, height=HEIGHT), title, *subtitle.splitlines())


def _scale(ends: tuple[float, float]) -> alt.Scale:
    return alt.Scale(domain=list(ends), nice=False, zero=False)


def _names(
    frame: pd.DataFrame, across: tuple[float, float], down: tuple[float, float]
) -> pd.DataFrame:
    """Return the names for which there is room, each with the place of its middle."""
    width, height = across[1] - across[0], down[1] - down[0]
    places = name_places(
        [(x - across[0]) / width * WIDTH for x in frame["x"]],
        [(down[1] - y) / height * HEIGHT for y in frame["y"]],
        list(frame["name"].where(~frame["context"], "")),
    )
    rows = [
        {
            "name": name,
            "x": across[0] + place[0] / WIDTH * width,
            "y": down[1] - place[1] / HEIGHT * height,
        }
        for name, place in zip(frame["name"], places, strict=True)
        if place
    ]
    return pd.DataFrame(rows, columns=["name", "x", "y"])


def _ends(values: pd.Series[float]) -> tuple[float, float]:
    """Return the ends of an axis, with a margin for names."""
    low, high = float(values.min()), float(values.max())
    margin = 0.08 * (high - low) or 1.0
    return low - margin, high + margin


def name_size(name: str) -> tuple[float, float]:
    """Return half the width and half the height of a head's name, in pixels.

    Examples
    --------
    >>> [round(side, 1) for side in name_size("3-12")]
    [13.9, 4.0]
    """
    hyphens = name.count("-")
    width = DIGIT * (len(name) - hyphens) + HYPHEN * hyphens
    return LETTERS * width / 2 + MARGIN, LETTERS * HIGH / 2


def name_places(
    across: Sequence[float], down: Sequence[float], names: Sequence[str]
) -> list[tuple[float, float] | None]:
    """Find room for the names of points: at a corner or a side, hiding no point and no name.

    Parameters
    ----------
    across, down : sequence of float
        Where the points are, in pixels.
    names : sequence of str
        The names; empty for a point that is not to be named.

    Returns
    -------
    list
        The middle of each name in pixels; None for a point without a name or without room for it.

    Examples
    --------
    >>> places = name_places([50, 120], [50, 50], ["1-3", ""])
    >>> places[1] is None
    True
    """
    taken = [(x, y, POINT, POINT) for x, y in zip(across, down, strict=True)]
    places: list[tuple[float, float] | None] = []
    for x, y, name in zip(across, down, names, strict=True):
        half, high = name_size(name)
        beside, above = half + POINT + 2, high + POINT + 1
        around = [(1, -1), (-1, -1), (1, 1), (-1, 1), (1, 0), (-1, 0), (0, -1), (0, 1)]
        boxes = [(x + dx * beside, y + dy * above, half, high) for dx, dy in around]
        free = [box for box in boxes if not any(_touch(box, other) for other in taken)]
        if not name or not free:
            places.append(None)
            continue
        taken.append(free[0])
        places.append(free[0][:2])
    return places


def _touch(one: Box, other: Box) -> bool:
    """Tell whether two boxes (middle across and down, half width and height) overlap."""
    return abs(one[0] - other[0]) < one[2] + other[2] and abs(one[1] - other[1]) < one[3] + other[3]


def _colours(colour: str, categories: list[str] | None) -> dict[str, Any]:
    """Return the encodings of colour and shape."""
    if categories is None:
        numbers = alt.Scale(scheme="viridis")
        below = alt.Legend(orient="bottom", columns=12)
        return {"color": alt.Color(f"{colour}:O", scale=numbers, title=colour, legend=below)}
    named = len(categories) - 1
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=240)
    colours = alt.Scale(domain=categories, range=[*(MORE * 4)[:named], OTHERS])
    shapes = alt.Scale(domain=categories, range=[*(SHAPES * 4)[:named], "circle"])
    return {
        "color": alt.Color(f"{colour}:N", scale=colours, title=colour, legend=legend),
        "shape": alt.Shape(f"{colour}:N", scale=shapes, title=colour, legend=legend),
    }
