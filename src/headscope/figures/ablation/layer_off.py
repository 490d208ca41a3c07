"""The score with each layer disabled (Kovaleva et al. 2019, Figure 9)."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

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


def layer_off(results: Atlas) -> Any:
    """Draw one bar per layer, from the baseline to the score without it."""
    data = results["layer_off"]
    metric, baseline = str(data.attrs["metric"]), float(data.attrs["baseline"])
    frame = score_frame(data, ["layer"]).assign(baseline=baseline)
    frame["from"] = within(baseline + frame["difference_low"], metric)
    frame["to"] = within(baseline + frame["difference_high"], metric)
    scale = alt.Scale(zero=False, nice=True)
    title = metric_text(metric, str(data.attrs["better"]))
    base = alt.Chart(frame, width=max(240, 36 * len(frame)), height=240).encode(
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
    return styled(
        alt.layer(bars, whiskers, line.encode(y=alt.Y("score:Q", scale=scale, title=title))),
        f"{sentence_case(metric)} with one layer disabled",
        subject(results.provenance),
        way_text(data.attrs["way"]),
        f"orange line: no layer disabled ({baseline:.3f})",
    )
