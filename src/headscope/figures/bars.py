"""Accuracies against a baseline: one row per label, ranked."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.style import BLUE, ORANGE, styled

SERIES = {"accuracy": "best head", "baseline": "best fixed offset"}
WIDTH, ROW = 310, 20
BESIDE = "words beside"
"""The column that is written beside the rows."""


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
    base = alt.Chart(frame, width=WIDTH, height=max(120, ROW * len(frame)))
    intervals = base.mark_rule(color=BLUE, strokeWidth=2).encode(
        y=rows, x=alt.X("low:Q", scale=scale, title=unit), x2="high:Q"
    )
    text = BESIDE if BESIDE in frame else "head"
    names = base.mark_text(align="left", fontSize=11, color="#444").encode(
        y=rows, x=alt.value(WIDTH + 8), text=f"{text}:N", tooltip=_tooltip(table)
    )
    dots = _dots(frame, label, rows, alt.X("value:Q", scale=scale, title=unit))
    return styled(alt.layer(intervals, dots, names), title, subtitle)


def _dots(frame: pd.DataFrame, label: str, rows: alt.Y, x: alt.X) -> Any:
    """Draw the accuracy as a circle and the baseline as a square."""
    long = frame.melt(
        id_vars=[label, "order"], value_vars=list(SERIES), var_name="what", value_name="value"
    )
    long["what"] = long["what"].map(SERIES)
    names = list(SERIES.values())
    legend = alt.Legend(orient="top", title=None)
    colours = alt.Scale(domain=names, range=[BLUE, ORANGE])
    shapes = alt.Scale(domain=names, range=["circle", "square"])
    return (
        alt.Chart(long)
        .mark_point(filled=True, size=60)
        .encode(
            y=rows,
            x=x,
            color=alt.Color("what:N", scale=colours, legend=legend),
            shape=alt.Shape("what:N", scale=shapes, legend=legend),
        )
    )


def _tooltip(table: pd.DataFrame) -> list[Any]:
    """Show every column of the table; counts whole, p-values however small."""
    shown = []
    for name in map(str, table.columns):
        if pd.api.types.is_float_dtype(table[name]):
            shown.append(alt.Tooltip(f"{name}:Q", format=".2g" if name[:1] == "p" else ".3f"))
        else:
            shown.append(alt.Tooltip(f"{name}:N"))
    return shown
