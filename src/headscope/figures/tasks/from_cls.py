"""Attention from [CLS] in the last layer, one panel per task (Kovaleva et al. 2019, Figure 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from headscope.figures.from_cls import cls_frame
from headscope.figures.squares import coloured
from headscope.figures.style import legend_ticks, legend_title, styled, subjects
from headscope.results import Atlas

SIDE = 15
"""Pixels of a square."""
WIDEST = 3
"""Panels in a row; the first has the names of the features."""
UNIT = "share of attention, 0–1"


def from_cls_by_task(results: Mapping[str, Atlas]) -> Any:
    """Draw heads by features for the last layer of every task's model, on one scale.

    Parameters
    ----------
    results : mapping of str to Atlas
        Surveys of fine-tuned models with the measure ``link``, by the name of the task.

    Returns
    -------
    altair chart
        One panel per task; columns are heads, rows are features.
    """
    frames = {name: cls_frame(one.mean("link").isel(layer=-1)) for name, one in results.items()}
    values = np.concatenate([frame["value"].to_numpy() for frame in frames.values()])
    known = values[np.isfinite(values)]
    most = float(known.max()) if known.size and known.max() > 0 else 1.0
    scale = alt.Scale(scheme="viridis", domain=[0, most])
    legend = alt.Legend(gradientThickness=8, labelFontSize=8, **legend_ticks(0.0, most))
    colour = alt.Color("value:Q", scale=scale, title=legend_title(UNIT), legend=legend)
    shown = [
        alt.Tooltip("feature:N"),
        alt.Tooltip("head:O"),
        alt.Tooltip("value:Q", format=".3f", title=UNIT),
    ]
    charts = []
    for place, (name, frame) in enumerate(frames.items()):
        order, heads = list(dict.fromkeys(frame["feature"])), frame["head"].nunique()
        first = place % WIDEST == 0
        axis = alt.Axis(labelFontSize=9, labels=first, ticks=first)
        base = alt.Chart(frame, width=SIDE * heads, height=SIDE * len(order)).encode(
            x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0, labelFontSize=8)),
            y=alt.Y("feature:N", sort=order, title=None, axis=axis),
        )
        heading = alt.TitleParams(name, fontSize=11, anchor="middle")
        charts.append(alt.layer(*coloured(base, colour, shown)).properties(title=heading))
    panel = alt.concat(*charts, columns=WIDEST, spacing=14).resolve_scale(color="shared")
    abouts = [one.provenance for one in results.values()]
    title = "Attention from [CLS] in the last layer"
    return styled(panel, title, subjects(abouts), "all panels have one colour scale")
