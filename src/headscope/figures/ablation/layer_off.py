"""The score with each layer disabled (Kovaleva et al. 2019, Figure 9)."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from headscope.figures.ablation.scores import (
    metric_text,
    score_frame,
    score_tooltip,
    sentence_case,
    way_text,
    within,
)
from headscope.figures.style import BLUE, ORANGE, styled, subject
from headscope.results import Atlas

LEAST = 0.01
"""The axis spans at least this much, so that bars that do not move do not fill it."""


def layer_off(results: Atlas) -> Any:
    """Draw one bar per layer, from the baseline to the score without it."""
    data = results["layer_off"]
    metric, baseline = str(data.attrs["metric"]), float(data.attrs["baseline"])
    return styled(
        layer_bars(data),
        f"{sentence_case(metric)} with one layer disabled",
        subject(results.provenance),
        way_text(data.attrs["way"]),
        f"orange line: no layer disabled ({baseline:.3f})",
    )


def layer_bars(data: xr.Dataset, *, bar: int = 36, height: int = 240) -> Any:
    """Draw bars, whiskers and the baseline, without titles.

    Parameters
    ----------
    data : Dataset
        The scores with one layer disabled (``layer_off``).
    bar, height : int
        Pixels of a bar's width, and of the chart's height.

    Returns
    -------
    altair chart
    """
    metric, baseline = str(data.attrs["metric"]), float(data.attrs["baseline"])
    frame = score_frame(data, ["layer"]).assign(baseline=baseline)
    frame["from"] = within(baseline + frame["difference_low"], metric)
    frame["to"] = within(baseline + frame["difference_high"], metric)
    scale = alt.Scale(domain=axis_ends(frame, baseline), zero=False, nice=True)
    title = metric_text(metric, str(data.attrs["better"]))
    base = alt.Chart(frame, width=max(bar * 20 // 3, bar * len(frame)), height=height).encode(
        x=alt.X("layer:O", title="layer disabled", axis=alt.Axis(labelAngle=0)),
        tooltip=score_tooltip(metric),
    )
    bars = base.mark_bar(color=BLUE, opacity=0.8).encode(
        y=alt.Y("score:Q", scale=scale, title=title), y2="baseline:Q"
    )
    whiskers = base.mark_rule(color="black").encode(
        y=alt.Y("from:Q", scale=scale, title=title), y2="to:Q"
    )
    line = alt.Chart(pd.DataFrame({"score": [baseline]})).mark_rule(color=ORANGE, strokeWidth=2)
    return alt.layer(bars, whiskers, line.encode(y=alt.Y("score:Q", scale=scale, title=title)))


def axis_ends(frame: pd.DataFrame, baseline: float) -> list[float]:
    """Return the ends of an axis that holds bars, whiskers and baseline.

    Left to itself, Vega draws an axis from 0 to 1 or of no height where all scores are equal.

    Parameters
    ----------
    frame : DataFrame
        With the columns score, from and to; NaN where there is none.
    baseline : float
        The score with nothing disabled.

    Returns
    -------
    list of float
        Two different numbers.

    Examples
    --------
    >>> same = pd.DataFrame({"score": [0.5, 0.5], "from": [0.5, 0.5], "to": [0.5, 0.5]})
    >>> axis_ends(same, 0.5)
    [0.495, 0.505]
    """
    values = [baseline, *frame[["score", "from", "to"]].to_numpy(float).ravel()]
    known = [value for value in values if np.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    missing = max(0.0, LEAST - (high - low)) / 2
    return [low - missing, high + missing]
