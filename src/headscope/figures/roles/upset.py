"""An UpSet plot of roles: one bar per combination, above dots that say which roles it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
import xarray as xr

from headscope.figures.roles.common import NOTHING, role_colours, shown_roles
from headscope.figures.style import BLACK, either_colour, note, styled, subject
from headscope.results import Atlas
from headscope.stats.tables.role_tables import RoleSets, regions, role_sets
from headscope.stats.tables.roles import COARSE, describe_test, role_tests

TITLE = "Heads with exactly these roles"
NONE = "none of these roles"
MOST = 24
"""Combinations that are drawn, the largest first."""
STEP, ROW, BARS, SIZES = 27, 24, 170, 130
"""Pixels of a combination's width, of a role's height, of the bars' height and the sizes' width."""


def upset(
    tests: xr.Dataset, *, roles: Sequence[str] = COARSE, subtitle: str = "", most: int = MOST
) -> Any:
    """Draw how many heads have exactly each combination of roles.

    Parameters
    ----------
    tests : Dataset
        From :func:`headscope.stats.role_tests`.
    roles : sequence of str
        The roles; by default the paper's four.
    subtitle : str
        Under the title.
    most : int
        So many combinations are drawn, the largest first.

    Returns
    -------
    altair chart
        Bars of combinations, dots of their roles, and on the right all heads of each role. Heads
        with none of the roles are a combination too.
    """
    names = shown_roles(tests, roles)
    if not names:
        return note(NOTHING, TITLE, subtitle)
    sets = role_sets(tests, names)
    every = combinations_of(sets, tests.sizes["layer"] * tests.sizes["head"])
    drawn = every.head(most)
    order = list(drawn["roles"])
    x = alt.X("roles:N", sort=order, axis=None, scale=alt.Scale(domain=order))
    width = max(150, STEP * len(order))
    parts = [_bars(drawn, x, width), _blank(), _dots(order, names, x, width), _sizes(sets)]
    largest = f"the {most} largest of {len(every)} combinations; " if len(every) > most else ""
    return styled(
        alt.concat(*parts, columns=2, spacing=8),
        TITLE,
        subtitle,
        f"{largest}{describe_test(tests)}",
        "a column without a black dot: heads with none of these roles",
    )


def _bars(drawn: pd.DataFrame, x: alt.X, width: int) -> Any:
    """Draw one bar per combination with its number."""
    top = 1.1 * float(drawn["heads"].max())
    bars = alt.Chart(drawn, width=width, height=BARS).encode(
        x=x,
        y=alt.Y(
            "heads:Q",
            title="heads",
            axis=alt.Axis(tickMinStep=1),
            scale=alt.Scale(domain=[0, top], nice=False),
        ),
        tooltip=[alt.Tooltip("roles:N"), alt.Tooltip("heads:Q"), alt.Tooltip("which:N")],
    )
    return alt.layer(
        bars.mark_bar(color="#444"), bars.mark_text(dy=-7, fontSize=11).encode(text="heads:Q")
    )


def _blank() -> Any:
    """Return an empty corner above the sizes of the roles."""
    return (
        alt.Chart(pd.DataFrame({"what": [""]}), width=SIZES, height=BARS)
        .mark_text()
        .encode(text="what:N")
        .properties(view=alt.ViewConfig(stroke=None))
    )


def _dots(order: list[str], names: list[str], x: alt.X, width: int) -> Any:
    """Draw the matrix of dots, with a line through the roles of a combination."""
    cells = pd.DataFrame(
        [
            {"roles": label, "role": name, "inside": name in label.split(" & ")}
            for label in order
            for name in names
        ]
    )
    axis = alt.Axis(labelFontSize=12, ticks=False, domain=False)
    y = alt.Y("role:N", sort=names, scale=alt.Scale(domain=names), title=None, axis=axis)
    dots = alt.Chart(cells, width=width, height=ROW * len(names)).encode(x=x, y=y)
    ink = either_colour("datum.inside", BLACK, "#e2e2e2")
    joined = dots.transform_filter("datum.inside").mark_line(strokeWidth=2.5, color=BLACK)
    return alt.layer(
        joined.encode(detail="roles:N"), dots.mark_circle(size=150, opacity=1).encode(color=ink)
    )


def _sizes(sets: RoleSets) -> Any:
    """Draw how many heads have each role, alone or with others."""
    names = list(sets)
    counts = [len(heads) for heads in sets.values()]
    frame = pd.DataFrame({"role": names, "heads": counts, "colour": role_colours(names)})
    rows = alt.Chart(frame, width=SIZES, height=ROW * len(names)).encode(
        y=alt.Y("role:N", sort=names, scale=alt.Scale(domain=names), axis=None),
        x=alt.X(
            "heads:Q",
            title="all heads with the role",
            axis=alt.Axis(tickMinStep=1, tickCount=4),
            scale=alt.Scale(domain=[0, 1.25 * max(1, *counts)], nice=False),
        ),
    )
    return alt.layer(
        rows.mark_bar().encode(color=alt.Color("colour:N", scale=None)),
        rows.mark_text(align="left", dx=4, fontSize=11).encode(text="heads:Q"),
    )


def combinations_of(sets: RoleSets, total: int) -> pd.DataFrame:
    """List the combinations that some head has exactly, the largest first.

    Parameters
    ----------
    sets : mapping of str to set of Head
        The heads of each role.
    total : int
        How many heads there are, in order to count those with no role.

    Returns
    -------
    DataFrame
        With the columns roles, degree, heads and which.

    Examples
    --------
    >>> sets = {"local": {"1-1", "1-2"}, "block": {"1-2"}}
    >>> combinations_of(sets, 3)[["roles", "heads"]].values.tolist()
    [['none of these roles', 1], ['local', 1], ['local & block', 1]]
    """
    rows = regions(sets).to_dict("records")
    none = total - len(set().union(*sets.values()))
    if none:
        rows.append({"roles": NONE, "degree": 0, "heads": none, "which": ""})
    return pd.DataFrame(rows).sort_values(
        ["heads", "degree", "roles"], ascending=[False, True, True], ignore_index=True
    )


def role_upset(results: Atlas) -> Any:
    """Draw the combinations of the paper's four roles."""
    return upset(role_tests(results), subtitle=subject(results.provenance))
