"""Heads as points in the plane (Clark et al. 2019, Figure 6)."""

from __future__ import annotations

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
WIDTH, HEIGHT = 380, 340


def head_points(
    points: pd.DataFrame,
    *,
    title: str,
    subtitle: str = "",
    colour: str,
    categories: list[str] | None = None,
) -> Any:
    """Draw one point per head, named on hover.

    Parameters
    ----------
    points : DataFrame
        With the columns name, x and y, and the one that colours the points.
    title, subtitle : str
        Above the figure.
    colour : str
        The column that colours the points: a number (the layer), or a category.
    categories : list of str, optional
        The categories in the order of the legend; the last one, "none of these", is grey. Without
        them, ``colour`` is a number.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> points = pd.DataFrame({"name": ["1-1"], "x": [0.0], "y": [1.0], "layer": [1]})
    >>> chart = head_points(points, title="Heads", colour="layer")
    >>> chart.to_dict()["encoding"]["color"]["title"]
    'layer'
    """
    bare: dict[str, Any] = {
        "axis": alt.Axis(labels=False, ticks=False),
        "scale": alt.Scale(zero=False, nice=True, padding=10),
    }
    marks = (
        alt.Chart(points, width=WIDTH, height=HEIGHT)
        .mark_point(filled=True, size=75, opacity=0.9)
        .encode(
            x=alt.X("x:Q", title="first dimension (no unit)", **bare),
            y=alt.Y("y:Q", title="second dimension (no unit)", **bare),
            tooltip=[alt.Tooltip("name:N", title="head"), alt.Tooltip(f"{colour}:N")],
        )
    )
    if categories is None:
        numbers = alt.Scale(scheme="viridis")
        marks = marks.encode(color=alt.Color(f"{colour}:O", scale=numbers, title=colour))
    else:
        named = len(categories) - 1
        colours = alt.Scale(domain=categories, range=[*(MORE * 4)[:named], OTHERS])
        shapes = alt.Scale(domain=categories, range=[*(SHAPES * 4)[:named], "circle"])
        marks = marks.encode(
            color=alt.Color(f"{colour}:N", scale=colours, title=colour),
            shape=alt.Shape(f"{colour}:N", scale=shapes, title=colour),
        )
    return styled(marks, title, subtitle)
