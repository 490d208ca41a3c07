"""Labels of people against predictions of the network that classifies maps."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.patterns.classes import PATTERNS
from headscope.figures.style import either_colour, styled


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
        tooltip=["label:N", "predicted:N", alt.Tooltip("count:Q", title="maps")],
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
