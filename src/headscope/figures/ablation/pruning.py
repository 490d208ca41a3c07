"""The score as heads are removed one after the other (Michel et al. 2019, §4.2)."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd
import xarray as xr

from headscope.figures.ablation.scores import metric_text, sentence_case, way_text, within
from headscope.figures.style import BLUE, GREEN, ORANGE, styled, subject
from headscope.results import Atlas

ORDERS = {"greedy": BLUE, "importance": GREEN, "random": "#888888"}
"""The orders in which heads are removed, and their colours."""
WHOLE = "baseline"
"""The kind of the run with all heads."""


def pruning(results: Atlas) -> Any:
    """Draw one curve per order of pruning, with its band; the orange line is the whole model."""
    data = results["pruning"]
    metric = str(data.attrs["metric"])
    frame = _curves(data, metric)
    kinds = [kind for kind in ORDERS if kind in set(frame["kind"])]
    whole = frame[frame["kind"] == WHOLE]
    # Every curve begins at the whole model.
    starts = [whole.assign(kind=kind) for kind in kinds]
    curves = pd.concat([frame[frame["kind"] != WHOLE], *starts], ignore_index=True)
    scale = alt.Scale(zero=False)
    title = metric_text(metric, str(data.attrs["better"]))
    rule = alt.Chart(whole).mark_rule(color=ORANGE, strokeWidth=2)
    band, lines = _marks(curves, kinds, scale, title)
    return styled(
        alt.layer(band, rule.encode(y=alt.Y("score:Q", scale=scale, title=title)), lines),
        f"{sentence_case(metric)} against the number of remaining heads",
        f"{subject(results.provenance)}; curves scored on {int(data['n'].max())}",
        f"{way_text(data.attrs['way'])}; orange line: all heads",
    )


def _curves(data: xr.Dataset, metric: str) -> pd.DataFrame:
    """Return the scores with the paired interval, laid around the baseline."""
    names = ["kind", "left", "mean", "difference_low", "difference_high"]
    frame = data[names].to_dataframe().reset_index().rename(columns={"mean": "score"})
    baseline = float(frame.loc[frame["kind"] == WHOLE, "score"].iloc[0])
    return frame.assign(
        low=within(baseline + frame["difference_low"], metric),
        high=within(baseline + frame["difference_high"], metric),
    )


def _marks(curves: pd.DataFrame, kinds: list[str], scale: alt.Scale, title: str) -> tuple[Any, Any]:
    """Draw the bands and the lines."""
    colours = alt.Scale(domain=kinds, range=[ORDERS[kind] for kind in kinds])
    legend = alt.Legend(symbolOpacity=1, symbolType="stroke", symbolStrokeWidth=3, symbolSize=200)
    colour = alt.Color("kind:N", scale=colours, title="order of removal", legend=legend)
    x = alt.X("left:Q", title="remaining heads", scale=alt.Scale(reverse=True, nice=False))
    base = alt.Chart(curves, width=420, height=280)
    band = base.mark_area(opacity=0.15).encode(
        x=x, y=alt.Y("low:Q", scale=scale, title=title), y2="high:Q", color=colour
    )
    shown = [
        alt.Tooltip("kind:N", title="order of removal"),
        alt.Tooltip("left:Q", title="remaining heads"),
        *(alt.Tooltip(f"{name}:Q", format=".3f") for name in ("score", "low", "high")),
    ]
    lines = base.mark_line(point=True).encode(
        x=x, y=alt.Y("score:Q", scale=scale, title=title), color=colour, tooltip=shown
    )
    return band, lines
