"""The p-values of all heads and roles (Pande et al. 2021, Figure 3b).

A test that decides clearly has most of them near 0 or near 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from headscope.figures.roles.common import NOTHING, role_colours, shown_roles
from headscope.figures.style import note, styled, subject
from headscope.results import Atlas
from headscope.stats.tables.role_tables import undecided
from headscope.stats.tables.roles import COARSE, describe_test, role_tests

TITLE = "p-values of heads and roles"
EDGES = (0, 0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 1)
"""Bins that are narrow where p-values lie: near both ends."""


def p_histogram(
    tests: xr.Dataset | Sequence[xr.Dataset],
    *,
    roles: Sequence[str] = COARSE,
    subtitle: str = "",
) -> Any:
    """Draw how many heads have their p-value in each bin, stacked by role.

    Parameters
    ----------
    tests : Dataset or sequence of Dataset
        From :func:`headscope.stats.role_tests`; those of several corpora are pooled.
    roles : sequence of str
        The roles that are counted; by default the paper's four.
    subtitle : str
        Under the title.

    Returns
    -------
    altair chart
        Bins between 0.05 and 0.95, which a strict reader would call undecided, are grey behind.
    """
    every = [tests] if isinstance(tests, xr.Dataset) else list(tests)
    names = list(dict.fromkeys(name for one in every for name in shown_roles(one, roles)))
    if not names:
        return note(NOTHING, TITLE, subtitle)
    frame = p_counts(every, names)
    totals = frame.groupby("bin", as_index=False)["heads"].sum()
    order = [bin_name(low, high) for low, high in pairwise(EDGES)]
    x = alt.X(
        "bin:N",
        sort=order,
        scale=alt.Scale(domain=order),
        title="p of “the mean is at most τ” (bins of different widths)",
        axis=alt.Axis(labelAngle=-40),
    )
    middle = [name for name, low in zip(order, EDGES, strict=False) if 0.05 <= low < 0.95]
    band = alt.Chart(pd.DataFrame({"bin": middle})).mark_rect(color="#eee").encode(x=x)
    bars = _bars(frame, names, x, 1.08 * float(totals["heads"].max()))
    numbers = alt.Chart(totals).mark_text(dy=-7, fontSize=11)
    share, count = 100 * undecided(every, names), int(totals["heads"].sum())
    how = describe_test(every[0])
    return styled(
        alt.layer(band, bars, numbers.encode(x=x, y="heads:Q", text="heads:Q")).properties(
            width=350, height=240
        ),
        TITLE,
        f"{subtitle}; {how}" if subtitle else how,
        f"{share:.1f} % of {count} p-values between 0.05 and 0.95 (grey; published: 1.8 %)",
    )


def _bars(frame: pd.DataFrame, names: list[str], x: alt.X, top: float) -> Any:
    """Draw the stacked bars."""
    scale = alt.Scale(domain=[0, top], nice=False)
    colours = alt.Scale(domain=names, range=role_colours(names))
    return (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=x,
            y=alt.Y("heads:Q", title="heads, counted once per role", stack="zero", scale=scale),
            color=alt.Color("role:N", scale=colours, sort=names, title=None),
            order="place:Q",
            tooltip=["role:N", alt.Tooltip("bin:N", title="p"), "heads:Q"],
        )
    )


def p_counts(tests: Sequence[xr.Dataset], roles: Sequence[str]) -> pd.DataFrame:
    """Count the heads in each bin, by role.

    A bin has its lower edge but not its upper one; the last bin has both.
    """
    rows = []
    for place, role in enumerate(roles):
        there = [one["p"].sel(role=role) for one in tests if role in one["role"].values]
        p = np.concatenate([values.values.ravel() for values in there])
        counts, _ = np.histogram(p[~np.isnan(p)], EDGES)
        rows += [
            {"role": role, "place": place, "bin": bin_name(low, high), "heads": int(count)}
            for (low, high), count in zip(pairwise(EDGES), counts, strict=True)
        ]
    return pd.DataFrame(rows)


def bin_name(low: float, high: float) -> str:
    """Name a bin.

    Examples
    --------
    >>> bin_name(0, 0.001), bin_name(0.25, 0.5), bin_name(0.999, 1)
    ('< 0.001', '0.25–0.5', '> 0.999')
    """
    return f"< {high:g}" if low == 0 else f"> {low:g}" if high == 1 else f"{low:g}–{high:g}"


def role_p(results: Atlas) -> Any:
    """Draw the p-values of the paper's four roles."""
    return p_histogram(role_tests(results), subtitle=subject(results.provenance))
