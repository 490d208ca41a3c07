"""The loss of a language model with groups of heads disabled, beside other heads."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.style import BLUE, ORANGE, styled, subject
from headscope.results import Atlas
from headscope.stats.tables.ablation import NAME, group_table

WIDTH, ROW = 420, 44
PALE = "#9aa3ad"
OWN, OTHERS = "the group, with its interval", "other heads of the same layers, one tick per draw"


def group_losses_chart(results: Atlas) -> Any:
    """Draw one row per group: the rise of the loss on new and on repeated text.

    Parameters
    ----------
    results : Atlas
        Results of :func:`headscope.group_losses`.

    Returns
    -------
    altair chart
        Dots with 95 % intervals for the group, grey ticks for draws of as many other heads.
    """
    table = group_table(results)
    order = list(dict.fromkeys(table["group"]))
    data = results[NAME]
    drawn = pd.DataFrame(
        [
            {"group": str(name), "text": str(text), "rise": float(value)}
            for at, name in enumerate(data["disabled"].values)
            for copy, text in enumerate(data["text"].values)
            for value in data["draw"].values[at, :, copy]
        ]
    )
    rows = alt.Y("group:N", sort=order, title=None, axis=alt.Axis(labelLimit=200))
    offset = alt.YOffset("text:N", sort=["new", "repeated"])
    colour = alt.Color(
        "text:N",
        title=["text that the", "model reads"],
        sort=["new", "repeated"],
        scale=alt.Scale(domain=["new", "repeated"], range=[BLUE, ORANGE]),
    )
    unit = "rise of the loss, nats per token"
    height = max(120, ROW * len(order))
    ticks = (
        alt.Chart(drawn)
        .mark_tick(color=PALE, thickness=1.5, size=10, opacity=0.8)
        .encode(y=rows, yOffset=offset, x=alt.X("rise:Q", title=unit))
    )
    base = alt.Chart(table).encode(y=rows, yOffset=offset, color=colour)
    intervals = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=unit), x2="high:Q")
    dots = base.mark_circle(size=70, opacity=1).encode(
        x=alt.X("rise:Q", title=unit),
        tooltip=[
            alt.Tooltip("group:N"),
            alt.Tooltip("heads:N"),
            alt.Tooltip("text:N"),
            alt.Tooltip("rise:Q", format=".3f"),
            alt.Tooltip("low:Q", format=".3f", title="95 % from"),
            alt.Tooltip("high:Q", format=".3f", title="to"),
            alt.Tooltip("others:Q", format=".3f", title="other heads, mean"),
            alt.Tooltip("p:Q", format=".2g"),
        ],
    )
    chart = alt.layer(ticks, intervals, dots).properties(width=WIDTH, height=height)
    return styled(
        chart,
        "Loss with heads disabled",
        subject(results.provenance),
        f"dots: {OWN}",
        f"grey: {OTHERS}",
    )
