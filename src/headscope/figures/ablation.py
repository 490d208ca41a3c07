"""Scores with heads or layers disabled, gradient importance, pruning (Michel, Kovaleva 2019)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headscope.figures.builders import (
    ROOMY,
    Scale,
    by_task,
    heading,
    heat_grid,
    heat_map,
    legend_length,
    named,
    shade,
    split_defined,
    squares,
    tips,
)
from headscope.figures.gallery import figure
from headscope.figures.later import alt
from headscope.figures.style import (
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    ORANGE,
    legend_ticks,
    styled,
    subject,
    tidy,
)
from headscope.results import Atlas
from headscope.stats.tables.ablation import NAME, agreement, change_table, group_table
from headscope.stats.tables.cache import NAME as CACHE
from headscope.stats.tables.cache import RANDOM, cache_table
from headscope.tasks.metrics import METRICS, metric_title

WAYS = {
    "uniform": "attention made uniform",
    "zero": "output set to zero",
    "mean": "output replaced by its mean",
}
ALPHA = 0.05

# --- Scores in words and frames -------------------------------------------------------------------


def score_frame(data: xr.Dataset, by: list[str]) -> pd.DataFrame:
    """Return one row per head, layer or set that was disabled.

    Parameters
    ----------
    data : Dataset
        Scores with something disabled, and their differences from the baseline.
    by : list of str
        The dims that name a row.

    Returns
    -------
    DataFrame
        With the columns score, difference and its interval, p, p_corrected and name.
    """
    names = ["mean", "difference", "difference_low", "difference_high", "p", "p_corrected"]
    frame = data[names].to_dataframe().reset_index().rename(columns={"mean": "score"})
    frame["name"] = frame[by].astype(str).agg("-".join, axis=1)
    return frame.replace([np.inf, -np.inf], np.nan)


def within(values: pd.Series, metric: str) -> pd.Series:
    """Keep scores inside the range of their metric.

    Examples
    --------
    >>> within(pd.Series([0.9, 1.1]), "accuracy").tolist()
    [0.9, 1.0]
    """
    return values.clip(METRICS[metric].low, METRICS[metric].high) if metric in METRICS else values


def metric_text(metric: str, better: str) -> str:
    """Write a metric for an axis, with its range or the direction that is better.

    Examples
    --------
    >>> metric_text("accuracy", "higher"), metric_text("loss", "lower")
    ('accuracy, 0–1', 'loss (lower is better)')
    """
    if metric not in METRICS or not math.isfinite(METRICS[metric].high - METRICS[metric].low):
        return f"{metric} ({better} is better)"
    about = METRICS[metric]
    ends = f"{about.low:g}–{about.high:g}" if about.low == 0 else f"{about.low:g} to {about.high:g}"
    return f"{about.title}, {ends}"


def sentence_case(metric: str) -> str:
    """Write a metric at the beginning of a title.

    Examples
    --------
    >>> sentence_case("loss"), sentence_case("f1")
    ('Loss', 'F1')
    """
    title = metric_title(metric)
    return title[:1].upper() + title[1:]


def way_text(way: str) -> str:
    """Say what was done to disabled heads.

    Examples
    --------
    >>> way_text("zero"), way_text("cut to the first 4 and the last 64 tokens")
    ('disabled: output set to zero', 'disabled: cut to the first 4 and the last 64 tokens')
    """
    return f"disabled: {WAYS.get(way, way)}"


def _score_tips(metric: str) -> list[Any]:
    """Show what is disabled, the score, its change with interval, and p."""
    changes = ("difference .4f", "difference_low .4f", "difference_high .4f")
    return tips(
        *("name", "score .4f", *changes, "p .2g", "p_corrected .2g"),
        name="disabled",
        score=metric,
        difference="change",
        difference_low="95 % from",
        difference_high="to",
        p_corrected="p, corrected",
    )


# --- One head or one layer disabled ---------------------------------------------------------------


@figure("head-off", title="Score with one head disabled", needs=["head_off"])
def head_off(results: Atlas) -> Any:
    """After Kovaleva et al. 2019, Figure 8. The colour is the change from the baseline with no head
    disabled: blue is better, orange worse. A frame marks p < 0.05, corrected over all heads.
    """
    data = results["head_off"]
    metric, baseline = str(data.attrs["metric"]), float(data.attrs["baseline"])
    frame = score_frame(data, ["layer", "head"])
    reach = float(frame["difference"].abs().max()) or 1e-3
    ends = [ORANGE, BLUE] if data.attrs["better"] == "higher" else [BLUE, ORANGE]
    heads, layers = data.sizes["head"], data.sizes["layer"]
    roomy = heads <= ROOMY
    side = 36 if roomy else 0  # a score takes more room than a share
    colour = shade(
        "difference",
        (-reach, 0, reach),
        f"change in {metric}",
        scale={
            "range": [ends[0], "#ffffff", ends[1]],
            "interpolate": "rgb",
            "scheme": alt.Undefined,
        },
        gradientLength=legend_length(heads, layers, side),
        labelExpr="datum.value == 0 ? '0' : datum.label",
        format=f"+{legend_ticks(-reach, reach)['format']}",
    )
    base = squares(frame, side).encode(tooltip=_score_tips(metric))
    known, unknown = split_defined(base, "score")
    framed = base.transform_filter(f"datum.p_corrected < {ALPHA}")
    marks = [
        unknown.mark_rect(color=GREY),
        known.mark_rect().encode(color=colour),
        framed.mark_rect(filled=False, stroke="black", strokeWidth=2),
    ]
    if roomy:
        text = alt.Text("score:Q", format=".3f" if reach < 0.1 else ".2f")
        marks.append(known.mark_text(fontSize=9).encode(text=text))
    return styled(
        alt.layer(*marks),
        f"{sentence_case(metric)} with one head disabled",
        f"{subject(results.provenance)}; baseline {baseline:.3f}",
        f"{way_text(data.attrs['way'])}; framed: p < {ALPHA:g}, corrected",
    )


@figure("layer-off", title="Score with one layer disabled", needs=["layer_off"])
def layer_off(results: Atlas) -> Any:
    """After Kovaleva et al. 2019, Figure 9. The orange line is the baseline with no layer disabled;
    whiskers are the 95 % interval of the difference from it (paired bootstrap).
    """
    data = results["layer_off"]
    metric, baseline = str(data.attrs["metric"]), float(data.attrs["baseline"])
    return styled(
        _layer_bars(data),
        f"{sentence_case(metric)} with one layer disabled",
        subject(results.provenance),
        way_text(data.attrs["way"]),
        f"orange line: no layer disabled ({baseline:.3f})",
    )


def heads_off_by_task(results: Mapping[str, Atlas], *, scale: Scale = "each") -> Any:
    """Draw what disabling each head does to the score (Figure 8).

    Parameters
    ----------
    results : mapping of str to Atlas
        Ablations, by the name of the task.
    scale : {"each", "one"}
        Tasks have different metrics, so each map has its own scale by default.

    Returns
    -------
    altair chart
        One map per task: the change from the baseline in points; heads with a corrected p below
        0.05 are framed.
    """
    changes, framed = {}, {}
    for name, atlas in results.items():
        data = atlas["head_off"]
        sign = 1.0 if data.attrs["better"] == "higher" else -1.0
        metric = metric_title(str(data.attrs["metric"]))
        label = f"{name}: {metric} {100 * float(data.attrs['baseline']):.1f}"
        changes[label] = 100 * sign * data["difference"]
        framed[label] = data["p_corrected"] < ALPHA
    way = way_text(str(next(iter(results.values()))["head_off"].attrs["way"]))
    return heat_grid(
        by_task(changes),
        "task",
        title="Gain from disabling one head",
        subtitle=f"{way}; framed: p < {ALPHA:g}, corrected",
        unit="points above the score with all heads",
        diverging=True,
        columns=min(4, len(results)),
        scale=scale,
        framed=by_task(framed),
    )


def layers_off_by_task(results: Mapping[str, Atlas]) -> Any:
    """Draw one bar per layer, from the baseline to the score without it, for every task.

    Parameters
    ----------
    results : mapping of str to Atlas
        Ablations, by the name of the task.

    Returns
    -------
    altair chart
        One panel per task, each with the axis of its metric.
    """
    charts = []
    for name, atlas in results.items():
        data = atlas["layer_off"]
        title = heading(f"{name}: baseline {float(data.attrs['baseline']):.3f}")
        charts.append(_layer_bars(data, bar=22, height=170).properties(title=title))
    first = next(iter(results.values()))
    return styled(
        alt.concat(*charts, columns=4, spacing=20),
        "Score with one layer disabled",
        way_text(str(first["layer_off"].attrs["way"])),
        "orange line: no layer disabled; whiskers: 95 % interval of the difference from it",
    )


def _layer_bars(data: xr.Dataset, *, bar: int = 36, height: int = 240) -> Any:
    """Draw bars from the baseline, whiskers and the baseline, without titles."""
    metric, baseline = str(data.attrs["metric"]), float(data.attrs["baseline"])
    frame = score_frame(data, ["layer"]).assign(baseline=baseline)
    frame["from"] = within(baseline + frame["difference_low"], metric)
    frame["to"] = within(baseline + frame["difference_high"], metric)
    scale = alt.Scale(domain=axis_ends(frame, baseline), zero=False, nice=True)
    title = metric_text(metric, str(data.attrs["better"]))

    def up(column: str) -> Any:
        return alt.Y(f"{column}:Q", scale=scale, title=title)

    base = alt.Chart(frame, width=max(bar * 20 // 3, bar * len(frame)), height=height).encode(
        x=alt.X("layer:O", title="layer disabled", axis=alt.Axis(labelAngle=0)),
        tooltip=_score_tips(metric),
    )
    line = alt.Chart(pd.DataFrame({"score": [baseline]})).mark_rule(color=ORANGE, strokeWidth=2)
    return alt.layer(
        base.mark_bar(color=BLUE, opacity=0.8).encode(y=up("score"), y2="baseline:Q"),
        base.mark_rule(color="black").encode(y=up("from"), y2="to:Q"),
        line.encode(y=up("score")),
    )


def axis_ends(frame: pd.DataFrame, baseline: float) -> list[float]:
    """Return the ends of an axis that holds bars, whiskers and baseline.

    Left to itself, Vega draws an axis from 0 to 1 or of no height where all scores are equal: the
    axis spans at least 0.01, so that bars that do not move do not fill it.

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
    missing = max(0.0, 0.01 - (high - low)) / 2
    return [low - missing, high + missing]


