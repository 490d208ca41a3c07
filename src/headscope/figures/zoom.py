"""One map between words, with a zoom on the row of one of them (Kovaleva et al. 2019, Figure 3)."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.figures.style import BLUE, GREY, RED, either_colour, legend_ticks

SIDE = 20
"""Pixels of a cell."""
ZOOM = 70
"""Pixels of the bars' height."""


def map_with_zoom(
    words: Sequence[str],
    attention: NDArray[Any],
    *,
    row: int,
    marked: Collection[int] = (),
    title: str,
) -> Any:
    """Draw a map between words, and bars of the attention from one of them.

    Parameters
    ----------
    words : sequence of str
        The words.
    attention : array
        Weights, (from, to).
    row : int
        The word whose attention is shown as bars.
    marked : collection of int
        Words whose bars are red.
    title : str
        Above the map.

    Returns
    -------
    altair chart
        Map above, bars below.

    Examples
    --------
    >>> chart = map_with_zoom(["He", "left"], np.array([[1, 0], [0.9, 0.1]]), row=1, title="6-5")
    >>> [len(rows) for rows in chart.to_dict()["datasets"].values()]
    [4, 2]
    """
    weights = np.asarray(attention, float)
    number = len(words)
    names = f"{json.dumps(list(words), ensure_ascii=False)}[datum.value]"
    cells = pd.DataFrame(
        [
            {"from": one, "to": two, "weight": weights[one, two]}
            for one in range(number)
            for two in range(number)
        ]
    )
    most = float(weights.max()) or 1.0
    below = alt.Axis(labelExpr=names, labelAngle=-50, labelFontSize=10)
    beside = alt.Axis(labelExpr=names, labelFontSize=10)
    shown = [alt.Tooltip("weight:Q", format=".3f")]
    legend = alt.Legend(
        gradientThickness=8, labelFontSize=8, title="weight", **legend_ticks(0, most)
    )
    heat = (
        alt.Chart(cells, width=SIDE * number, height=SIDE * number)
        .mark_rect()
        .encode(
            x=alt.X("to:O", title=None, axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y("from:O", title="from", axis=beside),
            color=alt.Color(
                "weight:Q", scale=alt.Scale(scheme="viridis", domain=[0, most]), legend=legend
            ),
            tooltip=shown,
        )
        .properties(title=alt.TitleParams(title, fontSize=12, anchor="middle"))
    )
    line = pd.DataFrame(
        [{"to": two, "weight": weights[row, two], "marked": two in marked} for two in range(number)]
    )
    bars = (
        alt.Chart(line, width=SIDE * number, height=ZOOM)
        .mark_bar()
        .encode(
            x=alt.X("to:O", title=None, axis=below),
            y=alt.Y("weight:Q", title=f"from “{words[row]}”", axis=alt.Axis(gridColor=GREY)),
            color=either_colour("datum.marked", RED, BLUE),
            tooltip=shown,
        )
    )
    return alt.vconcat(heat, bars, spacing=8)
