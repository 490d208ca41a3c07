"""The sieves of some roles drawn over one text (Pande et al. 2021, Figure 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from headscope.figures.roles.common import role_colours
from headscope.figures.style import styled

TITLE = "Sieves over one text"
LETTER, GAP, HIGH = 6.4, 7, 92
"""Pixels of a letter, between tokens, and of a panel's height."""
POINTS = 25
"""Points that draw an arc."""


@dataclass(frozen=True)
class DrawnSieve:
    """The sieve of one token.

    Parameters
    ----------
    role : str
        The role.
    title : str
        What the sieve is.
    query : int
        The place of the token.
    keys : tuple of int
        The places of the tokens that it should attend to.
    """

    role: str
    title: str
    query: int
    keys: tuple[int, ...]


def sieve_arcs(tokens: Sequence[str], sieves: Sequence[DrawnSieve], *, subtitle: str = "") -> Any:
    """Draw a text once per role: a box around one token, and lines to the tokens of its sieve.

    Parameters
    ----------
    tokens : sequence of str
        The tokens of the text.
    sieves : sequence of DrawnSieve
        One panel each.
    subtitle : str
        Under the title.

    Returns
    -------
    altair chart
    """
    places, end = token_places(tokens), text_width(tokens)
    panels = [
        _panel(tokens, places, end, sieve, colour)
        for sieve, colour in zip(sieves, role_colours([one.role for one in sieves]), strict=True)
    ]
    return styled(
        alt.vconcat(*panels, spacing=4),
        TITLE,
        subtitle,
        "from the boxed token, a head with the role should attend to the tokens at the arcs",
    )


def token_places(tokens: Sequence[str]) -> list[float]:
    """Return where the middle of each token stands, in pixels.

    Examples
    --------
    >>> token_places(["a", "dog"])
    [10.2, 30.0]
    """
    places, at = [], float(GAP)
    for token in tokens:
        width = LETTER * max(1, len(token))
        places.append(round(at + width / 2, 1))
        at += width + GAP
    return places


def text_width(tokens: Sequence[str]) -> float:
    """Return how wide a text is drawn, in pixels.

    Examples
    --------
    >>> text_width(["a", "dog"])
    46.6
    """
    return round(GAP + sum(LETTER * max(1, len(token)) + GAP for token in tokens), 1)


def _panel(
    tokens: Sequence[str], places: list[float], end: float, sieve: DrawnSieve, colour: str
) -> Any:
    """Draw one role."""
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, end], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.25, 1.05], nice=False))
    words = pd.DataFrame(
        {
            "x": places,
            "y": 0.0,
            "token": list(tokens),
            "ink": [colour if place in sieve.keys else "#444" for place in range(len(tokens))],
        }
    )
    text = alt.Chart(words).mark_text(fontSize=11.5)
    box = pd.DataFrame([_box(tokens, places, sieve.query)])
    frame = alt.Chart(box).mark_rect(filled=False, stroke="black", strokeWidth=1.4)
    arcs = alt.Chart(_arcs(places, sieve)).mark_line(strokeWidth=1.8, color=colour)
    marks = [
        arcs.encode(x=x, y=y, detail="key:N", order="step:Q"),
        text.encode(x=x, y=y, text="token:N", color=alt.Color("ink:N", scale=None)),
        frame.encode(x=x, x2="right:Q", y=y, y2="top:Q"),
    ]
    heading = alt.TitleParams(
        f"{sieve.role}: {_lowered(sieve.title)}",
        anchor="start",
        fontSize=12,
        fontWeight="normal",
        dx=GAP,
    )
    drawing = alt.layer(*marks, view=alt.ViewConfig(stroke=None))
    return drawing.properties(width=end, height=HIGH, title=heading)


def _lowered(title: str) -> str:
    """Begin a title with a small letter, as it stands behind a colon."""
    return title[:1].lower() + title[1:]


def _box(tokens: Sequence[str], places: list[float], query: int) -> dict[str, float]:
    """Return the box around a token."""
    half = LETTER * max(1, len(tokens[query])) / 2 + 3
    middle = places[query]
    return {"x": middle - half, "right": middle + half, "y": -0.13, "top": 0.13}


def _arcs(places: list[float], sieve: DrawnSieve) -> pd.DataFrame:
    """Return the points of the arcs; a token in its own sieve has a small loop."""
    longest = max((abs(places[key] - places[sieve.query]) for key in sieve.keys), default=1.0)
    angles = np.linspace(0, np.pi, POINTS)
    parts = []
    for key in sieve.keys:
        start, stop = places[sieve.query], places[key]
        reach = abs(stop - start)
        high = 0.3 + 0.55 * reach / max(longest, 1.0)
        middle, half = (start + stop) / 2, (stop - start) / 2
        if key == sieve.query:
            half, high = 7.0, 0.25
        parts.append(
            pd.DataFrame(
                {
                    "x": middle - half * np.cos(angles),
                    "y": 0.17 + high * np.sin(angles),
                    "key": key,
                    "step": range(POINTS),
                }
            )
        )
    return pd.concat(parts) if parts else pd.DataFrame(columns=["x", "y", "key", "step"])
