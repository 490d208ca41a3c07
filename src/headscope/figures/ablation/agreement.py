"""Gradient importance against what disabling a head does."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.style import ORANGE, styled, subject
from headscope.figures.tidy import tidy
from headscope.results import Atlas
from headscope.stats.tables.ablation import agreement, change_table


def importance_agreement(results: Atlas) -> Any:
    """Draw one point per head: its importance, and the gain from disabling it."""
    table = change_table(results)
    values = tidy(results["importance"]["mean"]).rename(columns={"value": "importance"})
    frame = values.merge(table, left_on="name", right_on=table.columns[0])
    zero = alt.Chart(pd.DataFrame({"gain": [0.0]})).mark_rule(color=ORANGE).encode(y="gain:Q")
    measure, rho, low, high = agreement(results).iloc[0].tolist()[:4]
    metric = str(results["head_off"].attrs["metric"])
    return styled(
        alt.layer(zero, _points(frame, metric)),
        "Importance against disabling",
        subject(results.provenance),
        f"Spearman's ρ with the {measure}: {rho:.2f} (95 %: {low:.2f} to {high:.2f})",
    )


def _points(frame: pd.DataFrame, metric: str) -> Any:
    """Draw the points, coloured by layer."""
    points = alt.Chart(frame, width=380, height=280).mark_point(filled=True, size=50, opacity=0.85)
    unit = "mean |∂loss/∂ξ| (higher = more important)"
    return points.encode(
        x=alt.X("importance:Q", title=unit, scale=alt.Scale(zero=False)),
        y=alt.Y("gain:Q", title=f"improvement in {metric} with the head disabled"),
        color=alt.Color("layer:O", scale=alt.Scale(scheme="viridis"), title="layer"),
        tooltip=[
            alt.Tooltip("name:N", title="head"),
            alt.Tooltip("importance:Q", format=".4f"),
            alt.Tooltip("gain:Q", format=".4f", title="improvement"),
        ],
    )
