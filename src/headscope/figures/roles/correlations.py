"""How alike the scores of two roles are: Spearman's correlation (Pande et al. 2021)."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from headscope.errors import unknown
from headscope.figures.roles.common import NOTHING, PAPER, shown_roles
from headscope.figures.squares import split_defined
from headscope.figures.style import GREY, either_colour, note, styled, subject
from headscope.results import Atlas
from headscope.stats.tables.role_tables import role_correlations
from headscope.stats.tables.roles import role_tests

TITLE = "Correlation of roles (Spearman)"
OVER = {
    "heads": "over all heads: their mean scores",
    "sequences": "over all heads and sequences",
}
SIDE, HIGH = 40, 0.6
"""Pixels of a square's width, and its height as a share of it."""


def correlation_map(correlations: pd.DataFrame, *, over: str = "heads", subtitle: str = "") -> Any:
    """Draw one square for every two roles, with their correlation.

    Parameters
    ----------
    correlations : DataFrame
        From :func:`headscope.stats.role_correlations`.
    over : {"heads", "sequences"}
        Which of its correlations to draw.
    subtitle : str
        Under the title.

    Returns
    -------
    altair chart

    Raises
    ------
    UserError
        If the correlations are not over ``over``.
    """
    if correlations.empty:
        return note("there is only one role, which has nothing to correlate with", TITLE, subtitle)
    if f"rho ({over})" not in correlations:
        there = [kind for kind in OVER if f"rho ({kind})" in correlations]
        raise unknown("kind of correlation", over, there)
    columns = {f"{part} ({over})": part for part in ("rho", "p", "n")}
    half = correlations[["role", "other", *columns]].rename(columns=columns)
    names = list(dict.fromkeys([*half["role"], *half["other"]]))
    turned = half.rename(columns={"role": "other", "other": "role"})
    base = _squares(pd.concat([half, turned], ignore_index=True), names)
    known, undefined = split_defined(base, "rho")
    scale = alt.Scale(scheme="blueorange", domain=[-1, 1], reverse=True)
    ink = either_colour("abs(datum.rho) > 0.7", "white", "black")
    marks = [
        undefined.mark_rect(color=GREY),
        undefined.mark_text(text="–", color="#555"),
        known.mark_rect().encode(color=alt.Color("rho:Q", scale=scale, title="ρ, −1 to 1")),
        known.mark_text(fontSize=11).encode(text=alt.Text("rho:Q", format=".2f"), color=ink),
    ]
    return styled(alt.layer(*marks), TITLE, subtitle, OVER[over])


def _squares(frame: pd.DataFrame, names: list[str]) -> Any:
    """Start a chart with a square for every two roles."""
    scale = alt.Scale(domain=names)
    chart = alt.Chart(frame, width=SIDE * len(names), height=SIDE * HIGH * len(names))
    return chart.encode(
        x=alt.X("other:N", sort=names, scale=scale, title=None, axis=alt.Axis(labelAngle=-45)),
        y=alt.Y("role:N", sort=names, scale=scale, title=None),
        tooltip=[
            "role:N",
            "other:N",
            alt.Tooltip("rho:Q", format=".3f", title="ρ"),
            alt.Tooltip("p:Q", format=".2g"),
            alt.Tooltip("n:Q"),
        ],
    )


def role_correlations_map(results: Atlas) -> Any:
    """Draw the correlations of the paper's roles."""
    about = subject(results.provenance)
    roles = shown_roles(role_tests(results), PAPER)
    if not roles:
        return note(NOTHING, TITLE, about)
    found = role_correlations(results, roles)
    over = "sequences" if "rho (sequences)" in found else "heads"
    return correlation_map(found, over=over, subtitle=about)
