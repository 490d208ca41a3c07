"""Which layers have which roles (Pande et al. 2021, beside Figure 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
import xarray as xr

from headscope.figures.roles.common import NOTHING, PAPER, shown_roles
from headscope.figures.style import GREY, either_colour, note, styled, subject
from headscope.results import Atlas
from headscope.stats.tables.role_tables import layer_shares
from headscope.stats.tables.roles import describe_test, role_tests

TITLE = "Roles by layer"


def role_layers(tests: xr.Dataset, *, roles: Sequence[str] = PAPER, subtitle: str = "") -> Any:
    """Draw the percentage of each layer's heads that have each role.

    Parameters
    ----------
    tests : Dataset
        From :func:`headscope.stats.role_tests`.
    roles : sequence of str
        One row each; by default all roles of the paper.
    subtitle : str
        Under the title.

    Returns
    -------
    altair chart
        One square per role and layer; above, how many of the nine fine roles a head has on average.
    """
    names = shown_roles(tests, roles)
    if not names:
        return note(NOTHING, TITLE, subtitle)
    frame = layer_shares(tests, names)
    width = max(200, 34 * tests.sizes["layer"])
    # The last column is the mean number of fine roles per head.
    means = frame[["layer", frame.columns[-1]]].set_axis(["layer", "roles"], axis=1)
    shares = frame.melt(id_vars=["layer"], value_vars=names, var_name="role", value_name="share")
    return styled(
        alt.vconcat(_means(means, width), _shares(shares, names, width), spacing=6),
        TITLE,
        subtitle,
        describe_test(tests),
    )


def _shares(frame: pd.DataFrame, names: list[str], width: int) -> Any:
    """Draw one square per role and layer with its percentage."""
    base = alt.Chart(frame, width=width, height=22 * len(names)).encode(
        x=alt.X("layer:O", title="layer", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("role:N", sort=names, title=None, scale=alt.Scale(domain=names)),
        tooltip=["role:N", "layer:O", alt.Tooltip("share:Q", format=".1%", title="share of heads")],
    )
    colour = alt.Color(
        "share:Q",
        scale=alt.Scale(scheme="viridis", domain=[0, 1]),
        title=["share", "of heads"],
        legend=alt.Legend(format="%"),
    )
    ink = either_colour("datum.share > 0.5", "black", "white")
    numbers = base.mark_text(fontSize=11).encode(
        text=alt.Text("percent:Q", format=".0f"), color=ink
    )
    return alt.layer(
        base.mark_rect().encode(color=colour),
        numbers.transform_calculate(percent="100 * datum.share"),
    )


def _means(frame: pd.DataFrame, width: int) -> Any:
    """Draw one bar per layer: the mean number of fine roles per head."""
    scale = alt.Scale(domain=[0, 1.25 * max(1.0, float(frame["roles"].max()))], nice=False)
    top = alt.Chart(frame, width=width, height=70).encode(
        x=alt.X("layer:O", title=None, axis=alt.Axis(labels=False, ticks=False)),
        y=alt.Y("roles:Q", title=["fine roles", "per head"], scale=scale),
        tooltip=["layer:O", alt.Tooltip("roles:Q", format=".2f", title="fine roles per head")],
    )
    return alt.layer(
        top.mark_bar(color=GREY),
        top.mark_text(dy=-7, fontSize=11).encode(text=alt.Text("roles:Q", format=".1f")),
    )


def role_layers_map(results: Atlas) -> Any:
    """Draw the roles of the paper by layer."""
    return role_layers(role_tests(results), subtitle=subject(results.provenance))
