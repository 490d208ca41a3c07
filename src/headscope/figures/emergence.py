"""Roles of heads over training: one line per head."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from headscope.figures.style import note, styled, subject
from headscope.measures.roles import FAMILIES
from headscope.results import Atlas
from headscope.results.merge import EXCESS, Track
from headscope.stats.heads.excess import FAMILIES as FAMILY
from headscope.stats.heads.thresholds import DEFAULT
from headscope.stats.tables.track import emergence

COLOURS = {name: family.colours[0] for name, family in FAMILIES.items() if family.glyph}
"""The colours of families, as the page has them."""
NAMED = 3
"""Heads of each family whose names are drawn."""
WIDE_RANGE = 20
"""From this ratio of steps on, the axis is logarithmic."""
WIDTH, HEIGHT = 520, 300
GAP = 0.045
"""How far apart names are at least, as a share of the axis."""


def emergence_lines(results: Atlas) -> Any:
    """Draw the excess of every head at its main role, over checkpoints."""
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
    drawn = alt.layer(*_marks(track, lines, _names(lines)))
    return styled(
        drawn.properties(width=WIDTH, height=HEIGHT),
        title,
        about,
        f"dot: from here on at least {DEFAULT.least} over even attention, by a corrected test",
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
    present = [family for family in COLOURS if family in set(lines["family"])]
    colour = alt.Color(
        "family:N",
        title="role at the end",
        scale=alt.Scale(domain=present, range=[COLOURS[family] for family in present]),
        legend=alt.Legend(orient="bottom", symbolType="stroke", symbolStrokeWidth=3),
    )
    x, y = _across(track), alt.Y("excess:Q", title="excess over even attention, share 0–1")
    told = [
        alt.Tooltip("head:N"),
        alt.Tooltip("role:N"),
        alt.Tooltip("checkpoint:N"),
        alt.Tooltip("excess:Q", format=".2f"),
    ]
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


def _across(track: Track) -> alt.X:
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
    title = "training step (logarithmic)"
    return alt.X("place:Q", title=title, scale=scale, axis=axis)