# --- Importance, and what is left when heads are removed ------------------------------------------


@figure("importance", title="Gradient head importance", needs=["importance"])
def importance(results: Atlas) -> Any:
    """Michel et al. 2019: how much the loss changes with a gate ξ on each head's output. Higher is
    more important.
    """
    data = results["importance"]
    return heat_map(
        data["mean"],
        title="Gradient head importance",
        subtitle=subject(results.provenance),
        unit="mean |∂loss/∂ξ|",
        low=data["low"].clip(min=0.0),
        high=data["high"],
    )


@figure(
    "importance-agreement",
    title="Importance against disabling",
    needs=["importance", "head_off", "ablation"],
)
def importance_agreement(results: Atlas) -> Any:
    """One point per head: its gradient importance, and what disabling it does to the score.
    Spearman's correlation has a 95 % interval over documents.
    """
    table = change_table(results)
    values = tidy(results["importance"]["mean"]).rename(columns={"value": "importance"})
    frame = values.merge(table, left_on="name", right_on=table.columns[0])
    zero = alt.Chart(pd.DataFrame({"gain": [0.0]})).mark_rule(color=ORANGE).encode(y="gain:Q")
    measure, rho, low, high = agreement(results).iloc[0].tolist()[:4]
    metric = str(results["head_off"].attrs["metric"])
    unit = "mean |∂loss/∂ξ| (higher = more important)"
    points = alt.Chart(frame, width=380, height=280).mark_point(filled=True, size=50, opacity=0.85)
    drawn = points.encode(
        x=alt.X("importance:Q", title=unit, scale=alt.Scale(zero=False)),
        y=alt.Y("gain:Q", title=f"improvement in {metric} with the head disabled"),
        color=alt.Color("layer:O", scale=alt.Scale(scheme="viridis"), title="layer"),
        tooltip=tips("name", "importance .4f", "gain .4f", gain="improvement"),
    )
    return styled(
        alt.layer(zero, drawn),
        "Importance against disabling",
        subject(results.provenance),
        f"Spearman's ρ with the {measure}: {rho:.2f} (95 %: {low:.2f} to {high:.2f})",
    )


