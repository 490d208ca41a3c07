"""The sieve biases of one head over sequences (Pande et al. 2021, Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import unknown
from headscope.figures.roles.common import (
    BIAS,
    NOTHING,
    known_scores,
    shown_roles,
    why_no_scores,
)
from headscope.figures.style import BLUE, RED, SKY, note, styled, subject
from headscope.heads import Head, HeadLike
from headscope.numbers import p_value
from headscope.results import Atlas
from headscope.stats.tables.roles import COARSE, kept_scores, role_data, role_tests

BINS = 40
"""Bars of a histogram at most."""

Scores = NDArray[np.float64]


def score_histogram(
    results: Atlas, role: str, head: HeadLike, *, tests: xr.Dataset | None = None
) -> Any:
    """Draw the sieve biases of one head and role over sequences.

    Parameters
    ----------
    results : Atlas
        Results of the measure ``role`` that keep the score of every sequence.
    role : str
        The role.
    head : str or Head
        The head: ``"3-9"`` counts from 1, ``"L2H8"`` from 0.
    tests : Dataset, optional
        From :func:`headscope.stats.role_tests`; by default with its defaults.

    Returns
    -------
    altair chart
        A histogram with the mean, its interval and the threshold.

    Raises
    ------
    UserError
        If there is no such role or head.
    ResultsError
        If the results keep no scores of single sequences.
    """
    data = role_data(results)
    if role not in data["role"].values:
        raise unknown("role", role, [str(name) for name in data["role"].values])
    numbers = [int(number) - 1 for number in data["layer"].values]
    one = Head.parse(head, layers=numbers, heads=data.sizes["head"])
    place = {"role": role, "layer": one.layer + 1, "head": one.head + 1}
    scores = known_scores(kept_scores(data).sel(place))
    title = f"Sieve bias of head {one}, role {role}"
    about = subject(results.provenance)
    if not scores.size:
        return note("no sequence has a token with this role", title, about)
    test = (role_tests(results) if tests is None else tests).sel(place)
    mean, low, high, tau = (float(test[key]) for key in ("mean", "low", "high", "tau"))
    spread = f" (95 %: {low:.2f}–{high:.2f})" if test["low"].notnull() else ""
    marks = pd.DataFrame({"at": [mean, tau], "what": [f"mean {mean:.2f}{spread}", f"τ = {tau:g}"]})
    kept = f"; bars: the {scores.size} sequences whose scores were kept"
    return styled(
        _histogram(scores, marks, low, high),
        title,
        f"{about}{kept if scores.size < int(test['n']) else ''}",
        f"{_verdict(test)}; skewness {float(skewness(scores[:, None])[0]):.1f}",
    )


def _verdict(test: xr.Dataset) -> str:
    """Say whether the head has the role."""
    if not test["p"].notnull():
        return "a single sequence cannot be tested"
    has = "has the role" if bool(test["has"]) else "does not have the role"
    corrected = "" if test.attrs["correction"] == "none" else " (corrected)"
    p = p_value(float(test["p_corrected"]))
    p = f"< {p[1:]}" if p.startswith("<") else f"= {p}"
    return f"mean above {float(test['tau']):g}: p {p}{corrected}, {has}"


def _histogram(scores: Scores, marks: pd.DataFrame, low: float, high: float) -> Any:
    """Draw bars, the interval of the mean as a band, mean and threshold as lines."""
    edges = bin_edges(scores)
    counts, _ = np.histogram(scores, edges)
    bars = pd.DataFrame({"from": edges[:-1], "to": edges[1:], "sequences": counts, "ground": 0})
    least, most = min(0.0, float(edges[0])), float(marks["at"].max()) * 1.05
    x = alt.Scale(domain=[least, max(float(edges[-1]), most)], nice=False)
    y = alt.Y(
        "sequences:Q",
        title="sequences",
        scale=alt.Scale(domain=[0, 1.06 * max(1, int(counts.max()))], nice=False),
        axis=alt.Axis(tickMinStep=1),
    )
    ends = [alt.Tooltip(f"{name}:Q", format=".2f") for name in ("from", "to")]
    histogram = alt.Chart(bars).mark_rect(color=SKY, stroke="white", strokeWidth=0.5)
    band = alt.Chart(pd.DataFrame({"low": [low], "high": [high]}).dropna())
    return alt.layer(
        histogram.encode(
            x=alt.X("from:Q", scale=x, title=BIAS),
            x2="to:Q",
            y=y,
            y2="ground:Q",
            tooltip=[*ends, "sequences:Q"],
        ),
        band.mark_rect(color=BLUE, opacity=0.3).encode(x=alt.X("low:Q", scale=x), x2="high:Q"),
        _rules(marks, x),
    ).properties(width=440, height=240)


def _rules(marks: pd.DataFrame, x: alt.Scale) -> Any:
    """Draw the mean and the threshold as vertical lines."""
    names = list(marks["what"])
    legend = alt.Legend(orient="top", title=None, labelLimit=300, symbolStrokeWidth=2)
    colours = alt.Scale(domain=names, range=[BLUE, RED])
    dashes = alt.Scale(domain=names, range=[[1, 0], [6, 4]])
    rules = alt.Chart(marks).mark_rule(strokeWidth=2)
    return rules.encode(
        x=alt.X("at:Q", scale=x),
        color=alt.Color("what:N", scale=colours, legend=legend),
        strokeDash=alt.StrokeDash("what:N", scale=dashes, legend=legend),
    )


def bin_edges(scores: Scores) -> Scores:
    """Return the edges of a histogram's bars: numpy's choice, but at most 40 bars."""
    edges = np.histogram_bin_edges(scores, "auto")
    return edges if len(edges) <= BINS + 1 else np.histogram_bin_edges(scores, BINS)


def skewness(scores: Scores) -> Scores:
    """Return the skewness of each column, ignoring NaN; 0 where all values are the same.

    Examples
    --------
    >>> skewness(np.array([[1.0], [1.0], [4.0]])).round(3).tolist()
    [0.707]
    """
    away = scores - np.nanmean(scores, 0)
    spread = np.sqrt(np.nanmean(away**2, 0))
    flat = spread <= 1e-6 * np.abs(np.nanmean(scores, 0))
    return np.where(flat, 0.0, np.nanmean(away**3, 0) / np.where(flat, 1.0, spread) ** 3)


def telling_head(
    results: Atlas, tests: xr.Dataset | None = None, *, roles: Sequence[str] = COARSE
) -> tuple[str, Head] | None:
    """Find the head whose scores best show why a mean is not enough.

    In the paper's Figure 2 this is a head whose mean is above the threshold, but which does not
    pass the test.

    Parameters
    ----------
    results : Atlas
        Results of the measure ``role`` that keep the score of every sequence.
    tests : Dataset, optional
        From :func:`headscope.stats.role_tests`; by default with its defaults.
    roles : sequence of str
        The roles to look at; by default the paper's four.

    Returns
    -------
    tuple of str and Head, or None
        Role and head: the most skewed of those with a mean above the threshold that do not pass
        the test, or else of all with such a mean; if there are none, the one with the largest
        mean. None if no role was tested.
    """
    data = role_data(results)
    tests = role_tests(results) if tests is None else tests
    names = shown_roles(tests, roles)
    if not names:
        return None
    scores, mean = kept_scores(data).sel(role=names), data["mean"].sel(role=names)
    columns = scores.values.reshape(len(scores), -1).astype(np.float64)
    means = mean.values.ravel()
    taus = np.broadcast_to(tests["tau"].sel(role=names).values, mean.shape).ravel()
    has = tests["has"].sel(role=names).transpose(*mean.dims).values.ravel()
    over = np.flatnonzero((means > taus) & ~np.isnan(columns).all(0))
    failing = over[~has[over]]
    over = failing if failing.size else over
    best = over[np.argmax(skewness(columns[:, over]))] if over.size else np.nanargmax(means)
    layer, head, role = np.unravel_index(best, mean.shape)
    return names[role], Head(int(mean["layer"][layer]) - 1, int(mean["head"][head]) - 1)


def role_scores(results: Atlas) -> Any:
    """Draw the histogram of the most telling head, or say why there is none."""
    missing = why_no_scores(results)
    chosen = None if missing else telling_head(results)
    if chosen is None:
        title = "Sieve bias of one head over sequences"
        return note(missing or NOTHING, title, subject(results.provenance))
    return score_histogram(results, *chosen)
