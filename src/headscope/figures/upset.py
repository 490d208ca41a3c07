"""An UpSet plot of roles: a bar for each combination that heads have exactly, over a matrix of dots that says which roles it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
import xarray as xr

from headscope.figures.gallery import figure
from headscope.figures.roles import NOTHING, how, note, role_colours, shown_roles, titled
from headscope.figures.style import BLACK, subject
from headscope.results import Results
from headscope.stats.overlap import regions, role_sets
from headscope.stats.roles import COARSE, role_tests

TITLE = "Heads with exactly these roles"
NONE = "no role of these"
MOST = 24
"""Combinations that are drawn, the largest first."""
STEP, ROW = 30, 24


def upset(
    tests: xr.Dataset, *, roles: Sequence[str] = COARSE, subtitle: str = "", most: int = MOST
) -> Any:
    """Bars of combinations, dots of their roles, and how many heads have each role in all. Heads with none of the roles are a combination too."""
    names = shown_roles(tests, roles)
    if not names:
        return note(NOTHING, TITLE, subtitle)
    sets = role_sets(tests, names)
    every = combinations_of(sets, tests.sizes["layer"] * tests.sizes["head"])
    drawn = every.head(most)
    left = f"the {most} largest of {len(every)} combinations; " if len(every) > most else ""
    order = list(drawn["roles"])
    x = alt.X("roles:N", sort=order, axis=None, scale=alt.Scale(domain=order))
    y = alt.Y(
        "role:N",
        sort=names,
        scale=alt.Scale(domain=names),
        title=None,
        axis=alt.Axis(labelFontSize=12, ticks=False, domain=False),
    )
    shown = [alt.Tooltip("roles:N"), alt.Tooltip("heads:Q"), alt.Tooltip("which:N")]
    width, height = max(150, STEP * len(order)), ROW * len(names)
    bars = alt.Chart(drawn, width=width, height=170).encode(
        x=x,
        y=alt.Y(
            "heads:Q",
            title="heads",
            axis=alt.Axis(tickMinStep=1),
            scale=alt.Scale(domain=[0, 1.1 * float(drawn["heads"].max())], nice=False),
        ),
        tooltip=shown,
    )
    top = alt.layer(
        bars.mark_bar(color="#444"), bars.mark_text(dy=-7, fontSize=11).encode(text="heads:Q")
    )
    cells = pd.DataFrame(
        [
            {"roles": label, "role": name, "inside": name in label.split(" & ")}
            for label in order
            for name in names
        ]
    )
    dots = alt.Chart(cells, width=width, height=height).encode(x=x, y=y)
    matrix = alt.layer(
        dots.transform_filter("datum.inside")
        .mark_line(strokeWidth=2.5, color=BLACK)
        .encode(detail="roles:N"),
        dots.mark_circle(size=150, opacity=1).encode(
            color=alt.condition("datum.inside", alt.value(BLACK), alt.value("#e2e2e2"))
        ),
    )
    largest = 1.25 * max(1, *(len(heads) for heads in sets.values()))
    sizes = alt.Chart(
        pd.DataFrame(
            {
                "role": names,
                "heads": [len(sets[name]) for name in names],
                "colour": role_colours(names),
            }
        ),
        width=130,
        height=height,
    )
    rows = sizes.encode(
        y=alt.Y("role:N", sort=names, scale=alt.Scale(domain=names), axis=None),
        x=alt.X(
            "heads:Q",
            title="heads in all",
            axis=alt.Axis(tickMinStep=1, tickCount=4),
            scale=alt.Scale(domain=[0, largest], nice=False),
        ),
    )
    right = alt.layer(
        rows.mark_bar().encode(color=alt.Color("colour:N", scale=None)),
        rows.mark_text(align="left", dx=4, fontSize=11).encode(text="heads:Q"),
    )
    blank = (
        alt.Chart(pd.DataFrame({"what": [""]}), width=130, height=170)
        .mark_text()
        .encode(text="what:N")
        .properties(view=alt.ViewConfig(stroke=None))
    )
    return titled(
        alt.concat(top, blank, matrix, right, columns=2, spacing=8),
        TITLE,
        subtitle,
        f"{left}{how(tests)}",
        "a column without a black dot: heads with none of these roles",
    )


def combinations_of(sets: dict[str, set[str]], total: int) -> pd.DataFrame:
    """The combinations that some head has exactly, and the heads that have none, the largest first."""
    rows = regions(sets).to_dict("records")
    none = total - len(set().union(*sets.values()))
    if none:
        rows.append({"roles": NONE, "degree": 0, "heads": none, "which": ""})
    return pd.DataFrame(rows).sort_values(
        ["heads", "degree", "roles"], ascending=[False, True, True], ignore_index=True
    )


@figure(
    "role-upset",
    title="Combinations of the four roles",
    caption="Each bar counts the heads that have exactly the roles with a black dot under it (τ = 3); a column without a black dot is heads with none. At the right: heads of each role in all.",
    needs=("role",),
)
def _role_upset(results: Results) -> Any:
    return upset(role_tests(results), subtitle=subject(results.provenance))
