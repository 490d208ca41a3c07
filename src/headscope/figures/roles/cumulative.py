"""The distribution of all sieve biases over heads and sequences (Pande et al. 2021, Figure 3a).

The paper chooses its threshold from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.figures.roles.common import (
    BIAS,
    NOTHING,
    known_scores,
    role_colours,
    shown_roles,
    why_no_scores,
)
from headscope.figures.style import BLACK, RED, note, styled, subject, subjects
from headscope.results import Atlas
from headscope.stats.tables.roles import COARSE, TAU, kept_scores, role_data, role_tests

TITLE = "Cumulative distribution of sieve biases"
POINTS = 201
"""Quantiles that draw a curve."""
TICKS = (0, 0.5, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500)
DASHES: list[list[int]] = [[1, 0], [8, 3], [2, 2], [8, 3, 2, 3]]
ALL = "all"


def score_curves(
    results: Atlas | Sequence[Atlas], *, roles: Sequence[str] = COARSE, tau: float = TAU
) -> Any:
    """Draw the cumulative distribution of sieve biases over heads and sequences.

    Parameters
    ----------
    results : Atlas or sequence of Atlas
        Results of the measure ``role`` that keep the score of every sequence. Those of several
        corpora are pooled, as in the paper.
    roles : sequence of str
        One line each, and one for all of them; by default the paper's four.
    tau : float
        The threshold, drawn beside the mean of all scores.

    Returns
    -------
    altair chart

    Raises
    ------
    ResultsError
        If the results keep no scores of single sequences.
    """
    every = [results] if isinstance(results, Atlas) else list(results)
    about = subjects([one.provenance for one in every])
    scores = pooled_scores(every, roles, tau)
    if not scores:
        return note(NOTHING, TITLE, about)
    together = np.concatenate(list(scores.values()))
    curves = [_curve(name, values) for name, values in scores.items()]
    curves.append(_curve(ALL, together))
    mean = _mean(every, list(scores))
    marks = pd.DataFrame({"at": [mean, tau], "what": [f"mean of all, {mean:.2f}", f"τ = {tau:g}"]})
    return styled(
        _chart(pd.concat(curves, ignore_index=True), [*scores, ALL], marks),
        TITLE,
        about,
        f"{together.size:,} scores: heads × sequences × roles"
        f"{' × corpora' if len(every) > 1 else ''}",
    )


def pooled_scores(
    results: Sequence[Atlas], roles: Sequence[str], tau: float = TAU
) -> dict[str, NDArray[np.float64]]:
    """Return all scores of each role, those of several corpora in one row."""
    found: dict[str, list[NDArray[np.float64]]] = {}
    for one in results:
        scores = kept_scores(role_data(one))
        for name in shown_roles(role_tests(one, tau=tau), roles):
            found.setdefault(name, []).append(known_scores(scores.sel(role=name)))
    order = [*(name for name in roles if name in found), *(name for name in found)]
    return {name: np.concatenate(found[name]) for name in dict.fromkeys(order)}


def _mean(results: Sequence[Atlas], names: Sequence[str]) -> float:
    """Return the mean over all sequences, whether their scores are kept or not."""
    total = count = 0.0
    for one in results:
        data = role_data(one)
        there = [name for name in names if name in data["role"].values]
        part = data[["sum", "count"]].sel(role=there).sum()
        total, count = total + float(part["sum"]), count + float(part["count"])
    return total / count


def _chart(frame: pd.DataFrame, names: list[str], marks: pd.DataFrame) -> Any:
    """Draw curves, mean and threshold."""
    top = float(max(frame["score"].max(), marks["at"].max()))
    return (
        alt.layer(_rules(marks), _lines(frame, names, top))
        .resolve_scale(color="independent", strokeDash="independent")
        .properties(width=340, height=260)
    )


def _lines(frame: pd.DataFrame, names: list[str], top: float) -> Any:
    """Draw one line per role, and a black one for all."""
    legend = alt.Legend(orient="right", title=None, symbolStrokeWidth=2)
    colours = alt.Scale(domain=names, range=[*role_colours(names[:-1]), BLACK])
    dashes = [*(DASHES[place % len(DASHES)] for place in range(len(names) - 1)), [1, 0]]
    x = alt.X(
        "score:Q",
        title=BIAS,
        scale=alt.Scale(type="symlog", domain=[0, top], nice=False),
        axis=alt.Axis(values=[tick for tick in TICKS if tick <= top], format="~g"),
    )
    y = alt.Y(
        "share:Q",
        title="share of scores at or below",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%"),
    )
    lines = alt.Chart(frame).mark_line(strokeWidth=2, clip=True)
    return lines.encode(
        x=x,
        y=y,
        color=alt.Color("role:N", scale=colours, legend=legend),
        strokeDash=alt.StrokeDash(
            "role:N", scale=alt.Scale(domain=names, range=dashes), legend=legend
        ),
        order="share:Q",
    )


def _rules(marks: pd.DataFrame) -> Any:
    """Draw the mean and the threshold as vertical lines."""
    names = list(marks["what"])
    legend = alt.Legend(orient="top", title=None, labelLimit=300)
    dashes = alt.Scale(domain=names, range=[[1, 0], [6, 4]])
    colours = alt.Scale(domain=names, range=["#555", RED])
    rules = alt.Chart(marks).mark_rule(strokeWidth=1.5)
    return rules.encode(
        x=alt.X("at:Q"),
        color=alt.Color("what:N", scale=colours, legend=legend),
        strokeDash=alt.StrokeDash("what:N", scale=dashes),
    )


def _curve(name: str, scores: NDArray[np.float64]) -> pd.DataFrame:
    """Return the quantiles that draw one line."""
    shares = np.linspace(0, 1, POINTS)
    return pd.DataFrame({"role": name, "share": shares, "score": np.quantile(scores, shares)})


def role_cumulative(results: Atlas) -> Any:
    """Draw the curves of the paper's four roles, or say why they cannot be drawn."""
    missing = why_no_scores(results)
    return note(missing, TITLE, subject(results.provenance)) if missing else score_curves(results)
