"""The skills of every head (Pande et al. 2021, Figure 5): a square a head, divided in nine, one part a fine role."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
import xarray as xr

from headscope.errors import UserError
from headscope.figures.gallery import figure
from headscope.figures.roles import MANY, NOTHING, heads_text, how, note, titled
from headscope.figures.style import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, YELLOW, subject
from headscope.results import Results
from headscope.stats.overlap import present, skills
from headscope.stats.roles import FINE, role_tests

TITLE = "Skills of every head"
COLOURS = (GREEN, "#8FD3B6", PURPLE, BLUE, SKY, RED, ORANGE, YELLOW, "#8C6D31")
DARK = {GREEN, BLUE, RED, "#8C6D31"}
UNSKILLED = "#e9e9e9"
GAP = 0.16
"""Between heads, as a share of a head's square."""
KEY_WIDTH, KEY_HEIGHT = 98, 46


def skill_grid(tests: xr.Dataset, *, roles: Sequence[str] = FINE, subtitle: str = "") -> Any:
    """Rows are layers, 1 at the bottom; in each, heads with more skills come first. The key beside it says which part of a square is which role: colours only help."""
    if len(roles) != 9:
        raise UserError(
            f"a square is divided in nine, got {len(roles)} roles instead",
            hint="give nine roles, or none for those of the paper",
        )
    there = present(tests, roles)
    if not there:
        return note(
            NOTHING
            if not present(tests, list(tests["role"].values))
            else "none of the nine roles could be tested",
            TITLE,
            subtitle,
        )
    layers, heads = tests.sizes["layer"], tests.sizes["head"]
    side = 36 if max(heads, layers) <= MANY else 27
    x = alt.X(
        "left:Q",
        scale=alt.Scale(domain=[0, heads], nice=False),
        title="heads, most roles first",
        axis=alt.Axis(labels=False, ticks=False, grid=False),
    )
    names = alt.Axis(
        values=[number + 0.5 for number in range(layers)],
        labelExpr="datum.value + 0.5",
        ticks=False,
        grid=False,
        domain=False,
    )
    y = alt.Y(
        "bottom:Q", scale=alt.Scale(domain=[0, layers], nice=False), title="layer", axis=names
    )
    shown = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("role:N"),
        alt.Tooltip("has:N", title="has it"),
        alt.Tooltip("skills:Q", title="roles in all"),
    ]
    # As text: a large model has more rows than Altair takes in a frame, and it copies lists over and over.
    cells = alt.Data(
        values=skill_cells(tests, roles).to_json(orient="records", double_precision=6),
        format=alt.DataFormat(type="json"),
    )
    parts = (
        alt.Chart(cells)
        .mark_rect(stroke="white", strokeWidth=0.5)
        .encode(
            x=x,
            x2="right:Q",
            y=y,
            y2="top:Q",
            color=alt.Color("colour:N", scale=None),
            tooltip=shown,
        )
    )
    rim = GAP / 5
    frames = pd.DataFrame(
        [
            {
                "left": column + rim,
                "right": column + 1 - rim,
                "bottom": row + rim,
                "top": row + 1 - rim,
            }
            for column in range(heads)
            for row in range(layers)
        ]
    )
    squares = (
        alt.Chart(frames)
        .mark_rect(filled=False, stroke="#bbb", strokeWidth=0.7)
        .encode(x=x, x2="right:Q", y=y, y2="top:Q")
    )
    grid = alt.layer(squares, parts).properties(width=side * heads, height=side * layers)
    return titled(
        alt.hconcat(grid, _key(tests, roles, there), spacing=28).resolve_scale(
            x="independent", y="independent"
        ),
        TITLE,
        subtitle,
        how(tests),
    )


def skill_cells(tests: xr.Dataset, roles: Sequence[str] = FINE) -> pd.DataFrame:
    """One row a head and role that was tested: its part of the head's square, its colour, and who it is."""
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
    """One large square with the names of the roles at their places, and how many heads have each."""
    rows = []
    for index, role in enumerate(roles):
        tested = role in there
        colour = COLOURS[index] if tested else "white"
        count = heads_text(int(tests["has"].sel(role=role).sum())) if tested else "–"
        rows.append(
            {
                "column": index % 3,
                "row": index // 3,
                "role": role,
                "count": count,
                "colour": colour,
                "ink": "white" if colour in DARK else "black",
            }
        )
    frame = pd.DataFrame(rows)
    base = alt.Chart(frame, width=KEY_WIDTH * 3, height=KEY_HEIGHT * 3).encode(
        x=alt.X("column:O", axis=None, scale=alt.Scale(paddingInner=0, paddingOuter=0)),
        y=alt.Y("row:O", axis=None, scale=alt.Scale(paddingInner=0, paddingOuter=0)),
    )
    square = base.mark_rect(stroke="#999", strokeWidth=1).encode(
        color=alt.Color("colour:N", scale=None)
    )
    words = base.mark_text(fontSize=11, dy=-7, fontWeight="bold").encode(
        text="role:N", color=alt.Color("ink:N", scale=None)
    )
    counts = base.mark_text(fontSize=10, dy=8).encode(
        text="count:N", color=alt.Color("ink:N", scale=None)
    )
    absent = " Empty: not tested here." if len(there) < len(roles) else ""
    heading = alt.TitleParams(
        "Every head is such a square.",
        subtitle=f"Grey: has not the role.{absent}",
        fontSize=11,
        subtitleFontSize=10,
        fontWeight="normal",
        anchor="start",
        orient="bottom",
    )
    return alt.layer(square, words, counts).properties(title=heading)


@figure(
    "role-skills",
    title="Skills of every head, by layer",
    caption="As Pande et al. 2021, Figure 5: each head a square of nine fine roles in fixed places, coloured where it has the role at τ = 3; most skilled heads first. Hover for the head.",
    needs=("role",),
)
def _role_skills(results: Results) -> Any:
    return skill_grid(role_tests(results), subtitle=subject(results.provenance))
