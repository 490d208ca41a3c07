"""How alike the scores of two roles are: Spearman's correlation of every two (Pande et al. 2021)."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from headscope.errors import unknown
from headscope.figures.gallery import figure
from headscope.figures.roles import NOTHING, note, shown_roles, titled
from headscope.figures.shares import PAPER
from headscope.figures.style import GREY, subject
from headscope.results import Results
from headscope.stats.overlap import role_correlations
from headscope.stats.roles import role_tests

TITLE = "Correlation of roles (Spearman)"
OVER = {
    "heads": "over heads, of their mean scores",
    "sequences": "over heads and sequences, of single scores",
}


def correlation_map(correlations: pd.DataFrame, *, over: str = "heads", subtitle: str = "") -> Any:
    """A square for every two roles with their correlation. ``correlations`` is the frame of :func:`~headscope.stats.role_correlations`; ``over``: heads or sequences."""
    if correlations.empty:
        return note("one role alone correlates with nothing", TITLE, subtitle)
    if f"rho ({over})" not in correlations:
        raise unknown(
            "kind of correlation", over, [kind for kind in OVER if f"rho ({kind})" in correlations]
        )
    columns = {f"{part} ({over})": part for part in ("rho", "p", "n")}
    half = correlations[["role", "other", *columns]].rename(columns=columns)
    names = list(dict.fromkeys([*half["role"], *half["other"]]))
    frame = pd.concat(
        [half, half.rename(columns={"role": "other", "other": "role"})], ignore_index=True
    )
    side = 37
    base = alt.Chart(frame, width=side * len(names), height=side * 0.75 * len(names)).encode(
        x=alt.X(
            "other:N",
            sort=names,
            scale=alt.Scale(domain=names),
            title=None,
            axis=alt.Axis(labelAngle=-45),
        ),
        y=alt.Y("role:N", sort=names, scale=alt.Scale(domain=names), title=None),
        tooltip=[
            "role:N",
            "other:N",
            alt.Tooltip("rho:Q", format=".3f"),
            alt.Tooltip("p:Q", format=".2g"),
            alt.Tooltip("n:Q"),
        ],
    )
    known, undefined = (
        base.transform_filter("isValid(datum.rho)"),
        base.transform_filter("!isValid(datum.rho)"),
    )
    squares = known.mark_rect().encode(
        color=alt.Color(
            "rho:Q", scale=alt.Scale(scheme="blueorange", domain=[-1, 1], reverse=True), title="ρ"
        )
    )
    numbers = known.mark_text(fontSize=9.5).encode(
        text=alt.Text("rho:Q", format=".2f"),
        color=alt.condition("abs(datum.rho) > 0.7", alt.value("white"), alt.value("black")),
    )
    none = [undefined.mark_rect(color=GREY), undefined.mark_text(text="–", color="#555")]
    return titled(alt.layer(*none, squares, numbers), TITLE, subtitle, OVER[over])


@figure(
    "role-correlations",
    title="Correlation of roles",
    caption="Spearman's correlation between the sieve biases of every two roles, over heads and sequences where single scores are kept, else over heads "
    "(Pande et al. 2021 report 0.73 to 0.85 for local and syntactic).",
    needs=("role",),
)
def _role_correlations(results: Results) -> Any:
    roles = shown_roles(role_tests(results), PAPER)
    if not roles:
        return note(NOTHING, TITLE, subject(results.provenance))
    found = role_correlations(results, roles)
    return correlation_map(
        found,
        over="sequences" if "rho (sequences)" in found else "heads",
        subtitle=subject(results.provenance),
    )
