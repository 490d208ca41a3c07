"""How all sieve biases are distributed over heads and sequences (Pande et al. 2021, Figure 3a): what the threshold is chosen from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.figures.gallery import figure
from headscope.figures.roles import (
    NOTHING,
    known_scores,
    note,
    role_colours,
    shown_roles,
    titled,
    why_no_scores,
)
from headscope.figures.style import BLACK, RED, subject
from headscope.results import Results
from headscope.stats.roles import COARSE, TAU, kept_scores, role_data, role_tests

POINTS = 201
"""Quantiles that draw a curve."""
TICKS = (0, 0.5, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500)
TITLE = "All sieve biases, cumulated"


def score_curves(results: Results, *, roles: Sequence[str] = COARSE, tau: float = TAU) -> Any:
    """The cumulative distribution of all sieve biases over heads and sequences, a line a role and one of all, with the mean of all and the threshold (Figure 3a)."""
    data = role_data(results)
    scores = kept_scores(data)
    names = shown_roles(role_tests(results, tau=tau), roles)
    if not names:
        return note(NOTHING, TITLE, subject(results.provenance))
    every = pd.concat(
        [
            _curve(name, known_scores(scores.sel(role=role)))
            for name, role in [*zip(names, names, strict=True), ("all", names)]
        ],
        ignore_index=True,
    )
    part = data[["sum", "count"]].sel(role=names).sum()
    mean = float(
        part["sum"] / part["count"]
    )  # of all sequences, whether their scores are kept or not
    marks = pd.DataFrame({"at": [mean, tau], "what": [f"mean of all, {mean:.2f}", f"τ = {tau:g}"]})
    return titled(
        _curves(every, [*names, "all"], marks),
        TITLE,
        subject(results.provenance),
        f"{known_scores(scores.sel(role=names)).size} scores: heads × sequences × roles",
    )


def _curves(frame: pd.DataFrame, names: list[str], marks: pd.DataFrame) -> Any:
    top = float(max(frame["score"].max(), marks["at"].max()))
    x = alt.X(
        "score:Q",
        title="sieve bias (1 = uniform attention)",
        scale=alt.Scale(type="symlog", domain=[0, top], nice=False),
        axis=alt.Axis(values=[tick for tick in TICKS if tick <= top], format="~g"),
    )
    legend = alt.Legend(orient="right", title=None, symbolStrokeWidth=2)
    dashes = [[1, 0], [8, 3], [2, 2], [8, 3, 2, 3]]
    lines = (
        alt.Chart(frame)
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=x,
            y=alt.Y(
                "share:Q",
                title="share of scores up to it",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%"),
            ),
            color=alt.Color(
                "role:N",
                scale=alt.Scale(domain=names, range=[*role_colours(names[:-1]), BLACK]),
                legend=legend,
            ),
            strokeDash=alt.StrokeDash(
                "role:N",
                scale=alt.Scale(
                    domain=names,
                    range=[*(dashes[index % 4] for index in range(len(names) - 1)), [1, 0]],
                ),
                legend=legend,
            ),
            order="share:Q",
        )
    )
    whats = list(marks["what"])
    rules = (
        alt.Chart(marks)
        .mark_rule(strokeWidth=1.5)
        .encode(
            x=alt.X("at:Q"),
            color=alt.Color(
                "what:N",
                scale=alt.Scale(domain=whats, range=["#555", RED]),
                legend=alt.Legend(orient="top", title=None, labelLimit=300),
            ),
            strokeDash=alt.StrokeDash(
                "what:N", scale=alt.Scale(domain=whats, range=[[1, 0], [6, 4]])
            ),
        )
    )
    return (
        alt.layer(rules, lines)
        .resolve_scale(color="independent", strokeDash="independent")
        .properties(width=400, height=260)
    )


def _curve(name: str, scores: NDArray[np.float64]) -> pd.DataFrame:
    shares = np.linspace(0, 1, POINTS)
    return pd.DataFrame({"role": name, "share": shares, "score": np.quantile(scores, shares)})


@figure(
    "role-cumulative",
    title="Cumulative distribution of sieve biases",
    caption="As Pande et al. 2021, Figure 3a: over all heads and sequences, for each of the four roles and all together. The paper's mean is 2.8, and its τ the next integer.",
    needs=("role",),
)
def _role_cumulative(results: Results) -> Any:
    missing = why_no_scores(results)
    return note(missing, TITLE, subject(results.provenance)) if missing else score_curves(results)
