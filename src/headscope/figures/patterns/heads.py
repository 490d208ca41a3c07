"""The leading pattern class of each head."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.patterns.classes import LETTERS, PATTERNS, class_colour
from headscope.figures.squares import ROOMY, head_squares
from headscope.figures.style import styled, subject
from headscope.results import Atlas
from headscope.stats.tables.patterns import leading_patterns, pattern_heads


def pattern_heads_map(results: Atlas) -> Any:
    """Draw one square per head in the colour of its most frequent class; paler if less frequent."""
    frame = _leading(results)
    heads, layers = frame["head"].nunique(), frame["layer"].nunique()
    base = head_squares(frame, heads, layers).encode(tooltip=_tooltip())
    share = alt.Opacity(
        "share:Q",
        scale=alt.Scale(domain=[1 / len(PATTERNS), 1], range=[0.15, 1], clamp=True),
        title=["its share", "of inputs"],
        legend=alt.Legend(format="%", values=[0.25, 0.5, 0.75, 1]),
    )
    marks = [base.mark_rect().encode(color=class_colour(), opacity=share)]
    if heads <= ROOMY:
        marks.append(base.mark_text(fontSize=10, color="black").encode(text="letter:N"))
    return styled(alt.layer(*marks), "Leading pattern class", subject(results.provenance))


def _leading(results: Atlas) -> pd.DataFrame:
    """Return one row per head: its leading class, and the shares of all classes."""
    frame = leading_patterns(results)
    shares = pattern_heads(results).pivot(index="name", columns="pattern", values="share")
    merged = frame.merge(shares.rename(columns=plain_name).reset_index(), on="name")
    return merged.assign(letter=merged["pattern"].map(LETTERS))


def _tooltip() -> list[Any]:
    """Show the head, its leading class with interval, and the shares of all classes."""
    words = {"share": "its share", "low": "95 % from", "high": "to"}
    return [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("pattern:N", title="leading class"),
        *(alt.Tooltip(f"{name}:Q", format=".0%", title=text) for name, text in words.items()),
        *(alt.Tooltip(f"{plain_name(name)}:Q", format=".0%", title=name) for name in PATTERNS),
    ]


def plain_name(name: object) -> str:
    """Return a column name without characters that Vega reads as part of a path.

    Examples
    --------
    >>> plain_name("vertical+diagonal")
    'of_vertical_diagonal'
    """
    return f"of_{name}".replace("+", "_")