# The orders in which heads are removed; the kind of the run with all heads.
ORDERS = {"greedy": BLUE, "importance": GREEN, "random": "#888888"}
WHOLE = "baseline"


def _strokes() -> Any:
    """A legend of lines, each as opaque as its line and not as its band."""
    return alt.Legend(symbolOpacity=1, symbolType="stroke", symbolStrokeWidth=3, symbolSize=200)


@figure("pruning", title="Score against the number of remaining heads", needs=["pruning"])
def pruning(results: Atlas) -> Any:
    """Heads are removed in three orders: by gradient importance; greedily, each time the head whose
    removal costs least; and at random. They are chosen on half of the examples and scored on the
    other half. Bands are 95 % intervals of the difference from the whole model (paired bootstrap).
    """
    data = results["pruning"]
    metric = str(data.attrs["metric"])
    names = ["kind", "left", "mean", "difference_low", "difference_high"]
    frame = data[names].to_dataframe().reset_index().rename(columns={"mean": "score"})
    baseline = float(frame.loc[frame["kind"] == WHOLE, "score"].iloc[0])
    frame["low"] = within(baseline + frame["difference_low"], metric)
    frame["high"] = within(baseline + frame["difference_high"], metric)
    whole = frame[frame["kind"] == WHOLE]
    kinds = {kind: colour for kind, colour in ORDERS.items() if kind in set(frame["kind"])}
    # Every curve begins at the whole model.
    starts = [whole.assign(kind=kind) for kind in kinds]
    curves = pd.concat([frame[frame["kind"] != WHOLE], *starts], ignore_index=True)
    scale, title = alt.Scale(zero=False), metric_text(metric, str(data.attrs["better"]))

    def up(column: str) -> Any:
        return alt.Y(f"{column}:Q", scale=scale, title=title)

    colour = alt.Color("kind:N", scale=named(kinds), title="order of removal", legend=_strokes())
    remaining = {"title": "remaining heads", "scale": alt.Scale(reverse=True, nice=False)}
    x = alt.X("left:Q", **remaining)
    base = alt.Chart(curves, width=420, height=280)
    shown = tips(
        *("kind", "left:Q", "score .3f", "low .3f", "high .3f"),
        kind="order of removal",
        left="remaining heads",
        low=None,
        high=None,
    )
    rule = alt.Chart(whole).mark_rule(color=ORANGE, strokeWidth=2)
    band = base.mark_area(opacity=0.15).encode(x=x, y=up("low"), y2="high:Q", color=colour)
    lines = base.mark_line(point=True).encode(x=x, y=up("score"), color=colour, tooltip=shown)
    return styled(
        alt.layer(band, rule.encode(y=up("score")), lines),
        f"{sentence_case(metric)} against the number of remaining heads",
        f"{subject(results.provenance)}; curves scored on {int(data['n'].max())}",
        f"{way_text(data.attrs['way'])}; orange line: all heads",
    )


