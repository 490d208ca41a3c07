"""Heads beside null models, and over training: what results hold besides their measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from headscope.figures.builders import heading, named, tips
from headscope.figures.gallery import figure
from headscope.figures.later import alt
from headscope.figures.style import BLUE, GREEN, ORANGE, note, styled, subject, unit_text
from headscope.measures.roles import FAMILIES
from headscope.results import Atlas
from headscope.results.merge import EXCESS, NULL_WORDS, Track
from headscope.stats.heads.excess import FAMILIES as FAMILY
from headscope.stats.heads.query import head_values
from headscope.stats.heads.thresholds import DEFAULT
from headscope.stats.tables.alike import null_table
from headscope.stats.tables.track import emergence

# --- Points of heads over the bands of null models ------------------------------------------------

MOST = 5  # statistics of one measure
WIDE = 380
NULL_COLOURS = dict(zip(NULL_WORDS.values(), (ORANGE, GREEN, BLUE), strict=True))


@figure("null", title="Heads beside null models", needs=["null"])
def null(results: Atlas) -> Any:
    """One point per head, and a band for each null model that holds the middle 95 % of its heads.
    Beside each row: the share of heads beyond the bands. Of each measure at most five statistics
    are shown, those with the largest share.
    """
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
    shares = rows["beyond"].map("{:.0%}".format).str.replace("%", " %")
    rows = rows.assign(name=rows["label"].map(names), text=shares)
    y = alt.Y("name:N", sort=list(names.values()), title=None, axis=alt.Axis(labelLimit=220))
    unit = unit_text(str(results[measure].attrs.get("unit", "")))
    bands, shares, models = _bands(rows, y, unit)
    points = alt.Chart(_points(results, measure, names))
    heads = points.mark_point(filled=True, size=14, color="#33363a", opacity=0.5).encode(
        x=alt.X("value:Q", title=unit, scale=alt.Scale(zero=False)),
        y=y,
        tooltip=tips("head", "value .3~g"),
    )
    text = str(results[measure].attrs.get("title", measure))
    return alt.layer(bands, heads, shares).properties(
        width=WIDE,
        height=(8 + 11 * models) * len(names),
        title=heading(text, anchor="start", frame="group", fontWeight="normal", offset=4),
    )


def _bands(rows: pd.DataFrame, y: Any, unit: str) -> tuple[Any, Any, int]:
    """Draw the bands of all null models and the shares beyond them; say how many models."""
    across = alt.YOffset("words:N", sort=list(NULL_WORDS.values()))
    present = {words: NULL_COLOURS[words] for words in NULL_COLOURS if words in set(rows["words"])}
    scale = named(present)
    legend = alt.Legend(orient="top", direction="horizontal", titleOrient="left", labelLimit=240)
    colour = alt.Color("words:N", title="null model", scale=scale, legend=legend)
    base = alt.Chart(rows)
    shown = ("statistic", "words", "low .3~g", "high .3~g", "above:Q", "below:Q")
    called = {"words": "null model", "above": "heads above", "below": "heads below"}
    bars = base.mark_bar(fillOpacity=0.45, height={"band": 0.8}, strokeWidth=1.5).encode(
        x=alt.X("low:Q", title=unit, scale=alt.Scale(zero=False)),
        x2="high:Q",
        y=y,
        yOffset=across,
        color=colour,
        stroke=alt.Stroke("words:N", scale=scale, legend=None),
        tooltip=tips(*shown, low=None, high=None, **called),
    )
    texts = base.mark_text(align="left", dx=6, fontSize=9).encode(
        x=alt.value(WIDE), y=y, yOffset=across, text="text:N", color=colour
    )
    return bars, texts, len(present)


def _points(results: Atlas, measure: str, names: dict[str, str]) -> pd.DataFrame:
    """Return the values of all heads."""
    frames = []
    for label, name in names.items():
        value = [measure, *filter(None, label.split(", "))]
        data = head_values(results, value)[0]["value"]
        heads = [f"{a}-{b}" for a in data["layer"].values for b in data["head"].values]
        frames.append(pd.DataFrame({"name": name, "head": heads, "value": data.values.ravel()}))
    return pd.concat(frames, ignore_index=True).dropna(subset=["value"])


# --- Roles over training --------------------------------------------------------------------------

# The colours of families, as the page has them.
FAMILY_COLOURS = {name: family.colours[0] for name, family in FAMILIES.items() if family.glyph}
NAMED = 3  # heads of each family whose names are drawn
WIDE_RANGE = 20  # from this ratio of steps on, the axis is logarithmic
GAP = 0.045  # how far apart names are at least, as a share of the axis


@figure("emergence", title="Roles of heads over training", needs=["track"])
def emergence_lines(results: Atlas) -> Any:
    """One line per head that has a role at the last checkpoint: how far it is above chance at
    that role, coloured by the family of the role. A dot marks the first checkpoint from which on
    the head keeps the role. The strongest heads of each family are named.
    """
    title = "Roles of heads over training"
    track = results.track
    about = f"{subject(results.provenance)}; {len(track.names)} checkpoints"
    if EXCESS not in track:
        return note("these checkpoints were surveyed without main roles", title, about)
    table = emergence(results)
    table = table[table["main"]].assign(family=table["role"].map(FAMILY))
    if not len(table):
        return note("no head has a role at the last checkpoint", title, about)
    lines = _lines(track, table)
    return styled(
        alt.layer(*_marks(track, lines, _names(lines))).properties(width=520, height=300),
        title,
        about,
        f"dot: from here on at least {DEFAULT.least} above chance, by a corrected test",
    )


def _lines(track: Track, table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per head and checkpoint."""
    values, frames = track[EXCESS]["value"], []
    for row in table.to_dict("records"):
        layer, head = (int(part) for part in str(row["head"]).split("-"))
        line = values.sel(layer=layer, head=head, role=row["role"]).values
        at = track.names.index(str(row["checkpoint"]))
        frames.append(
            pd.DataFrame(
                {
                    "head": row["head"],
                    "role": row["role"],
                    "family": row["family"],
                    "checkpoint": track.names,
                    "place": track.places,
                    "excess": line,
                    "appears": np.arange(len(line)) == at,
                    "last": row["last"],
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def _names(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the ends of the strongest lines of each family, moved apart to be read."""
    ends = lines[lines["place"] == lines["place"].max()]
    ranked = ends.sort_values("last", ascending=False, kind="stable")
    best: pd.DataFrame = ranked.groupby("family", sort=False).head(NAMED)
    step, heights, ceiling = GAP, [], np.inf
    for value in best["excess"]:
        ceiling = min(float(value), ceiling - step)
        heights.append(ceiling)
    return best.assign(height=heights)


def _marks(track: Track, lines: pd.DataFrame, names: pd.DataFrame) -> list[Any]:
    present = {
        name: FAMILY_COLOURS[name] for name in FAMILY_COLOURS if name in set(lines["family"])
    }
    colour = alt.Color(
        "family:N",
        title="role at the end",
        scale=named(present),
        legend=alt.Legend(orient="bottom", symbolType="stroke", symbolStrokeWidth=3),
    )
    x, y = _across(track), alt.Y("excess:Q", title="above chance, share of active attention, 0–1")
    told = tips("head", "role", "checkpoint", "excess .2f")
    base = alt.Chart(lines)
    drawn = base.mark_line(strokeWidth=1.6, opacity=0.8).encode(
        x=x, y=y, color=colour, detail="head:N", tooltip=told
    )
    dots = base.transform_filter("datum.appears").mark_point(filled=True, size=45, opacity=1)
    words = alt.Chart(names).mark_text(align="left", dx=6, fontSize=11)
    return [
        drawn,
        dots.encode(x=x, y=y, color=colour, tooltip=told),
        words.encode(x=x, y=alt.Y("height:Q"), text="head:N", color=colour),
    ]


def _across(track: Track) -> Any:
    """Return the axis of checkpoints: steps, logarithmic where they span a wide range."""
    if track.steps is None:
        labels = " : ".join(
            f"datum.value == {place} ? {name!r}"
            for place, name in zip(track.places, track.names, strict=True)
        )
        axis = alt.Axis(values=list(track.places), labelExpr=f"{labels} : ''", labelAngle=-30)
        return alt.X("place:Q", title="checkpoint", axis=axis, scale=alt.Scale(zero=False))
    steps = [step for step in track.steps if step > 0]
    if not steps or max(steps) / min(steps) < WIDE_RANGE:
        return alt.X("place:Q", title="training step")
    scale = alt.Scale(type="symlog", constant=min(steps), nice=False)
    axis = alt.Axis(values=list(track.steps), labelOverlap="greedy", grid=False)
    return alt.X("place:Q", title="training step (logarithmic)", scale=scale, axis=axis)
