"""Heads as points in the plane (Clark et al. 2019, Fig. 6), and accuracies against a baseline as ranked dots."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.style import BLUE, COLOURS, styled

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
MORE = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C6D31", "#6B6ECF"]


def head_points(
    points: pd.DataFrame,
    *,
    title: str,
    subtitle: str = "",
    colour: str,
    categories: list[str] | None = None,
) -> Any:
    """One point a head, named on hover. ``points`` has name, x, y and the column that colours them: a category, or a number (the layer)."""
    base = alt.Chart(points, width=380, height=340).encode(
        x=alt.X(
            "x:Q",
            title=None,
            axis=alt.Axis(labels=False, ticks=False),
            scale=alt.Scale(zero=False, nice=True),
        ),
        y=alt.Y(
            "y:Q",
            title=None,
            axis=alt.Axis(labels=False, ticks=False),
            scale=alt.Scale(zero=False, nice=True),
        ),
        tooltip=[alt.Tooltip("name:N", title="head"), alt.Tooltip(f"{colour}:N")],
    )
    if categories is None:
        marks = base.mark_point(filled=True, size=75, opacity=0.9).encode(
            color=alt.Color(f"{colour}:O", scale=alt.Scale(scheme="viridis"), title=colour)
        )
    else:
        named = len(categories) - 1  # the last category is "none of these", in grey
        colours = [*(MORE * 4)[:named], "#c4c9cf"]
        shapes = [*(SHAPES * 4)[:named], "circle"]
        marks = base.mark_point(filled=True, size=75, opacity=0.9).encode(
            color=alt.Color(
                f"{colour}:N", scale=alt.Scale(domain=categories, range=colours), title=colour
            ),
            shape=alt.Shape(
                f"{colour}:N", scale=alt.Scale(domain=categories, range=shapes), title=colour
            ),
        )
    return styled(marks, title, subtitle)


def ranked_bars(
    table: pd.DataFrame, *, label: str, title: str, subtitle: str = "", unit: str = "accuracy"
) -> Any:
    """A row a label: the value as a dot with its interval (columns accuracy, low, high), the baseline as an open square."""
    frame = table.copy()
    frame["order"] = range(len(frame))
    rows = alt.Y(f"{label}:N", sort=alt.SortField("order"), title=None)
    x = alt.Scale(domain=[0, 1])
    base = alt.Chart(frame, width=420, height=max(120, 19 * len(frame)))
    shown = [
        alt.Tooltip(f"{name}:N")
        if frame[name].dtype == object
        else alt.Tooltip(f"{name}:Q", format=".3f")
        for name in frame.columns
        if name != "order"
    ]
    intervals = base.mark_rule(color=BLUE, strokeWidth=2).encode(
        y=rows, x=alt.X("low:Q", scale=x, title=unit), x2="high:Q"
    )
    long = frame.melt(
        id_vars=[label, "order"],
        value_vars=["accuracy", "baseline"],
        var_name="what",
        value_name="value",
    )
    long["what"] = long["what"].map({"accuracy": "best head", "baseline": "baseline"})
    dots = (
        alt.Chart(long)
        .mark_point(filled=True, size=60)
        .encode(
            y=rows,
            x=alt.X("value:Q", scale=x, title=unit),
            color=alt.Color(
                "what:N",
                scale=alt.Scale(domain=["best head", "baseline"], range=[BLUE, COLOURS[1]]),
                title=None,
            ),
            shape=alt.Shape(
                "what:N",
                scale=alt.Scale(domain=["best head", "baseline"], range=["circle", "square"]),
                title=None,
            ),
        )
    )
    names = base.mark_text(align="left", dx=10, fontSize=10, color="#444").encode(
        y=rows, x=alt.X("high:Q", scale=x), text="head:N", tooltip=shown
    )
    return styled(alt.layer(intervals, dots, names), title, subtitle)
