"""Where in a model roles are: the share of every layer's heads that have each, and how many roles a head has (Pande et al. 2021, after Figure 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import xarray as xr

from headscope.figures.gallery import figure
from headscope.figures.roles import NOTHING, how, note, shown_roles, titled
from headscope.figures.style import GREY, subject
from headscope.results import Results
from headscope.stats.overlap import layer_shares
from headscope.stats.roles import COARSE, FINE, role_tests

TITLE = "Roles by layer"
PAPER = tuple(dict.fromkeys((*COARSE, *FINE)))
"""The roles of the paper, coarse ones first."""
MEAN = "roles a head (fine)"


def role_layers(tests: xr.Dataset, *, roles: Sequence[str] = PAPER, subtitle: str = "") -> Any:
    """A square a role and layer with the percentage of the layer's heads that have the role; above it, how many of the nine fine roles a head has on average."""
    names = shown_roles(tests, roles)
    if not names:
        return note(NOTHING, TITLE, subtitle)
    frame = layer_shares(tests, names)
    long = frame.melt(id_vars=["layer"], value_vars=names, var_name="role", value_name="share")
    width = max(200, 34 * tests.sizes["layer"])
    x = alt.X("layer:O", title="layer", axis=alt.Axis(labelAngle=0))
    base = alt.Chart(long, width=width, height=20 * len(names)).encode(
        x=x,
        y=alt.Y("role:N", sort=names, title=None, scale=alt.Scale(domain=names)),
        tooltip=["role:N", "layer:O", alt.Tooltip("share:Q", format=".1%", title="share of heads")],
    )
    squares = base.mark_rect().encode(
        color=alt.Color(
            "share:Q",
            scale=alt.Scale(scheme="viridis", domain=[0, 1]),
            title=["share", "of heads"],
            legend=alt.Legend(format="%"),
        )
    )
    numbers = base.mark_text(fontSize=9).encode(
        text=alt.Text("percent:Q", format=".0f"),
        color=alt.condition("datum.share > 0.5", alt.value("black"), alt.value("white")),
    )
    grid = alt.layer(squares, numbers.transform_calculate(percent="100 * datum.share"))
    top = alt.Chart(
        frame.rename(columns={MEAN: "roles"})[["layer", "roles"]], width=width, height=70
    ).encode(
        x=alt.X("layer:O", title=None, axis=alt.Axis(labels=False, ticks=False)),
        y=alt.Y(
            "roles:Q",
            title=["fine roles", "a head"],
            scale=alt.Scale(domain=[0, 1.25 * max(1.0, float(frame[MEAN].max()))], nice=False),
        ),
        tooltip=["layer:O", alt.Tooltip("roles:Q", format=".2f")],
    )
    bars = alt.layer(
        top.mark_bar(color=GREY),
        top.mark_text(dy=-6, fontSize=9).encode(text=alt.Text("roles:Q", format=".1f")),
    )
    return titled(alt.vconcat(bars, grid, spacing=6), TITLE, subtitle, how(tests))


@figure(
    "role-layers",
    title="Roles by layer",
    caption="The percentage of each layer's heads that have each role (τ = 3), and above it how many of the nine fine roles a head has on average (Pande et al. 2021).",
    needs=("role",),
)
def _role_layers(results: Results) -> Any:
    return role_layers(role_tests(results), subtitle=subject(results.provenance))
