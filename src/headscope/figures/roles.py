"""What the figures of roles (Pande et al. 2021) share: which roles they show, in which colours, under which words; and the maps of mean sieve bias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError
from headscope.figures.gallery import figure
from headscope.figures.style import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, styled, subject
from headscope.results import Results
from headscope.stats.overlap import present
from headscope.stats.roles import COARSE, kept_scores, role_data, role_tests

MANY = 16
"""Heads or layers over which squares get smaller."""
FAINTEST = 0.1
"""A tenth of uniform attention, or less, has the darkest colour: a logarithm has no 0."""
_COLOURS = dict(zip(COARSE, (BLUE, ORANGE, GREEN, PURPLE), strict=True))
_OTHERS = (RED, SKY, "#8C6D31", "#6B6ECF")


def role_colours(roles: Sequence[str]) -> list[str]:
    """The colour of each role: always the same for the paper's four."""
    others = [role for role in roles if role not in _COLOURS]
    return [_COLOURS.get(role) or _OTHERS[others.index(role) % len(_OTHERS)] for role in roles]


def shown_roles(tests: xr.Dataset, roles: Sequence[str] = COARSE) -> list[str]:
    """Those of some roles that were tested; if there are none, all that were."""
    return present(tests, roles) or present(tests, [str(name) for name in tests["role"].values])


def how(tests: xr.Dataset) -> str:
    """The test in a few words, for the line under a title.

    >>> how(xr.Dataset({"tau": ("role", [3.0, 1.5])}, {"role": ["local", "block"]}, {"test": "z", "correction": "none", "alpha": 0.05}))
    'τ = 3 (block: 1.5); z test, p < 0.05'
    """
    taus = {
        str(name): float(tau)
        for name, tau in zip(tests["role"].values, tests["tau"].values, strict=True)
    }
    usual = max(taus.values(), key=list(taus.values()).count)
    other = ", ".join(f"{name}: {tau:g}" for name, tau in taus.items() if tau != usual)
    corrected = "" if tests.attrs["correction"] == "none" else f" ({tests.attrs['correction']})"
    return f"τ = {usual:g}{f' ({other})' if other else ''}; {tests.attrs['test']} test, p < {tests.attrs['alpha']:g}{corrected}"


def heads_text(count: int) -> str:
    """A number of heads.

    >>> heads_text(1), heads_text(2)
    ('1 head', '2 heads')
    """
    return f"{count} head{'' if count == 1 else 's'}"


def titled(chart: Any, title: str, *lines: str) -> Any:
    """Give a finished chart the common look, with a title and as many lines under it as there is to say."""
    chart = styled(chart, title)
    chart.title.subtitle = [line for line in lines if line]
    return chart


def note(text: str, title: str, *lines: str) -> Any:
    """A figure of which there is nothing to draw says why."""
    return titled(
        alt.Chart(pd.DataFrame({"what": [text]}), width=440, height=80)
        .mark_text(color="#555", limit=430)
        .encode(text="what:N"),
        title,
        *lines,
    )


NOTHING = "no role could be tested: two sequences or more are needed"


def known_scores(scores: xr.DataArray) -> NDArray[np.float64]:
    """All scores of single sequences in a row, without those that are not defined."""
    values = scores.values.ravel().astype(np.float64)
    return values[~np.isnan(values)]


def why_no_scores(results: Results) -> str:
    """Why a figure of single sequences cannot be drawn: empty if it can."""
    try:
        kept_scores(role_data(results))
    except ResultsError as error:
        return error.message
    return ""


def role_maps(tests: xr.Dataset, *, roles: Sequence[str] = COARSE, subtitle: str = "") -> Any:
    """The mean sieve bias of every head, a small map a role, coloured by its logarithm; heads that have the role are outlined."""
    title = "Mean sieve bias, head by head"
    names = shown_roles(tests, roles)
    if not names:
        return note(NOTHING, title, subtitle)
    frame = (
        tests[["mean", "low", "high", "effect", "p", "has"]]
        .sel(role=names)
        .to_dataframe()
        .reset_index()
    )
    frame["name"] = frame["layer"].astype(str) + "-" + frame["head"].astype(str)
    frame["strength"] = frame["mean"].clip(lower=FAINTEST)
    low, high = float(frame["strength"].min()), float(frame["strength"].max())
    scale = alt.Scale(type="log", scheme="viridis", domain=[min(low, 1.0), max(high, 3.0)])
    heads, layers = tests.sizes["head"], tests.sizes["layer"]
    size = 17 if max(heads, layers) <= MANY else 12
    every = 1 if max(heads, layers) <= MANY else 4
    maps = []
    for name in names:
        part = frame[frame["role"] == name]
        base = alt.Chart(part, width=size * heads, height=size * layers).encode(
            x=alt.X("head:O", title="head", axis=_axis(heads, every)),
            y=alt.Y("layer:O", title="layer", sort="descending", axis=_axis(layers, every)),
            tooltip=[
                alt.Tooltip("name:N", title="head"),
                *(
                    alt.Tooltip(f"{column}:Q", format=".3f")
                    for column in ("mean", "low", "high", "effect")
                ),
                alt.Tooltip("p:Q", format=".2g"),
            ],
        )
        squares = base.mark_rect().encode(
            color=alt.Color("strength:Q", scale=scale, title=["times", "uniform"])
        )
        having = base.transform_filter("datum.has")
        outline = [
            having.mark_rect(filled=False, stroke=colour, strokeWidth=width)
            for colour, width in (("black", 3), ("white", 1.2))
        ]
        heading = alt.TitleParams(
            f"{name}: {int(part['has'].sum())} of {heads * layers} heads",
            fontSize=11,
            fontWeight="normal",
            anchor="start",
            frame="group",
            offset=4,
        )
        maps.append(alt.layer(squares, *outline).properties(title=heading))
    return titled(
        alt.concat(*maps, columns=2, spacing=18),
        title,
        subtitle,
        f"outlined: has the role ({how(tests)})",
    )


def _axis(count: int, every: int) -> alt.Axis:
    """An axis of so many heads or layers, with a label at the first and then at every so many."""
    return alt.Axis(
        labelAngle=0,
        labelFontSize=9,
        titleFontSize=10,
        values=[number for number in range(1, count + 1) if number == 1 or number % every == 0],
    )


@figure(
    "role-heat",
    title="Sieve bias of the four roles, head by head",
    caption="The mean over sequences as a multiple of uniform attention, on a logarithmic scale; outlined heads have the role at τ = 3 (Pande et al. 2021).",
    needs=("role",),
)
def _role_heat(results: Results) -> Any:
    return role_maps(role_tests(results), subtitle=subject(results.provenance))
