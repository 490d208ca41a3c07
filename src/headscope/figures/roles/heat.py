"""The mean sieve bias of every head, one small map per role (Pande et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
import xarray as xr

from headscope.figures.roles.common import NOTHING, shown_roles
from headscope.figures.style import note, styled, subject
from headscope.figures.tidy import tidy
from headscope.results import Atlas
from headscope.stats.tables.roles import COARSE, describe_test, role_tests

TITLE = "Mean sieve bias, head by head"
MANY = 16
"""Models with more heads or layers get smaller squares."""
TICKS = (0.1, 0.3, 1, 3, 10, 30, 100, 300)
"""The numbers in the legend."""
LEAST = 0.1
"""A tenth of uniform attention, or less, gets the darkest colour: a logarithm has no 0."""


def role_maps(tests: xr.Dataset, *, roles: Sequence[str] = COARSE, subtitle: str = "") -> Any:
    """Draw the mean sieve bias of every head, coloured by its logarithm.

    Parameters
    ----------
    tests : Dataset
        From :func:`headscope.stats.role_tests`.
    roles : sequence of str
        One small map each; by default the paper's four.
    subtitle : str
        Under the title.

    Returns
    -------
    altair chart
        Heads that have the role are outlined.
    """
    names = shown_roles(tests, roles)
    if not names:
        return note(NOTHING, TITLE, subtitle)
    frame = tidy(tests[["mean", "low", "high", "effect", "p", "has"]].sel(role=names))
    frame["strength"] = frame["mean"].clip(lower=LEAST)
    least, most = float(frame["strength"].min()), float(frame["strength"].max())
    scale = alt.Scale(type="log", scheme="viridis", domain=[min(least, 1.0), max(most, 3.0)])
    heads, layers = tests.sizes["head"], tests.sizes["layer"]
    maps = [_map(frame[frame["role"] == name], name, heads, layers, scale) for name in names]
    return styled(
        alt.concat(*maps, columns=2, spacing=18),
        TITLE,
        subtitle,
        f"outlined: has the role ({describe_test(tests)})",
    )


def _map(part: pd.DataFrame, name: str, heads: int, layers: int, scale: alt.Scale) -> Any:
    """Draw the map of one role."""
    many = max(heads, layers) > MANY
    side, every = (12, 4) if many else (19, 1)
    base = alt.Chart(part, width=side * heads, height=side * layers).encode(
        x=alt.X("head:O", title="head", axis=_axis(heads, every)),
        y=alt.Y("layer:O", title="layer", sort="descending", axis=_axis(layers, every)),
        tooltip=[
            alt.Tooltip("name:N", title="head"),
            alt.Tooltip("mean:Q", format=".3f"),
            alt.Tooltip("low:Q", format=".3f", title="95 % from"),
            alt.Tooltip("high:Q", format=".3f", title="to"),
            alt.Tooltip("effect:Q", format=".3f", title="effect (Cohen's d)"),
            alt.Tooltip("p:Q", format=".2g"),
        ],
    )
    low, high = scale.domain
    ticks = [tick for tick in TICKS if low <= tick <= high]
    legend = alt.Legend(values=ticks, format="~g")
    colour = alt.Color("strength:Q", scale=scale, title=["times", "uniform"], legend=legend)
    having = base.transform_filter("datum.has")
    outline = [
        having.mark_rect(filled=False, stroke=ink, strokeWidth=width)
        for ink, width in (("black", 3), ("white", 1.2))
    ]
    heading = alt.TitleParams(
        f"{name}: {int(part['has'].sum())} of {heads * layers} heads",
        fontSize=12,
        fontWeight="normal",
        anchor="start",
        frame="group",
        offset=4,
    )
    return alt.layer(base.mark_rect().encode(color=colour), *outline).properties(title=heading)


def _axis(count: int, every: int) -> alt.Axis:
    """Return an axis with a label at the first and then at every so many."""
    return alt.Axis(
        labelAngle=0,
        labelFontSize=11,
        titleFontSize=11,
        values=[number for number in range(1, count + 1) if number == 1 or number % every == 0],
    )


def role_heat(results: Atlas) -> Any:
    """Draw the maps of the paper's four roles."""
    return role_maps(role_tests(results), subtitle=subject(results.provenance))
