"""Sieve biases of roles: distributions, tests, maps of heads, shifts (Pande et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError, unknown
from headscope.figures.builders import heading, named, panels, tips
from headscope.figures.gallery import figure
from headscope.figures.later import alt
from headscope.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    note,
    styled,
    subject,
    subjects,
    tidy,
)
from headscope.heads import Head, HeadLike
from headscope.numbers import p_value
from headscope.options import TAU
from headscope.results import Atlas
from headscope.stats.inference.correction import ALPHA
from headscope.stats.tables.role_tables import LEAST, THIRDS, present, undecided
from headscope.stats.tables.roles import (
    COARSE,
    FINE,
    describe_test,
    kept_scores,
    role_data,
    role_tests,
)

# The roles of the paper, coarse ones first.
PAPER = tuple(dict.fromkeys((*COARSE, *FINE)))
NOTHING = "no role could be tested: at least three sequences or documents are needed"
BIAS = "sieve bias, times uniform attention"
DASHES: list[list[int]] = [[1, 0], [9, 3], [2, 2], [9, 3, 2, 3]]
Scores = NDArray[np.float64]


def role_colours(roles: Sequence[str]) -> list[str]:
    """Return the colour of each role: always the same for the paper's four.

    Examples
    --------
    >>> role_colours(["syntactic", "nsubj"]) == [ORANGE, RED]
    True
    """
    coarse = dict(zip(COARSE, (BLUE, ORANGE, GREEN, PURPLE), strict=True))
    others = [role for role in roles if role not in coarse]
    more = (RED, SKY, "#8C6D31", "#6B6ECF")
    return [coarse.get(role) or more[others.index(role) % len(more)] for role in roles]


def shown_roles(tests: xr.Dataset, roles: Sequence[str] = COARSE) -> list[str]:
    """Return those of some roles that were tested or, if none was, all roles that were."""
    return present(tests, roles) or present(tests, [str(name) for name in tests["role"].values])


def known_scores(scores: xr.DataArray) -> Scores:
    """Return all defined scores of single sequences, in one row."""
    values = scores.values.ravel().astype(np.float64)
    return values[~np.isnan(values)]


def _why_no_scores(results: Atlas) -> str:
    """Say why figures of single sequences cannot be drawn; empty if they can."""
    try:
        kept_scores(role_data(results))
    except ResultsError as error:
        return error.message
    return ""


def _rules(
    marks: pd.DataFrame, colours: Sequence[str], width: float, x: Any, legend: Any, dash: Any
) -> Any:
    """Draw the mean and the threshold as vertical lines, the second one dashed."""
    names = list(marks["what"])
    scale = named(dict(zip(names, colours, strict=True)))
    dashes = alt.Scale(domain=names, range=[[1, 0], [6, 4]])
    return (
        alt.Chart(marks)
        .mark_rule(strokeWidth=width)
        .encode(
            x=x,
            color=alt.Color("what:N", scale=scale, legend=legend),
            strokeDash=alt.StrokeDash("what:N", scale=dashes, **dash),
        )
    )


# --- One head over sequences ----------------------------------------------------------------------


@figure("role-scores", title="Sieve bias of one head over sequences", needs=["role"])
def role_scores(results: Atlas) -> Any:
    """After Pande et al. 2021, Figure 2: of all heads with a mean above τ for one of the four
    roles, the one whose scores are most skewed. The band is the 95 % interval of the mean.
    """
    missing = _why_no_scores(results)
    chosen = None if missing else telling_head(results)
    if chosen is None:
        title = "Sieve bias of one head over sequences"
        return note(missing or NOTHING, title, subject(results.provenance))
    return score_histogram(results, *chosen)


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
    parsed = Head.parse(head, layers=numbers, heads=data.sizes["head"])
    labels = {"role": role, "layer": parsed.layer + 1, "head": parsed.head + 1}
    scores = known_scores(kept_scores(data).sel(labels))
    title = f"Sieve bias of head {parsed}, role {role}"
    about = subject(results.provenance)
    if not scores.size:
        return note("no sequence has a token with this role", title, about)
    test = (role_tests(results) if tests is None else tests).sel(labels)
    kept = f"; bars: the {scores.size} sequences whose scores were kept"
    return styled(
        _histogram(scores, test),
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


def _histogram(scores: Scores, test: xr.Dataset) -> Any:
    """Draw bars, the interval of the mean as a band, mean and threshold as lines."""
    mean, low, high, tau = (float(test[key]) for key in ("mean", "low", "high", "tau"))
    spread = f" (95 %: {low:.2f}–{high:.2f})" if test["low"].notnull() else ""
    marks = pd.DataFrame({"at": [mean, tau], "what": [f"mean {mean:.2f}{spread}", f"τ = {tau:g}"]})
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
    histogram = alt.Chart(bars).mark_rect(color=SKY, stroke="white", strokeWidth=0.5)
    band = alt.Chart(pd.DataFrame({"low": [low], "high": [high]}).dropna())
    legend = alt.Legend(orient="top", title=None, labelLimit=300, symbolStrokeWidth=2)
    return alt.layer(
        histogram.encode(
            x=alt.X("from:Q", scale=x, title=BIAS),
            x2="to:Q",
            y=y,
            y2="ground:Q",
            tooltip=tips("from .2f", "to .2f", "sequences:Q"),
        ),
        band.mark_rect(color=BLUE, opacity=0.3).encode(x=alt.X("low:Q", scale=x), x2="high:Q"),
        _rules(marks, (BLUE, RED), 2, alt.X("at:Q", scale=x), legend, {"legend": legend}),
    ).properties(width=440, height=240)


def bin_edges(scores: Scores) -> Scores:
    """Return the edges of a histogram's bars: numpy's choice, but at most 40 bars."""
    edges = np.histogram_bin_edges(scores, "auto")
    return edges if len(edges) <= 41 else np.histogram_bin_edges(scores, 40)


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


# --- All heads and sequences: the distribution from which the paper takes its threshold -----------

TICKS = (0, 0.5, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500)
CUMULATIVE = "Cumulative distribution of sieve biases"


@figure("role-cumulative", title=CUMULATIVE, needs=["role"])
def role_cumulative(results: Atlas) -> Any:
    """After Pande et al. 2021, Figure 3a: over all heads and sequences, for each of the four roles
    and for all together. The paper's mean is 2.8; its τ is the next integer.
    """
    missing = _why_no_scores(results)
    about = subject(results.provenance)
    return note(missing, CUMULATIVE, about) if missing else score_curves(results)


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
    about = subjects([atlas.provenance for atlas in every])
    scores = pooled_scores(every, roles, tau)
    if not scores:
        return note(NOTHING, CUMULATIVE, about)
    curves = {**scores, "all": np.concatenate(list(scores.values()))}
    shares = np.linspace(0, 1, 201)
    frame = pd.concat(
        [
            pd.DataFrame({"role": name, "share": shares, "score": np.quantile(values, shares)})
            for name, values in curves.items()
        ],
        ignore_index=True,
    )
    mean = _mean(every, list(scores))
    marks = pd.DataFrame({"at": [mean, tau], "what": [f"mean of all, {mean:.2f}", f"τ = {tau:g}"]})
    legend = alt.Legend(orient="top", title=None, labelLimit=300)
    rules = _rules(marks, ("#555", RED), 1.5, alt.X("at:Q"), legend, {})
    drawn = alt.layer(rules, _curves(frame, list(scores), max(frame["score"].max(), *marks["at"])))
    return styled(
        drawn.resolve_scale(color="independent", strokeDash="independent").properties(
            width=340, height=260
        ),
        CUMULATIVE,
        about,
        f"{curves['all'].size:,} scores: heads × sequences × roles"
        f"{' × corpora' if len(every) > 1 else ''}",
    )


def pooled_scores(
    results: Sequence[Atlas], roles: Sequence[str], tau: float = TAU
) -> dict[str, Scores]:
    """Return all scores of each role, those of several corpora in one row."""
    pooled: dict[str, list[Scores]] = {}
    for atlas in results:
        scores = kept_scores(role_data(atlas))
        for name in shown_roles(role_tests(atlas, tau=tau), roles):
            pooled.setdefault(name, []).append(known_scores(scores.sel(role=name)))
    order = dict.fromkeys([*(name for name in roles if name in pooled), *pooled])
    return {name: np.concatenate(pooled[name]) for name in order}


def _mean(results: Sequence[Atlas], names: Sequence[str]) -> float:
    """Return the mean over all sequences, whether their scores are kept or not."""
    total = count = 0.0
    for atlas in results:
        data = role_data(atlas)
        there = [name for name in names if name in data["role"].values]
        part = data[["sum", "count"]].sel(role=there).sum()
        total, count = total + float(part["sum"]), count + float(part["count"])
    return total / count


def _curves(frame: pd.DataFrame, roles: list[str], top: float) -> Any:
    """Draw one line per role, and a black one for all."""
    names = [*roles, "all"]
    legend = alt.Legend(orient="right", title=None, symbolStrokeWidth=2)
    colours = alt.Scale(domain=names, range=[*role_colours(roles), BLACK])
    every: list[list[int]] = [[1, 0], [8, 3], [2, 2], [8, 3, 2, 3]]
    dashes = [*(every[place % len(every)] for place in range(len(roles))), [1, 0]]
    x = alt.X(
        "score:Q",
        title=BIAS,
        scale=alt.Scale(type="symlog", domain=[0, float(top)], nice=False),
        axis=alt.Axis(values=[tick for tick in TICKS if tick <= top], format="~g"),
    )
    y = alt.Y(
        "share:Q",
        title="share of scores at or below",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%"),
    )
    dash = alt.Scale(domain=names, range=dashes)
    lines = alt.Chart(frame).mark_line(strokeWidth=2, clip=True)
    return lines.encode(
        x=x,
        y=y,
        color=alt.Color("role:N", scale=colours, legend=legend),
        strokeDash=alt.StrokeDash("role:N", scale=dash, legend=legend),
        order="share:Q",
    )


# --- Tests of all heads ---------------------------------------------------------------------------

# Bins that are narrow where p-values lie: near both ends.
EDGES = (0, 0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 1)


@figure("role-p", title="p-values of heads and roles", needs=["role"])
def role_p(results: Atlas) -> Any:
    """After Pande et al. 2021, Figure 3b: one p-value, not corrected, per head and role. Few values
    in the grey middle mean that the test decides clearly.
    """
    return p_histogram(role_tests(results), subtitle=subject(results.provenance))


def p_histogram(
    tests: xr.Dataset | Sequence[xr.Dataset], *, roles: Sequence[str] = COARSE, subtitle: str = ""
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
    names = list(dict.fromkeys(name for test in every for name in shown_roles(test, roles)))
    title = "p-values of heads and roles"
    if not names:
        return note(NOTHING, title, subtitle)
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
    scale = alt.Scale(domain=[0, 1.08 * float(totals["heads"].max())], nice=False)
    colours = named(dict(zip(names, role_colours(names), strict=True)))
    middle = [name for name, low in zip(order, EDGES, strict=False) if 0.05 <= low < 0.95]
    band = alt.Chart(pd.DataFrame({"bin": middle})).mark_rect(color="#eee").encode(x=x)
    bars = alt.Chart(frame).mark_bar()
    bars = bars.encode(
        x=x,
        y=alt.Y("heads:Q", title="heads, counted once per role", stack="zero", scale=scale),
        color=alt.Color("role:N", scale=colours, sort=names, title=None),
        order="place:Q",
        tooltip=tips("role", "bin", "heads:Q", bin="p"),
    )
    numbers = alt.Chart(totals).mark_text(dy=-7, fontSize=11)
    drawn = alt.layer(band, bars, numbers.encode(x=x, y="heads:Q", text="heads:Q"))
    share, count = 100 * undecided(every, names), int(totals["heads"].sum())
    how = describe_test(every[0])
    return styled(
        drawn.properties(width=350, height=240),
        title,
        f"{subtitle}; {how}" if subtitle else how,
        f"{share:.1f} % of {count} p-values between 0.05 and 0.95 (grey; published: 1.8 %)",
    )


def p_counts(tests: Sequence[xr.Dataset], roles: Sequence[str]) -> pd.DataFrame:
    """Count the heads in each bin, by role.

    A bin has its lower edge but not its upper one; the last bin has both.
    """
    rows = []
    for place, role in enumerate(roles):
        there = [test["p"].sel(role=role) for test in tests if role in test["role"].values]
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


@figure("role-heat", title="Sieve bias of the four roles, head by head", needs=["role"])
def role_heat(results: Atlas) -> Any:
    """The mean over sequences as a multiple of uniform attention, on a logarithmic scale. Outlined
    heads have the role (Pande et al. 2021).
    """
    return role_maps(role_tests(results), subtitle=subject(results.provenance))


def role_maps(tests: xr.Dataset, *, roles: Sequence[str] = COARSE, subtitle: str = "") -> Any:
    """Draw the mean sieve bias of every head, coloured by its logarithm.

    Parameters
    ----------
    tests : Dataset
        From :func:`headscope.stats.role_tests`.
    roles : sequence of str
        One small map each; by default the paper's four.
    subtitle : str
        Under the title.

    Returns
    -------
    altair chart
        Heads that have the role are outlined.
    """
    names, title = shown_roles(tests, roles), "Mean sieve bias, head by head"
    if not names:
        return note(NOTHING, title, subtitle)
    frame = tidy(tests[["mean", "low", "high", "effect", "p", "has"]].sel(role=names))
    # A tenth of uniform attention, or less, gets the darkest colour: a logarithm has no 0.
    frame["strength"] = frame["mean"].clip(lower=0.1)
    low, high = min(float(frame["strength"].min()), 1.0), max(float(frame["strength"].max()), 3.0)
    heads, layers = tests.sizes["head"], tests.sizes["layer"]
    side, every = (12, 4) if max(heads, layers) > 16 else (19, 1)

    def axis(count: int) -> Any:
        """A label at the first and then at every so many."""
        values = [number for number in range(1, count + 1) if number == 1 or number % every == 0]
        return alt.Axis(labelAngle=0, labelFontSize=11, titleFontSize=11, values=values)

    colour = alt.Color(
        "strength:Q",
        scale=alt.Scale(type="log", scheme="viridis", domain=[low, high]),
        title=["times", "uniform"],
        legend=alt.Legend(
            values=[tick for tick in (0.1, 0.3, 1, 3, 10, 30, 100, 300) if low <= tick <= high],
            format="~g",
        ),
    )
    numbers = ("mean .3f", "low .3f", "high .3f", "effect .3f", "p .2g")
    shown = tips("name", *numbers, effect="effect (Cohen's d)")
    maps = []
    for name in names:
        part = frame[frame["role"] == name]
        base = alt.Chart(part, width=side * heads, height=side * layers).encode(
            x=alt.X("head:O", title="head", axis=axis(heads)),
            y=alt.Y("layer:O", title="layer", sort="descending", axis=axis(layers)),
            tooltip=shown,
        )
        outlines = [
            base.transform_filter("datum.has").mark_rect(
                filled=False, stroke=ink, strokeWidth=width
            )
            for ink, width in (("black", 3), ("white", 1.2))
        ]
        text = f"{name}: {int(part['has'].sum())} of {heads * layers} heads"
        looks = {"fontSize": 12, "fontWeight": "normal", "anchor": "start", "frame": "group"}
        chart = alt.layer(base.mark_rect().encode(color=colour), *outlines)
        maps.append(chart.properties(title=heading(text, offset=4, **looks)))
    return styled(
        alt.concat(*maps, columns=2, spacing=18),
        title,
        subtitle,
        f"outlined: has the role ({describe_test(tests)})",
    )


# --- What fine-tuning does to roles (Figure 6) ----------------------------------------------------

SHIFT = "change (times uniform)"
# Colour and shape of each third of the layers.
PARTS = dict(
    zip(THIRDS, ((BLUE, "circle"), (ORANGE, "square"), (GREEN, "triangle-up")), strict=True)
)


def shift_dots(shift: pd.DataFrame, *, subtitle: str = "", alpha: float = ALPHA) -> Any:
    """Draw the change of each role: one dot with its interval for each third of the layers.

    Parameters
    ----------
    shift : DataFrame
        From :func:`headscope.stats.role_shift`. A column ``corpus``, if there is one, puts several
        corpora side by side, as in the paper.
    subtitle : str
        Under the title.
    alpha : float
        Dots are filled where the corrected p of a shift of interest is below it.

    Returns
    -------
    altair chart
        The paper's four roles come first. A grey band marks shifts that are too small to be of
        interest.
    """
    title = "Sieve bias: after minus before"
    least = float(shift.attrs.get("least", LEAST))
    parts = shift["third"] + " (" + shift["layers"] + ")"
    frame = shift.assign(changed=shift["p_least"] < alpha, part=parts)
    if "corpus" not in frame:
        frame = frame.assign(corpus="")
    known = dict.fromkeys(frame["role"])
    roles = [role for role in PAPER if role in known] + [
        role for role in known if role not in PAPER
    ]
    if frame["shift"].isna().all():
        return note("no role is defined in both results", title, subtitle)
    corpora = list(dict.fromkeys(frame["corpus"]))
    # Up to three panels stand in one row, more in rows of two; a narrow page holds them too.
    columns = len(corpora) if len(corpora) <= 3 else 2
    width = 400 if len(corpora) == 1 else 510 // columns
    drawn = [
        _shift_panel(frame, name, roles, least, width, first=place % columns == 0)
        for place, name in enumerate(corpora)
    ]
    return styled(
        panels(drawn, columns, 10, x="shared") if len(drawn) > 1 else drawn[0],
        title,
        subtitle,
        f"bars: 95 % intervals; filled: beyond ± {least:g} (grey), p < {alpha:g}, corrected",
    )


def _shift_panel(
    frame: pd.DataFrame, corpus: str, roles: list[str], least: float, width: int, *, first: bool
) -> Any:
    """Draw one corpus; only the first panel of a row names the roles."""
    known = frame[frame["corpus"] == corpus].dropna(subset=["shift"])
    ends = frame[["shift", "low", "high"]].to_numpy(float)
    low, high = min(-least, np.nanmin(ends)), max(least, np.nanmax(ends))
    room = 0.06 * (high - low)
    scale = alt.Scale(domain=[low - room, high + room], nice=False)

    def across(column: str, **looks: Any) -> Any:
        return alt.X(f"{column}:Q", title=SHIFT, scale=scale, **looks)

    def row(**looks: float) -> Any:
        axis = alt.Axis(grid=False, labelFontSize=12, labels=first, ticks=first)
        places = alt.Scale(domain=roles)
        return alt.Y("role:N", sort=roles, scale=places, title=None, axis=axis, **looks)

    def ground(data: dict[str, Any]) -> Any:
        return alt.Chart(pd.DataFrame(data))

    missing = [role for role in roles if role not in set(known["role"])]
    absent = ground({"role": missing, "at": sum(scale.domain) / 2, "what": "not defined"})
    marks = [
        ground({"from": [-least], "to": [least]})
        .mark_rect(color="#eee")
        .encode(x=across("from"), x2="to:Q"),
        ground({"role": roles}).mark_rule(color="#ddd").encode(y=row(bandPosition=0)),
        ground({"at": [0]}).mark_rule(color="#555", strokeDash=[4, 3]).encode(x=across("at")),
        *_dots(known, frame, across, row()),
        absent.mark_text(color="#555").encode(x=across("at"), y=row(), text="what:N"),
    ]
    chart = alt.layer(*marks).properties(width=width, height=42 * len(roles))
    return chart.properties(title=alt.TitleParams(corpus, fontSize=12)) if corpus else chart


def _dots(known: pd.DataFrame, frame: pd.DataFrame, across: Any, y: Any) -> list[Any]:
    """Draw the intervals, the hollow dots and the filled ones."""
    thirds = dict(frame[["part", "third"]].drop_duplicates().itertuples(index=False, name=None))
    order = list(thirds)
    colours, shapes = (
        named({part: PARTS[third][look] for part, third in thirds.items()}) for look in (0, 1)
    )
    legend = alt.Legend(orient="bottom", direction="horizontal")
    numbers = [f"{name} .3f" for name in ("before", "after", "shift", "low", "high", "effect")]
    tests = {"p_corrected": "p of no shift", "p_least": "p of a shift of no interest"}
    base = alt.Chart(known).encode(
        y=y,
        yOffset=alt.YOffset("part:N", sort=order, scale=alt.Scale(domain=order, paddingOuter=0.6)),
        color=alt.Color("part:N", scale=colours, title="layers", legend=legend),
        tooltip=tips(
            *("role", "part", *numbers, "p_corrected .2g", "p_least .2g", "verdict", "sequences:Q"),
            part="layers",
            low=None,
            high=None,
            **tests,
        ),
    )
    x = across("shift", axis=alt.Axis(tickCount=4))
    shape = alt.Shape("part:N", scale=shapes, title="layers", legend=legend)
    hollow = base.transform_filter("!datum.changed").mark_point(
        filled=False, fill="white", size=60, strokeWidth=2, opacity=1
    )
    filled = base.transform_filter("datum.changed").mark_point(filled=True, size=70, opacity=1)
    intervals = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2)
    return [
        intervals.encode(x=across("low"), x2="high:Q"),
        hollow.encode(x=x, shape=shape),
        filled.encode(x=x, shape=shape),
    ]
