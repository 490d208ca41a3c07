"""How the sieve biases of one head are distributed over sequences (Pande et al. 2021, Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.errors import UserError, unknown
from headscope.figures.gallery import figure
from headscope.figures.roles import NOTHING, known_scores, note, shown_roles, titled, why_no_scores
from headscope.figures.style import BLUE, RED, SKY, subject
from headscope.results import Results, head_name
from headscope.stats.roles import COARSE, TAU, kept_scores, role_data, role_tests

BINS = 40
"""Bars of a histogram at most."""

Scores = NDArray[np.float64]


def score_histogram(results: Results, role: str, layer: int, head: int, *, tau: float = TAU) -> Any:
    """The sieve biases of one head and role over sequences, with their mean, the interval of the mean and the threshold (Figure 2). Layers and heads count from 1."""
    data = role_data(results)
    if role not in data["role"].values:
        raise unknown("role", role, [str(name) for name in data["role"].values])
    for what, given in (("layer", layer), ("head", head)):
        if given not in data[what].values:
            raise UserError(
                f"the {what} must be between 1 and {data.sizes[what]}, got {given} instead",
                hint="layers and heads are counted from 1",
            )
    scores = known_scores(kept_scores(data).sel(role=role, layer=layer, head=head))
    title = f"Sieve bias of head {head_name(layer, head)}, role {role}"
    if not scores.size:
        return note("no sequence has a token with this role", title, subject(results.provenance))
    one = role_tests(results, tau=tau).sel(role=role, layer=layer, head=head)
    mean, low, high, p = (float(one[key]) for key in ("mean", "low", "high", "p"))
    tested = (
        f"H0, mean ≤ {tau:g}: p = {p:.2g}, {'has' if bool(one['has']) else 'has not'} the role"
        if one["p"].notnull()
        else "one sequence cannot be tested"
    )
    verdict = f"{tested}; skewness {float(skewness(scores[:, None])[0]):.1f}"
    part = (
        f"; bars: the {scores.size} sequences that are kept" if scores.size < int(one["n"]) else ""
    )
    spread = f" (95 %: {low:.2f}–{high:.2f})" if one["low"].notnull() else ""
    marks = pd.DataFrame({"at": [mean, tau], "what": [f"mean {mean:.2f}{spread}", f"τ = {tau:g}"]})
    return titled(
        _histogram(scores, marks, low, high), title, f"{subject(results.provenance)}{part}", verdict
    )


def _histogram(scores: Scores, marks: pd.DataFrame, low: float, high: float) -> Any:
    edges = bin_edges(scores)
    counts, _ = np.histogram(scores, edges)
    bars = pd.DataFrame({"from": edges[:-1], "to": edges[1:], "sequences": counts, "ground": 0})
    x = alt.Scale(
        domain=[min(0.0, float(edges[0])), max(float(edges[-1]), float(marks["at"].max()) * 1.05)],
        nice=False,
    )
    names = list(marks["what"])
    histogram = (
        alt.Chart(bars)
        .mark_rect(color=SKY, stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("from:Q", scale=x, title="sieve bias of a sequence (1 = uniform attention)"),
            x2="to:Q",
            y=alt.Y(
                "sequences:Q",
                title="sequences",
                scale=alt.Scale(domainMin=0),
                axis=alt.Axis(tickMinStep=1),
            ),
            y2="ground:Q",
            tooltip=[
                alt.Tooltip("from:Q", format=".2f"),
                alt.Tooltip("to:Q", format=".2f"),
                "sequences:Q",
            ],
        )
    )
    band = (
        alt.Chart(pd.DataFrame({"low": [low], "high": [high]}).dropna())
        .mark_rect(color=BLUE, opacity=0.3)
        .encode(x=alt.X("low:Q", scale=x), x2="high:Q")
    )
    legend = alt.Legend(orient="top", title=None, labelLimit=300, symbolStrokeWidth=2)
    rules = (
        alt.Chart(marks)
        .mark_rule(strokeWidth=2)
        .encode(
            x=alt.X("at:Q", scale=x),
            color=alt.Color(
                "what:N", scale=alt.Scale(domain=names, range=[BLUE, RED]), legend=legend
            ),
            strokeDash=alt.StrokeDash(
                "what:N", scale=alt.Scale(domain=names, range=[[1, 0], [6, 4]]), legend=legend
            ),
        )
    )
    return alt.layer(histogram, band, rules).properties(width=440, height=240)


def bin_edges(scores: Scores) -> Scores:
    """The edges of a histogram's bars: numpy's own choice, but not too many."""
    edges = np.histogram_bin_edges(scores, "auto")
    return edges if len(edges) <= BINS + 1 else np.histogram_bin_edges(scores, BINS)


def skewness(scores: Scores) -> Scores:
    """The skewness of each column (the third moment, in deviations), 0 where all are alike; NaN is left out."""
    away = scores - np.nanmean(scores, 0)
    spread = np.sqrt(np.nanmean(away**2, 0))
    flat = spread <= 1e-6 * np.abs(np.nanmean(scores, 0))
    return np.where(flat, 0.0, np.nanmean(away**3, 0) / np.where(flat, 1.0, spread) ** 3)


def telling_head(
    results: Results, *, roles: Sequence[str] = COARSE, tau: float = TAU
) -> tuple[str, int, int] | None:
    """The role, layer and head whose scores best show why a mean is not enough: of those with a mean over tau the most skewed; if there are none, the largest mean."""
    data = role_data(results)
    names = shown_roles(role_tests(results, tau=tau), roles)
    if not names:
        return None
    scores, mean = kept_scores(data).sel(role=names), data["mean"].sel(role=names)
    columns = scores.values.reshape(len(scores), -1).astype(np.float64)
    means = mean.values.ravel()
    over = np.flatnonzero((means > tau) & ~np.isnan(columns).all(0))
    best = over[np.argmax(skewness(columns[:, over]))] if over.size else np.nanargmax(means)
    layer, head, role = np.unravel_index(best, mean.shape)
    return names[role], int(mean["layer"][layer]), int(mean["head"][head])


@figure(
    "role-scores",
    title="Sieve bias of one head over sequences",
    caption="As Pande et al. 2021, Figure 2: of all heads with a mean over τ = 3 for one of the four roles, the one whose scores are the most skewed. "
    "The band is the 95 % interval of the mean.",
    needs=("role",),
)
def _role_scores(results: Results) -> Any:
    missing = why_no_scores(results)
    chosen = None if missing else telling_head(results)
    return (
        score_histogram(results, *chosen)
        if chosen
        else note(
            missing or NOTHING, "Sieve bias of one head over sequences", subject(results.provenance)
        )
    )
