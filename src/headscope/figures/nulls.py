"""Heads beside null models: points of heads over the bands of random weights or shuffled words."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.style import BLUE, GREEN, ORANGE, note, styled, subject
from headscope.figures.tidy import unit_text
from headscope.results import Atlas
from headscope.results.merge import NULL_WORDS
from headscope.stats.heads.query import head_values
from headscope.stats.tables.alike import null_table

MOST = 5
"""Statistics of one measure."""
ROW, LINE = 8, 11
"""The height of a statistic in pixels: so much, and so much more for each null model."""
WIDTH = 380
POINTS = "#33363a"
COLOURS = dict(zip(NULL_WORDS.values(), (ORANGE, GREEN, BLUE), strict=True))


def null(results: Atlas) -> Any:
    """Draw one panel per measure: heads as points, null models as bands."""
    table = null_table(results)
    title, about = "Heads beside null models", subject(results.provenance)
    if not len(table):
        return note("no statistic is defined for a null model and for the heads", title, about)
    table = table.assign(words=table["null"].map(NULL_WORDS))
    panels = [
        _panel(results, str(name), rows) for name, rows in table.groupby("measure", sort=False)
    ]
    bands = "bands: the middle 95 % of a null model's heads; right: the share of heads beyond"
    return styled(alt.vconcat(*panels, spacing=14), title, about, bands)


def _panel(results: Atlas, measure: str, table: pd.DataFrame) -> Any:
    """Draw the statistics of one measure on an axis of their own."""
    largest = table.groupby("label", sort=False)["beyond"].max()
    chosen = largest.sort_values(ascending=False, kind="stable").index[:MOST]
    rows = table[table["label"].isin(chosen)]
    names = {label: label or measure for label in dict.fromkeys(rows["label"])}
    rows = rows.assign(name=rows["label"].map(names), text=rows["beyond"].map(_percent))
    y = alt.Y("name:N", sort=list(names.values()), title=None, axis=alt.Axis(labelLimit=220))
    unit = unit_text(str(results[measure].attrs.get("unit", "")))
    bands, shares, models = _bands(rows, y, unit)
    points = alt.Chart(_points(results, measure, names))
    heads = points.mark_point(filled=True, size=14, color=POINTS, opacity=0.5).encode(
        x=alt.X("value:Q", title=unit, scale=alt.Scale(zero=False)),
        y=y,
        tooltip=[alt.Tooltip("head:N"), _number("value")],
    )
    return alt.layer(bands, heads, shares).properties(
        width=WIDTH,
        height=(ROW + LINE * models) * len(names),
        title=_heading(results, measure),
    )


def _bands(rows: pd.DataFrame, y: alt.Y, unit: str) -> tuple[Any, Any, int]:
    """Draw the bands of all null models and the shares beyond them; say how many models."""
    across = alt.YOffset("words:N", sort=list(NULL_WORDS.values()))
    present = [words for words in NULL_WORDS.values() if words in set(rows["words"])]
    scale = alt.Scale(domain=present, range=[COLOURS[words] for words in present])
    legend = alt.Legend(orient="top", direction="horizontal", titleOrient="left", labelLimit=240)
    colour = alt.Color("words:N", title="null model", scale=scale, legend=legend)
    base = alt.Chart(rows)
    bars = base.mark_bar(fillOpacity=0.45, height={"band": 0.8}, strokeWidth=1.5).encode(
        x=alt.X("low:Q", title=unit, scale=alt.Scale(zero=False)),
        x2="high:Q",
        y=y,
        yOffset=across,
        color=colour,
        stroke=alt.Stroke("words:N", scale=scale, legend=None),
        tooltip=_told(),
    )
    texts = base.mark_text(align="left", dx=6, fontSize=9).encode(
        x=alt.value(WIDTH), y=y, yOffset=across, text="text:N", color=colour
    )
    return bars, texts, len(present)


def _heading(results: Atlas, measure: str) -> alt.TitleParams:
    text = str(results[measure].attrs.get("title", measure))
    return alt.TitleParams(
        text, anchor="start", frame="group", fontSize=11, fontWeight="normal", offset=4
    )


def _told() -> list[Any]:
    texts = [alt.Tooltip("statistic:N"), alt.Tooltip("words:N", title="null model")]
    counts = [alt.Tooltip(f"{name}:Q", title=f"heads {name}") for name in ("above", "below")]
    return [*texts, _number("low"), _number("high"), *counts]


def _number(name: str) -> alt.Tooltip:
    return alt.Tooltip(f"{name}:Q", format=".3~g")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _points(results: Atlas, measure: str, names: dict[str, str]) -> pd.DataFrame:
    """Return the values of all heads."""
    frames = []
    for label, name in names.items():
        value = [measure, *filter(None, label.split(", "))]
        data = head_values(results, value)[0]["value"]
        heads = [f"{a}-{b}" for a in data["layer"].values for b in data["head"].values]
        frames.append(pd.DataFrame({"name": name, "head": heads, "value": data.values.ravel()}))
    whole = pd.concat(frames, ignore_index=True)
    return whole.dropna(subset=["value"])
