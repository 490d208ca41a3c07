"""A grid with one square per head: x is the head, y the layer, layer 1 at the bottom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.style import GREY, RED, either_colour
from headscope.heads import Head

ROOMY = 16
"""Up to so many heads per layer, squares are large enough for a number."""
LARGE, SMALL = 34, 20
"""Pixels of a square's width in models with few and with many heads per layer."""
HIGH = 0.8
"""A square's height as a share of its width."""


def square_side(heads: int) -> int:
    """Return how many pixels wide the square of a head is.

    Examples
    --------
    >>> square_side(12), square_side(32)
    (34, 20)
    """
    return LARGE if heads <= ROOMY else SMALL


def legend_length(heads: int, layers: int, side: int = 0) -> float:
    """Return the pixels of a colour legend about as high as the grid.

    Examples
    --------
    >>> round(legend_length(12, 6)), legend_length(12, 48)
    (133, 200)
    """
    return max(60, min(200, (side or square_side(heads)) * HIGH * layers - 30))


def head_squares(frame: pd.DataFrame, heads: int, layers: int, side: int = 0) -> Any:
    """Start a chart with one square per head; marks and colours are up to the caller.

    Parameters
    ----------
    frame : DataFrame
        With columns layer and head.
    heads, layers : int
        How many there are.
    side : int, optional
        The width of a square in pixels; by default as :func:`square_side` says.

    Returns
    -------
    altair chart
        A chart without marks.
    """
    side = side or square_side(heads)
    return alt.Chart(frame, width=side * heads, height=side * HIGH * layers).encode(
        x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("layer:O", title="layer", sort="descending"),
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


def numbered(base: Any, bright_from: float, tooltip: list[Any], format: str = ".2f") -> list[Any]:
    """Print each square's value: black on bright colours, white on dark ones, a dash for none.

    A number lies over its square and would hide the square's tooltip, so it has the same one.
    """
    defined, undefined = split_defined(base)
    ink = either_colour(f"datum.value > {bright_from}", "black", "white")
    return [
        undefined.mark_text(fontSize=9, text="–", color="#555").encode(tooltip=tooltip[:1]),
        defined.mark_text(fontSize=9).encode(
            text=alt.Text("value:Q", format=format), color=ink, tooltip=tooltip
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
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rect(filled=False, stroke=colour, strokeWidth=3)
        .encode(
            x=alt.X("head:O", title="head"),
            y=alt.Y("layer:O", title="layer", sort="descending"),
            tooltip=alt.Tooltip("name:N", title="head"),
        )
    )
