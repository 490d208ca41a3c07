"""What fine-tuning does to roles (Pande et al. 2021, Figure 6)."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from headscope.figures.roles.common import PAPER
from headscope.figures.style import BLUE, GREEN, ORANGE, note, styled
from headscope.stats.inference.correction import ALPHA
from headscope.stats.tables.role_tables import LEAST, THIRDS

TITLE = "Sieve bias: after minus before"
UNIT = "change (times uniform)"
COLOURS = dict(zip(THIRDS, (BLUE, ORANGE, GREEN), strict=True))
SHAPES = dict(zip(THIRDS, ("circle", "square", "triangle-up"), strict=True))
ROW = 42
WIDTH, TOTAL = 400, 510
"""Pixels: of a single panel, and of several in a row, which can be read on a narrow page too."""
ABREAST = 3
"""So many panels stand in one row at most; more stand in rows of two."""


def shift_dots(shift: pd.DataFrame, *, subtitle: str = "", alpha: float = ALPHA) -> Any:
    """Draw the change of each role: one dot with its interval for each third of the layers.

    Parameters
    ----------
    shift : DataFrame
        From :func:`headscope.stats.role_shift`. A column ``corpus``, if there is one, puts several
        corpora side by side, as in the paper.
    subtitle : str
        Under the title.
    alpha : float
        Dots are filled where the corrected p of a shift of interest is below it.

    Returns
    -------
    altair chart
        The paper's four roles come first. A grey band marks shifts that are too small to be of
        interest.
    """
    least = float(shift.attrs.get("least", LEAST))
    parts = shift["third"] + " (" + shift["layers"] + ")"
    frame = shift.assign(changed=shift["p_least"] < alpha, part=parts)
    if "corpus" not in frame:
        frame = frame.assign(corpus="")
    roles = sorted(dict.fromkeys(frame["role"]), key=_place)
    if frame["shift"].isna().all():
        return note("no role is defined in both results", TITLE, subtitle)
    corpora = list(dict.fromkeys(frame["corpus"]))
    columns = len(corpora) if len(corpora) <= ABREAST else 2
    width = WIDTH if len(corpora) == 1 else TOTAL // columns
    panels = [
        _panel(
            frame[frame["corpus"] == name],
            frame,
            roles,
            (least, width),
            name,
            place % columns == 0,
        )
        for place, name in enumerate(corpora)
    ]
    whole = panels[0] if len(panels) == 1 else alt.concat(*panels, columns=columns, spacing=10)
    return styled(
        whole.resolve_scale(x="shared") if len(panels) > 1 else whole,
        TITLE,
        subtitle,
        f"bars: 95 % intervals; filled: beyond ± {least:g} (grey), p < {alpha:g}, corrected",
    )


def _place(role: str) -> tuple[int, int]:
    """Sort the paper's roles first, in its order."""
    return (0, PAPER.index(role)) if role in PAPER else (1, 0)


def _panel(
    part: pd.DataFrame,
    frame: pd.DataFrame,
    roles: list[str],
    sizes: tuple[float, int],
    name: str,
    first: bool,
) -> Any:
    """Draw one corpus."""
    least, width = sizes
    known = part.dropna(subset=["shift"])
    ends = frame[["shift", "low", "high"]].to_numpy(float)
    low, high = min(-least, np.nanmin(ends)), max(least, np.nanmax(ends))
    room = 0.06 * (high - low)
    x = alt.Scale(domain=[low - room, high + room], nice=False)
    axis = _role_axis(roles, first)
    marks = [
        *_ground(roles, least, x, first),
        *_dots(known, frame, roles, x, axis),
        _absent(known, roles, x, axis),
    ]
    chart = alt.layer(*marks).properties(width=width, height=ROW * len(roles))
    return chart.properties(title=alt.TitleParams(name, fontSize=12)) if name else chart


def _dots(
    known: pd.DataFrame, frame: pd.DataFrame, roles: list[str], scale: alt.Scale, y: alt.Y
) -> list[Any]:
    """Draw the intervals, the hollow dots and the filled ones."""
    pairs = frame[["third", "part"]].drop_duplicates().itertuples(index=False, name=None)
    thirds, order = (list(column) for column in zip(*pairs, strict=True))
    colours = alt.Scale(domain=order, range=[COLOURS[third] for third in thirds])
    shapes = alt.Scale(domain=order, range=[SHAPES[third] for third in thirds])
    legend = alt.Legend(orient="bottom", direction="horizontal")
    base = alt.Chart(known).encode(
        y=y,
        yOffset=alt.YOffset("part:N", sort=order, scale=alt.Scale(domain=order, paddingOuter=0.6)),
        color=alt.Color("part:N", scale=colours, title="layers", legend=legend),
        tooltip=_tooltip(),
    )
    x = alt.X("shift:Q", title=UNIT, scale=scale, axis=alt.Axis(tickCount=4))
    shape = alt.Shape("part:N", scale=shapes, title="layers", legend=legend)
    intervals = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2)
    hollow = base.transform_filter("!datum.changed").mark_point(
        filled=False, fill="white", size=60, strokeWidth=2, opacity=1
    )
    filled = base.transform_filter("datum.changed").mark_point(filled=True, size=70, opacity=1)
    return [
        intervals.encode(x=alt.X("low:Q", title=UNIT, scale=scale), x2="high:Q"),
        hollow.encode(x=x, shape=shape),
        filled.encode(x=x, shape=shape),
    ]


def _tooltip() -> list[Any]:
    """Show everything that is known of a dot."""
    names = ("before", "after", "shift", "low", "high", "effect")
    return [
        "role:N",
        alt.Tooltip("part:N", title="layers"),
        *(alt.Tooltip(f"{name}:Q", format=".3f") for name in names),
        alt.Tooltip("p_corrected:Q", format=".2g", title="p of no shift"),
        alt.Tooltip("p_least:Q", format=".2g", title="p of a shift of no interest"),
        "verdict:N",
        "sequences:Q",
    ]


def _role_axis(roles: list[str], first: bool, **options: float) -> alt.Y:
    """Return one row per role; only the first panel of a row names them."""
    axis = alt.Axis(grid=False, labelFontSize=12, labels=first, ticks=first)
    scale = alt.Scale(domain=roles)
    return alt.Y("role:N", sort=roles, scale=scale, title=None, axis=axis, **options)


def _ground(roles: list[str], least: float, x: alt.Scale, first: bool) -> list[Any]:
    """Draw the band of small shifts, the lines between roles, and the line of no change."""
    band = alt.Chart(pd.DataFrame({"from": [-least], "to": [least]})).mark_rect(color="#eee")
    lines = alt.Chart(pd.DataFrame({"role": roles})).mark_rule(color="#ddd")
    zero = alt.Chart(pd.DataFrame({"at": [0]})).mark_rule(color="#555", strokeDash=[4, 3])
    return [
        band.encode(x=alt.X("from:Q", scale=x, title=UNIT), x2="to:Q"),
        lines.encode(y=_role_axis(roles, first, bandPosition=0)),
        zero.encode(x=alt.X("at:Q", scale=x, title=UNIT)),
    ]


def _absent(known: pd.DataFrame, roles: list[str], x: alt.Scale, y: alt.Y) -> Any:
    """Write "not defined" into the rows of roles without a change."""
    missing = [role for role in roles if role not in set(known["role"])]
    middle = sum(x.domain) / 2
    frame = pd.DataFrame({"role": missing, "at": middle, "what": "not defined"})
    words = alt.Chart(frame).mark_text(color="#555")
    return words.encode(x=alt.X("at:Q", scale=x, title=UNIT), y=y, text="what:N")
