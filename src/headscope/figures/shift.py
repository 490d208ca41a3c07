"""What fine-tuning does to roles (Pande et al. 2021, Figure 6): the change of the mean sieve bias, by role and third of the layers."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.roles import note, titled
from headscope.figures.style import BLUE, GREEN, ORANGE
from headscope.stats.roles import ALPHA
from headscope.stats.shift import THIRDS

TITLE, UNIT = "Sieve bias: after minus before", "change of the mean sieve bias"
COLOURS, SHAPES = (
    dict(zip(THIRDS, (BLUE, ORANGE, GREEN), strict=True)),
    dict(zip(THIRDS, ("circle", "square", "triangle-up"), strict=True)),
)
ROW = 42


def shift_dots(shift: pd.DataFrame, *, subtitle: str = "", alpha: float = ALPHA) -> Any:
    """A row a role, in it a dot with its 95 % interval for each third of the layers; filled where the change is significant. ``shift`` is the frame of :func:`~headscope.stats.role_shift`."""
    frame = shift.assign(
        changed=shift["p_corrected"] < alpha, part=shift["third"] + " (" + shift["layers"] + ")"
    )
    roles = list(dict.fromkeys(frame["role"]))
    parts = dict(frame[["third", "part"]].drop_duplicates().itertuples(index=False, name=None))
    known = frame.dropna(subset=["shift"])
    if known.empty:
        return note("no role is defined in both", TITLE, subtitle)
    order, colours, shapes = (
        list(parts.values()),
        [COLOURS[third] for third in parts],
        [SHAPES[third] for third in parts],
    )
    base = alt.Chart(known, width=400, height=ROW * len(roles)).encode(
        y=alt.Y(
            "role:N",
            sort=roles,
            scale=alt.Scale(domain=roles),
            title=None,
            axis=alt.Axis(grid=False, labelFontSize=12),
        ),
        yOffset=alt.YOffset("part:N", sort=order, scale=alt.Scale(domain=order, paddingOuter=0.6)),
        color=alt.Color("part:N", scale=alt.Scale(domain=order, range=colours), title="layers"),
        tooltip=[
            "role:N",
            alt.Tooltip("part:N", title="layers"),
            *(
                alt.Tooltip(f"{name}:Q", format=".3f")
                for name in ("before", "after", "shift", "low", "high")
            ),
            alt.Tooltip("p_corrected:Q", format=".2g", title="p, corrected"),
            "sequences:Q",
        ],
    )
    x = alt.X("shift:Q", title=UNIT, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))
    intervals = (
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(x=alt.X("low:Q", title=UNIT), x2="high:Q")
    )
    shape = alt.Shape("part:N", scale=alt.Scale(domain=order, range=shapes), title="layers")
    filled = (
        base.transform_filter("datum.changed")
        .mark_point(filled=True, size=70, opacity=1)
        .encode(x=x, shape=shape)
    )
    hollow = (
        base.transform_filter("!datum.changed")
        .mark_point(filled=False, fill="white", size=60, strokeWidth=2, opacity=1)
        .encode(x=x, shape=shape)
    )
    zero = (
        alt.Chart(pd.DataFrame({"at": [0]}))
        .mark_rule(color="#555", strokeDash=[4, 3])
        .encode(x="at:Q")
    )
    lines = (
        alt.Chart(pd.DataFrame({"role": roles}))
        .mark_rule(color="#ddd")
        .encode(y=alt.Y("role:N", bandPosition=0))
    )
    absent = pd.DataFrame(
        {
            "role": [role for role in roles if role not in set(known["role"])],
            "at": 0,
            "what": "not defined",
        }
    )
    words = (
        alt.Chart(absent)
        .mark_text(align="left", dx=6, color="#555")
        .encode(x="at:Q", y="role:N", text="what:N")
    )
    return titled(
        alt.layer(lines, zero, intervals, hollow, filled, words),
        TITLE,
        subtitle,
        f"bars: 95 % intervals over sequences; filled: p < {alpha:g}, corrected",
    )