@figure("cache", title="Loss and recall with the cache of KV heads cut", needs=["cache"])
def cache(results: Atlas) -> Any:
    """After Xiao et al. 2024 (DuoAttention): KV heads are cut to the first and the last tokens, the
    lowest of a ranking first. Bands are 95 % intervals of the change from the whole cache (over
    texts, over needles); grey is the mean of random choices, from the lowest to the highest.
    """
    data, frame = results[CACHE], cache_table(results)
    names = [str(name) for name in data["by"].values if name != RANDOM]
    whole = frame["mean"] - frame["change"]
    random = frame["by"] == RANDOM
    for end in ("low", "high"):
        frame[end] = (whole + frame[f"change_{end}"]).where(~random, frame[f"random_{end}"])
    recall = frame["judged"] == "recall"
    frame.loc[recall, ["low", "high"]] = frame.loc[recall, ["low", "high"]].clip(0, 1)
    lines = dict(zip(names, itertools.cycle(COLOURS), strict=False)) | {RANDOM: "#888888"}
    colour = alt.Color("by:N", scale=named(lines), title="kept by", legend=_strokes())
    axis, reverse = alt.Axis(format="%", tickCount=5), alt.Scale(reverse=True, nice=False)
    x = alt.X("share:Q", title="KV heads with the whole cache", scale=reverse, axis=axis)
    shown = tips("by", "kept", "mean .3f", "low .3f", "high .3f", by="kept by", kept="KV heads")
    panels = []
    for judged, title in (("loss", "loss, nats per token"), ("recall", "recall of needles, 0–1")):
        scale = alt.Scale(zero=False) if judged == "loss" else alt.Scale(domain=[0, 1])
        base = alt.Chart(frame[frame["judged"] == judged], width=300, height=240)
        band = base.mark_area(opacity=0.15).encode(
            x=x, y=alt.Y("low:Q", scale=scale, title=title), y2="high:Q", color=colour
        )
        line = base.mark_line(point=True).encode(
            x=x, y=alt.Y("mean:Q", scale=scale, title=title), color=colour, tooltip=shown
        )
        panels.append(alt.layer(band, line))
    texts, prompts = (int(data["n"].sel(judged=part).max()) for part in ("loss", "recall"))
    tokens = results.provenance["settings"]["tokens"]
    return styled(
        alt.hconcat(*panels),
        "Loss and recall with the cache of KV heads cut",
        f"{subject(results.provenance)}: {texts} texts of {tokens:,} tokens, {prompts} needles",
        f"the other KV heads are {data.attrs['window']}",
    )


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
    table, data = group_table(results), results[NAME]
    order = list(dict.fromkeys(table["group"]))
    drawn = pd.DataFrame(
        [
            {"group": str(name), "text": str(text), "rise": float(value)}
            for group, name in enumerate(data["disabled"].values)
            for copy, text in enumerate(data["text"].values)
            for value in data["draw"].values[group, :, copy]
        ]
    )
    texts = ["new", "repeated"]
    rows: dict[str, Any] = {
        "y": alt.Y("group:N", sort=order, title=None, axis=alt.Axis(labelLimit=200)),
        "yOffset": alt.YOffset("text:N", sort=texts),
    }
    colour = alt.Color(
        "text:N",
        title=["text that the", "model reads"],
        sort=texts,
        scale=named(dict(zip(texts, (BLUE, ORANGE), strict=True))),
    )
    unit = "rise of the loss, nats per token"
    ticks = alt.Chart(drawn).mark_tick(color="#9aa3ad", thickness=1.5, size=10, opacity=0.8)
    base = alt.Chart(table).encode(**rows, color=colour)
    intervals = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=unit), x2="high:Q")
    shown = ("group", "heads", "text", "rise .3f", "low .3f", "high .3f", "others .3f", "p .2g")
    dots = base.mark_circle(size=70, opacity=1).encode(
        x=alt.X("rise:Q", title=unit), tooltip=tips(*shown, others="other heads, mean")
    )
    chart = alt.layer(ticks.encode(**rows, x=alt.X("rise:Q", title=unit)), intervals, dots)
    return styled(
        chart.properties(width=420, height=max(120, 44 * len(order))),
        "Loss with heads disabled",
        subject(results.provenance),
        "dots: the group, with its interval",
        "grey: other heads of the same layers, one tick per draw",
    )
