"""The skills of every head (Pande et al. 2021, Figure 5): a square per head, in nine parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
import xarray as xr

from headscope.errors import UserError
from headscope.figures.roles.common import NOTHING, heads_text
from headscope.figures.style import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    YELLOW,
    note,
    styled,
    subject,
)
from headscope.results import Atlas
from headscope.stats.tables.role_tables import present, skills
from headscope.stats.tables.roles import FINE, describe_test, role_tests

TITLE = "Skills of every head"
COLOURS = (GREEN, "#8FD3B6", PURPLE, BLUE, SKY, RED, ORANGE, YELLOW, "#8C6D31")
DARK = {GREEN, BLUE, RED, "#8C6D31"}
UNSKILLED = "#e9e9e9"
MANY = 16
"""Models with more heads or layers get smaller squares."""
GAP = 0.16
"""Between heads, as a share of a head's square."""
KEY_WIDTH, KEY_HEIGHT = 98, 46


def skill_grid(tests: xr.Dataset, *, roles: Sequence[str] = FINE, subtitle: str = "") -> Any:
    """Draw every head as a square of nine roles in fixed places.

    Parameters
    ----------
    tests : Dataset
        From :func:`headscope.stats.role_tests`.
    roles : sequence of str
        Nine roles; by default the fine roles of the paper.
    subtitle : str
        Under the title.

    Returns
    -------
    altair chart
        Rows are layers, 1 at the bottom; in each, heads with more roles come first. The key below
        the grid says which part of a square is which role; colours only help.

    Raises
    ------
    UserError
        If there are not nine roles.
    """
    if len(roles) != 9:
        raise UserError(
            f"the roles must be nine, one for each part of a square; got {len(roles)} instead",
            hint="give nine roles, or none for those of the paper",
        )
    there = present(tests, roles)
    if not there:
        tested = present(tests, [str(name) for name in tests["role"].values])
        return note(
            "none of the nine roles could be tested" if tested else NOTHING, TITLE, subtitle
        )
    whole = alt.vconcat(_grid(tests, roles), _key(tests, roles, there), spacing=16)
    return styled(
        whole.resolve_scale(x="independent", y="independent"),
        TITLE,
        subtitle,
        describe_test(tests),
    )


def _grid(tests: xr.Dataset, roles: Sequence[str]) -> Any:
    """Draw all heads."""
    layers, heads = tests.sizes["layer"], tests.sizes["head"]
    side = 36 if max(heads, layers) <= MANY else 27
    bare: dict[str, Any] = {"ticks": False, "grid": False}
    x = alt.X(
        "left:Q",
        scale=alt.Scale(domain=[0, heads], nice=False),
        title="heads, most roles first",
        axis=alt.Axis(labels=False, **bare),
    )
    middles = [number + 0.5 for number in range(layers)]
    y = alt.Y(
        "bottom:Q",
        scale=alt.Scale(domain=[0, layers], nice=False),
        title="layer",
        axis=alt.Axis(values=middles, labelExpr="datum.value + 0.5", domain=False, **bare),
    )
    ends: dict[str, Any] = {"x": x, "x2": "right:Q", "y": y, "y2": "top:Q"}
    # As text: a large model has more rows than Altair takes in a frame, and it copies lists often.
    cells = alt.Data(
        values=skill_cells(tests, roles).to_json(orient="records", double_precision=6),
        format=alt.DataFormat(type="json"),
    )
    shown = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("role:N"),
        alt.Tooltip("has:N", title="has it"),
        alt.Tooltip("skills:Q", title="roles in all"),
    ]
    parts = alt.Chart(cells).mark_rect(stroke="white", strokeWidth=0.5)
    frames = alt.Chart(_frames(heads, layers))
    return alt.layer(
        frames.mark_rect(filled=False, stroke="#bbb", strokeWidth=0.7).encode(**ends),
        parts.encode(**ends, color=alt.Color("colour:N", scale=None), tooltip=shown),
    ).properties(width=side * heads, height=side * layers)


def _frames(heads: int, layers: int) -> pd.DataFrame:
    """Return the thin frame around every head."""
    rim = GAP / 5
    rows = [
        {"left": column + rim, "right": column + 1 - rim, "bottom": row + rim, "top": row + 1 - rim}
        for column in range(heads)
        for row in range(layers)
    ]
    return pd.DataFrame(rows)


def skill_cells(tests: xr.Dataset, roles: Sequence[str] = FINE) -> pd.DataFrame:
    """Return one row per head and tested role: its part of the square, its colour and name."""
    frame = skills(tests, roles)
    position = frame["role"].map({role: index for index, role in enumerate(roles)})
    part = (1 - GAP) / 3
    frame["left"] = frame["place"] - 1 + GAP / 2 + position % 3 * part
    frame["top"] = frame["layer"] - GAP / 2 - position // 3 * part
    frame["right"], frame["bottom"] = frame["left"] + part, frame["top"] - part
    frame["colour"] = position.map(dict(enumerate(COLOURS))).where(frame["has"], UNSKILLED)
    frame["name"] = frame["layer"].astype(str) + "-" + frame["head"].astype(str)
    return frame


def _key(tests: xr.Dataset, roles: Sequence[str], there: Sequence[str]) -> Any:
    """Draw one large square with the names of the roles, and how many heads have each."""
    frame = pd.DataFrame([_key_row(tests, role, there, i) for i, role in enumerate(roles)])
    scale = alt.Scale(paddingInner=0, paddingOuter=0)
    base = alt.Chart(frame, width=KEY_WIDTH * 3, height=KEY_HEIGHT * 3).encode(
        x=alt.X("column:O", axis=None, scale=scale), y=alt.Y("row:O", axis=None, scale=scale)
    )
    ink = alt.Color("ink:N", scale=None)
    square = base.mark_rect(stroke="#999", strokeWidth=1)
    absent = " Empty: not tested here." if len(there) < len(roles) else ""
    heading = alt.TitleParams(
        "Each head is a square like this one.",
        subtitle=f"Grey: does not have the role.{absent}",
        fontSize=11,
        subtitleFontSize=11,
        fontWeight="normal",
        anchor="start",
        orient="bottom",
    )
    return alt.layer(
        square.encode(color=alt.Color("colour:N", scale=None)),
        base.mark_text(fontSize=11, dy=-7, fontWeight="bold").encode(text="role:N", color=ink),
        base.mark_text(fontSize=11, dy=8).encode(text="count:N", color=ink),
    ).properties(title=heading)


def _key_row(tests: xr.Dataset, role: str, there: Sequence[str], place: int) -> dict[str, Any]:
    """Return what the key shows of one role."""
    tested = role in there
    colour = COLOURS[place] if tested else "white"
    return {
        "column": place % 3,
        "row": place // 3,
        "role": role,
        "count": heads_text(int(tests["has"].sel(role=role).sum())) if tested else "–",
        "colour": colour,
        "ink": "white" if colour in DARK else "black",
    }


def role_skills(results: Atlas) -> Any:
    """Draw the fine roles of the paper."""
    return skill_grid(role_tests(results), subtitle=subject(results.provenance))
