"""What disabling heads does (Kovaleva et al. 2019, Fig. 8 and 9), gradient importance beside it, and the pruning curve."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from headscope.figures.gallery import figure
from headscope.figures.heat import heat_map
from headscope.figures.style import BLUE, GREY, ORANGE, styled, subject
from headscope.results import Results
from headscope.stats.ablation import change_table
from headscope.stats.importance import agreement

ALPHA = 0.05
CURVES = {"greedy": BLUE, "importance": "#009E73", "random": "#888888"}


@figure(
    "head-off",
    title="Score with one head off",
    caption="As Kovaleva et al. 2019, Figure 8. White is the baseline with no head off, blue is better, orange worse; a frame marks p < 0.05, corrected over all heads.",
    needs=("head_off",),
)
def head_off(results: Results) -> Any:
    """One square a head: its colour is the change from the baseline; hover for score, interval and p."""
    data = results["head_off"]
    metric, baseline = str(data.attrs["metric"]), float(data.attrs["baseline"])
    frame = _frame(data, ["layer", "head"])
    reach = float(frame["difference"].abs().max()) or 1e-3
    better_up = data.attrs["better"] == "higher"
    colours = alt.Scale(
        domain=[baseline - reach, baseline, baseline + reach],
        range=[ORANGE, "#ffffff", BLUE] if better_up else [BLUE, "#ffffff", ORANGE],
        interpolate="rgb",
    )
    heads, layers = data.sizes["head"], data.sizes["layer"]
    size = 36 if heads <= 16 else 20
    base = alt.Chart(frame, width=size * heads, height=size * 0.8 * layers).encode(
        x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("layer:O", title="layer", sort="descending"),
        tooltip=_tooltip(metric),
    )
    known = base.transform_filter("isValid(datum.score)")
    marks = [
        base.transform_filter("!isValid(datum.score)").mark_rect(color=GREY),
        known.mark_rect().encode(
            color=alt.Color("score:Q", scale=colours, title=f"{metric}, baseline {baseline:.3f}")
        ),
        base.transform_filter(f"datum.p_corrected < {ALPHA}").mark_rect(
            filled=False, stroke="black", strokeWidth=2
        ),
    ]
    if heads <= 16:
        marks.append(
            known.mark_text(fontSize=9).encode(
                text=alt.Text("score:Q", format=".3f" if reach < 0.1 else ".2f")
            )
        )
    return styled(
        alt.layer(*marks),
        f"{metric} with one head off ({data.attrs['way']})",
        subject(results.provenance),
    )


@figure(
    "layer-off",
    title="Score with one layer off",
    caption="As Kovaleva et al. 2019, Figure 9. The orange line is the baseline with no layer off; whiskers are the 95 % interval of the difference from it (paired bootstrap).",
    needs=("layer_off",),
)
def layer_off(results: Results) -> Any:
    """One bar a layer, from the baseline to its score."""
    data = results["layer_off"]
    metric, baseline = str(data.attrs["metric"]), float(data.attrs["baseline"])
    frame = _frame(data, ["layer"])
    frame["baseline"] = baseline
    frame["from"], frame["to"] = (
        baseline + frame["difference_low"],
        baseline + frame["difference_high"],
    )
    scale = alt.Scale(zero=False, nice=True)
    base = alt.Chart(frame, width=max(240, 36 * len(frame)), height=240).encode(
        x=alt.X("layer:O", title="layer off", axis=alt.Axis(labelAngle=0)), tooltip=_tooltip(metric)
    )
    bars = base.mark_bar(color=BLUE, opacity=0.8).encode(
        y=alt.Y("score:Q", scale=scale, title=metric), y2="baseline:Q"
    )
    whiskers = base.mark_rule(color="black").encode(
        y=alt.Y("from:Q", scale=scale, title=metric), y2="to:Q"
    )
    line = (
        alt.Chart(pd.DataFrame({"score": [baseline]}))
        .mark_rule(color=ORANGE, strokeWidth=2)
        .encode(y=alt.Y("score:Q", scale=scale, title=metric))
    )
    return styled(
        alt.layer(bars, whiskers, line),
        f"{metric} with one layer off ({data.attrs['way']})",
        f"{subject(results.provenance)}; baseline {baseline:.3f}",
    )


@figure(
    "importance",
    title="Gradient head importance",
    caption="Michel et al. 2019: how much the loss changes with a gate on each head's output, |∂loss/∂ξ|.",
    needs=("importance",),
)
def importance(results: Results) -> Any:
    """A heat map of importance."""
    data = results["importance"]
    return heat_map(
        data["mean"],
        title="Gradient head importance",
        subtitle=subject(results.provenance),
        unit="mean |∂loss/∂ξ|",
        low=data["low"],
        high=data["high"],
    )


@figure(
    "importance-agreement",
    title="Importance against disabling",
    caption="One point a head: gradient importance, and what disabling the head does to the score. Spearman's correlation with its 95 % interval over examples.",
    needs=("importance", "head_off", "ablation"),
)
def importance_agreement(results: Results) -> Any:
    """One point a head."""
    table = change_table(results)
    values = results["importance"]["mean"].to_dataframe(name="importance").reset_index()
    values["head off"] = values["layer"].astype(str) + "-" + values["head"].astype(str)
    frame = values.merge(table, on="head off").rename(columns={"head off": "name"})
    row = agreement(results).iloc[0]
    points = (
        alt.Chart(frame, width=380, height=280)
        .mark_point(filled=True, size=50, opacity=0.85)
        .encode(
            x=alt.X("importance:Q", title="mean |∂loss/∂ξ|", scale=alt.Scale(zero=False)),
            y=alt.Y("gain:Q", title="gain from disabling"),
            color=alt.Color("layer:O", scale=alt.Scale(scheme="viridis"), title="layer"),
            tooltip=[
                alt.Tooltip("name:N", title="head"),
                alt.Tooltip("importance:Q", format=".4f"),
                alt.Tooltip("gain:Q", format=".4f"),
            ],
        )
    )
    zero = alt.Chart(pd.DataFrame({"gain": [0.0]})).mark_rule(color=ORANGE).encode(y="gain:Q")
    told = f"ρ with the {row['importance against']} = {row['Spearman']:.2f} ({row['low']:.2f} … {row['high']:.2f})"
    return styled(
        alt.layer(zero, points),
        "Importance against disabling",
        f"{subject(results.provenance)}; {told}",
    )


@figure(
    "pruning",
    title="Score against heads left",
    caption="Heads taken away by gradient importance once, greedily with the rest scored again, and at random. They are chosen on half of the examples; the curves are of the other half, with 95 % intervals of the difference from the whole model (paired bootstrap).",
    needs=("pruning",),
)
def pruning(results: Results) -> Any:
    """One curve an order of pruning, with its band; the orange line is the whole model."""
    data = results["pruning"]
    metric = str(data.attrs["metric"])
    frame = (
        data[["kind", "left", "mean", "difference_low", "difference_high"]]
        .to_dataframe()
        .reset_index()
        .rename(columns={"mean": "score"})
    )
    baseline = float(frame.loc[frame["kind"] == "baseline", "score"].iloc[0])
    frame["low"], frame["high"] = (
        baseline + frame["difference_low"],
        baseline + frame["difference_high"],
    )
    whole = frame[frame["kind"] == "baseline"]
    curves = pd.concat(
        [
            frame[frame["kind"] != "baseline"],
            *(whole.assign(kind=kind) for kind in CURVES if kind in set(frame["kind"])),
        ],
        ignore_index=True,
    )
    there = [kind for kind in CURVES if kind in set(curves["kind"])]
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=there, range=[CURVES[kind] for kind in there]),
        title="heads go by",
    )
    x = alt.X("left:Q", title="heads left", scale=alt.Scale(reverse=True, nice=False))
    scale = alt.Scale(zero=False)
    base = alt.Chart(curves, width=420, height=280)
    band = base.mark_area(opacity=0.15).encode(
        x=x, y=alt.Y("low:Q", scale=scale, title=metric), y2="high:Q", color=colour
    )
    shown = [
        alt.Tooltip("kind:N", title="by"),
        alt.Tooltip("left:Q", title="heads left"),
        *(alt.Tooltip(f"{name}:Q", format=".3f") for name in ("score", "low", "high")),
    ]
    lines = base.mark_line(point=True).encode(
        x=x, y=alt.Y("score:Q", scale=scale, title=metric), color=colour, tooltip=shown
    )
    rule = (
        alt.Chart(whole)
        .mark_rule(color=ORANGE, strokeWidth=2)
        .encode(y=alt.Y("score:Q", scale=scale, title=metric))
    )
    return styled(
        alt.layer(band, rule, lines),
        f"{metric} against heads left ({data.attrs['way']})",
        f"{subject(results.provenance)}, {int(data['n'].max())} of them for the curves",
    )


def _frame(data: xr.Dataset, by: list[str]) -> pd.DataFrame:
    """Scores and differences as rows, with a name for people."""
    names = ["mean", "difference", "difference_low", "difference_high", "p", "p_corrected"]
    frame = data[names].to_dataframe().reset_index().rename(columns={"mean": "score"})
    frame["name"] = frame[by].astype(str).agg("-".join, axis=1)
    return frame.replace([np.inf, -np.inf], np.nan)


def _tooltip(metric: str) -> list[Any]:
    titles = {
        "score": metric,
        "difference": "change",
        "difference_low": "95 % from",
        "difference_high": "to",
    }
    return [
        alt.Tooltip("name:N", title="off"),
        *(alt.Tooltip(f"{name}:Q", format=".4f", title=title) for name, title in titles.items()),
        alt.Tooltip("p:Q", format=".2g"),
        alt.Tooltip("p_corrected:Q", format=".2g", title="p corrected"),
    ]
