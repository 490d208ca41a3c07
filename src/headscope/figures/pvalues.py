"""The p-values of all heads and roles (Pande et al. 2021, Figure 3b): a test that decides has them near 0 and near 1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from headscope.figures.gallery import figure
from headscope.figures.roles import NOTHING, how, note, role_colours, shown_roles, titled
from headscope.figures.style import subject
from headscope.results import Results
from headscope.stats.roles import COARSE, role_tests, undecided

EDGES = (0, 0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 1)
"""Bins that are narrow where p-values lie: near both ends."""
TITLE = "p-values of heads and roles"


def p_histogram(tests: xr.Dataset, *, roles: Sequence[str] = COARSE, subtitle: str = "") -> Any:
    """How many heads have p in each bin, stacked by role, and the share between 0.05 and 0.95 that a stricter reader would call undecided."""
    names = shown_roles(tests, roles)
    if not names:
        return note(NOTHING, TITLE, subtitle)
    frame = p_counts(tests, names)
    totals = frame.groupby("bin", as_index=False)["heads"].sum()
    order = [bin_name(low, high) for low, high in pairwise(EDGES)]
    x = alt.X(
        "bin:N",
        sort=order,
        scale=alt.Scale(domain=order),
        title="p of “the mean is at most τ” (bins of different widths)",
        axis=alt.Axis(labelAngle=-40),
    )
    middle = pd.DataFrame(
        {"bin": [name for name, low in zip(order, EDGES, strict=False) if 0.05 <= low < 0.95]}
    )
    band = alt.Chart(middle).mark_rect(color="#eee").encode(x=x)
    bars = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=x,
            y=alt.Y(
                "heads:Q",
                title="heads (one for each role)",
                stack="zero",
                scale=alt.Scale(domain=[0, 1.08 * float(totals["heads"].max())], nice=False),
            ),
            color=alt.Color(
                "role:N",
                scale=alt.Scale(domain=names, range=role_colours(names)),
                sort=names,
                title=None,
            ),
            order="place:Q",
            tooltip=["role:N", "bin:N", "heads:Q"],
        )
    )
    numbers = (
        alt.Chart(totals).mark_text(dy=-7, fontSize=10).encode(x=x, y="heads:Q", text="heads:Q")
    )
    shown = int(totals["heads"].sum())
    share = f"{100 * undecided(tests, names):.1f} % of {shown} p-values between 0.05 and 0.95 (grey; published: 1.8 %)"
    return titled(
        alt.layer(band, bars, numbers).properties(width=420, height=240),
        TITLE,
        f"{subtitle}; {how(tests)}" if subtitle else how(tests),
        share,
    )


def p_counts(tests: xr.Dataset, roles: Sequence[str]) -> pd.DataFrame:
    """The number of heads in each bin, by role. A bin has its lower edge, not its upper; the last has both."""
    rows = []
    for place, role in enumerate(roles):
        p = tests["p"].sel(role=role).values.ravel()
        counts, _ = np.histogram(p[~np.isnan(p)], EDGES)
        rows += [
            {"role": role, "place": place, "bin": bin_name(low, high), "heads": int(count)}
            for (low, high), count in zip(pairwise(EDGES), counts, strict=True)
        ]
    return pd.DataFrame(rows)


def bin_name(low: float, high: float) -> str:
    """How a bin is written.

    >>> bin_name(0, 0.001), bin_name(0.25, 0.5), bin_name(0.999, 1)
    ('< 0.001', '0.25–0.5', '> 0.999')
    """
    return f"< {high:g}" if low == 0 else f"> {low:g}" if high == 1 else f"{low:g}–{high:g}"


@figure(
    "role-p",
    title="p-values of heads and roles",
    caption="As Pande et al. 2021, Figure 3b: one p-value a head and role (one-tailed z test against τ = 3). Few in the grey middle mean that the test decides clearly.",
    needs=("role",),
)
def _role_p(results: Results) -> Any:
    return p_histogram(role_tests(results), subtitle=subject(results.provenance))
