"""What fine-tuning does to roles (Pande et al. 2021, Figure 6)."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.style import BLUE, GREEN, ORANGE, note, styled
from headscope.stats.roles import ALPHA
from headscope.stats.shift import THIRDS

TITLE = "Sieve bias: after minus before"
UNIT = "change of the mean sieve bias, times uniform attention"
COLOURS = dict(zip(THIRDS, (BLUE, ORANGE, GREEN), strict=True))
SHAPES = dict(zip(THIRDS, ("circle", "square", "triangle-up"), strict=True))
ROW = 42


def shift_dots(shift: pd.DataFrame, *, subtitle: str = "", alpha: float = ALPHA) -> Any:
    """Draw the change of each role: one dot with its interval for each third of the layers.

    Parameters
    ----------
    shift : DataFrame
        From :func:`headscope.stats.role_shift`.
    subtitle : str
        Under the title.
    alpha : float
        Dots are filled where the corrected p is below it.

    Returns
    -------
    altair chart
    """
    parts = shift["third"] + " (" + shift["layers"] + ")"
    frame = shift.assign(changed=shift["p_corrected"] < alpha, part=parts)
    roles = list(dict.fromkeys(frame["role"]))
    known = frame.dropna(subset=["shift"])
    if known.empty:
        return note("no role is defined in both results", TITLE, subtitle)
    return styled(
        alt.layer(*_ground(roles), *_dots(known, frame, roles), _absent(known, roles)),
        TITLE,
        subtitle,
        f"bars: 95 % intervals over sequences; filled: p < {alpha:g}, corrected",
    )


def _dots(known: pd.DataFrame, frame: pd.DataFrame, roles: list[str]) -> list[Any]:
    """Draw the intervals, the hollow dots and the filled ones."""
    pairs = frame[["third", "part"]].drop_duplicates().itertuples(index=False, name=None)
    thirds, order = (list(column) for column in zip(*pairs, strict=True))
    colours = alt.Scale(domain=order, range=[COLOURS[third] for third in thirds])
    shapes = alt.Scale(domain=order, range=[SHAPES[third] for third in thirds])
    base = alt.Chart(known, width=400, height=ROW * len(roles)).encode(
        y=_role_axis(roles),
        yOffset=alt.YOffset("part:N", sort=order, scale=alt.Scale(domain=order, paddingOuter=0.6)),
        color=alt.Color("part:N", scale=colours, title="layers"),
        tooltip=_tooltip(),
    )
    x = alt.X("shift:Q", title=UNIT, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))
    shape = alt.Shape("part:N", scale=shapes, title="layers")
    intervals = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2)
    hollow = base.transform_filter("!datum.changed").mark_point(
        filled=False, fill="white", size=60, strokeWidth=2, opacity=1
    )
    filled = base.transform_filter("datum.changed").mark_point(filled=True, size=70, opacity=1)
    return [
        intervals.encode(x=alt.X("low:Q", title=UNIT), x2="high:Q"),
        hollow.encode(x=x, shape=shape),
        filled.encode(x=x, shape=shape),
    ]


def _tooltip() -> list[Any]:
    """Show everything that is known of a dot."""
    names = ("before", "after", "shift", "low", "high")
    return [
        "role:N",
        alt.Tooltip("part:N", title="layers"),
        *(alt.Tooltip(f"{name}:Q", format=".3f") for name in names),
        alt.Tooltip("p_corrected:Q", format=".2g", title="p, corrected"),
        "sequences:Q",
    ]


def _role_axis(roles: list[str]) -> alt.Y:
    """Return one row per role."""
    axis = alt.Axis(grid=False, labelFontSize=12)
    return alt.Y("role:N", sort=roles, scale=alt.Scale(domain=roles), title=None, axis=axis)


def _ground(roles: list[str]) -> list[Any]:
    """Draw the lines between roles, and the line of no change."""
    lines = alt.Chart(pd.DataFrame({"role": roles})).mark_rule(color="#ddd")
    zero = alt.Chart(pd.DataFrame({"at": [0]})).mark_rule(color="#555", strokeDash=[4, 3])
    return [lines.encode(y=alt.Y("role:N", bandPosition=0)), zero.encode(x="at:Q")]


def _absent(known: pd.DataFrame, roles: list[str]) -> Any:
    """Write "not defined" into the rows of roles without a change."""
    missing = [role for role in roles if role not in set(known["role"])]
    frame = pd.DataFrame({"role": missing, "at": 0, "what": "not defined"})
    words = alt.Chart(frame).mark_text(align="left", dx=6, color="#555")
    return words.encode(x="at:Q", y="role:N", text="what:N")
