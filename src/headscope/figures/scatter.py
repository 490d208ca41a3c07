"""Heads by layer: one point per head, and a line through the layer means.

Clark et al. 2019 draw Figures 2, 3 and 4 this way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd
import xarray as xr

from headscope.figures.style import COLOURS, styled
from headscope.figures.tidy import tidy

APART, SPREAD = 0.26, 0.2
"""Series stand so many layers apart, and the heads of a layer are spread over so much of it.

Otherwise heads with the same value would hide each other.
"""
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross"]
HALF = {"half": 0.5}
"""Clark et al. 2019 call attention heavy if it is over half of a head's."""
NARROWEST, WIDTH, HEIGHT = 360, 43, 260
"""Pixels of the whole figure's width at least, of a layer's width, and of the height."""


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
    middle = (len(series) - 1) / 2
    frame = pd.concat(
        [
            _series(name, values, (place - middle) * APART)
            for place, (name, values) in enumerate(series.items())
        ],
        ignore_index=True,
    )
    layers = sorted(int(layer) for layer in frame["layer"].unique())
    frame = frame.dropna(subset=["value"])
    limit = top or (1.0 if frame.empty else None)
    y_scale = alt.Scale(domain=[0, limit]) if limit else alt.Scale(zero=True)
    x = _layer_axis("layer", layers)
    marks = _marks(frame, list(series), x, _layer_axis("place", layers), y_scale, unit)
    if line is not None:
        marks += _reference(line, line_name, x)
    if frame.empty:
        words = pd.DataFrame({"what": ["not defined for this model or corpus"]})
        marks.append(alt.Chart(words).mark_text(color="#555").encode(text="what:N"))
    width = max(NARROWEST, WIDTH * len(layers))
    marks = [*_levels(levels or {}, width), *marks]
    return styled(alt.layer(*marks).properties(width=width, height=HEIGHT), title, subtitle)


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


def _series(name: str, values: xr.DataArray, aside: float) -> pd.DataFrame:
    """Return the points of one series; heads of a layer stand side by side, in their order."""
    frame = tidy(values)
    numbers = frame["head"].rank(method="dense") - 1
    spread = SPREAD * (numbers / max(numbers.max(), 1) - 0.5)
    return frame.assign(series=name, place=frame["layer"] + aside + spread)


def _layer_axis(field: str, layers: list[int]) -> alt.X:
    """Return an x axis with a tick at every layer, defined there or not."""
    return alt.X(
        f"{field}:Q",
        title="layer",
        axis=alt.Axis(values=layers, format="d", grid=False),
        scale=alt.Scale(domain=[layers[0] - 0.5, layers[-1] + 0.5], nice=False),
    )


def _marks(
    frame: pd.DataFrame, names: list[str], x: alt.X, place: alt.X, y: alt.Scale, unit: str
) -> list[Any]:
    """Draw the lines of means, and the points over them."""
    legend = alt.Legend(orient="top", offset=6, labelLimit=300)
    colours = alt.Scale(domain=names, range=COLOURS[: len(names)])
    colour = alt.Color("series:N", scale=colours, title=None, legend=legend)
    shapes = alt.Scale(domain=names, range=SHAPES[: len(names)])
    points = alt.Chart(frame).mark_point(filled=False, size=30, strokeWidth=1.3)
    means = alt.Chart(frame).mark_line(strokeWidth=2)
    return [
        means.encode(x=x, y=alt.Y("mean(value):Q", title=unit), color=colour),
        points.encode(
            x=place,
            y=alt.Y("value:Q", title=unit, scale=y),
            color=colour,
            shape=alt.Shape("series:N", scale=shapes, title=None, legend=legend),
            tooltip=[
                alt.Tooltip("name:N", title="head"),
                alt.Tooltip("series:N", title="statistic"),
                alt.Tooltip("value:Q", format=".3f", title=unit),
            ],
        ),
    ]


def _reference(line: xr.DataArray, name: str, x: alt.X) -> list[Any]:
    """Draw a dashed reference line with its name at the end."""
    frame = line.mean("head").to_dataframe(name="value").reset_index().assign(what=name)
    dashed = alt.Chart(frame).mark_line(strokeDash=[5, 4], color="#555")
    words = alt.Chart(frame.tail(1)).mark_text(align="right", dy=-7, color="#555")
    return [dashed.encode(x=x, y="value:Q"), words.encode(x=x, y="value:Q", text="what:N")]


def _levels(levels: Mapping[str, float], width: int) -> list[Any]:
    """Draw thin lines across the figure, with their names to the right of it."""
    if not levels:
        return []
    frame = pd.DataFrame([{"value": value, "what": name} for name, value in levels.items()])
    rules = alt.Chart(frame).mark_rule(color="#999", strokeDash=[2, 2])
    words = alt.Chart(frame).mark_text(align="left", fontSize=11, color="#666")
    return [
        rules.encode(y="value:Q"),
        words.encode(x=alt.value(width + 5), y="value:Q", text="what:N"),
    ]
