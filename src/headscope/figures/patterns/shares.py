"""Shares of the pattern classes among all maps and by layer (Kovaleva et al. 2019, Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.patterns.classes import PATTERNS, class_colour
from headscope.figures.style import short_corpus, styled, subject
from headscope.results import Atlas
from headscope.stats.tables.patterns import pattern_layers, pattern_shares, shares_by_file

LEAST = 0.045
"""Smaller shares are not printed into their bar."""
UNIT = "share of maps"


def pattern_bars(shares: pd.DataFrame, by: str, *, title: str, subtitle: str = "") -> Any:
    """Draw stacked bars of classes, in a fixed order.

    Parameters
    ----------
    shares : DataFrame
        With the columns pattern, share, low and high, and ``by``.
    by : str
        One bar for each value of this column, in the order of the frame.
    title, subtitle : str
        Above the figure.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> columns = ["task", "pattern", "share", "low", "high"]
    >>> rows = [["RTE", "block", 0.4, 0.3, 0.5], ["RTE", "vertical", 0.6, 0.5, 0.7]]
    >>> shares = pd.DataFrame(rows, columns=columns)
    >>> pattern_bars(shares, "task", title="Classes").data["end"].tolist()
    [0.6, 1.0]
    """
    frame = _stacked(shares, by)
    order = list(dict.fromkeys(shares[by]))
    width = max(140, (48 if by == "layer" else 96) * len(order))
    axis = alt.Axis(labelAngle=0, labelLimit=120)
    x = alt.X(f"{by}:O", sort=order, title="layer" if by == "layer" else None, axis=axis)
    base = alt.Chart(frame, width=width, height=260).encode(x=x)
    scale = alt.Scale(domain=[0, 1], nice=False)
    words = {"share": "share", "low": "95 % from", "high": "to"}
    shown = [
        alt.Tooltip(f"{by}:N"),
        alt.Tooltip("pattern:N", title="class"),
        *(alt.Tooltip(f"{name}:Q", format=".1%", title=text) for name, text in words.items()),
    ]
    bars = base.mark_bar(stroke="white", strokeWidth=0.5).encode(
        y=alt.Y("start:Q", scale=scale, title=UNIT, axis=alt.Axis(format="%")),
        y2="end:Q",
        color=class_colour(),
        tooltip=shown,
    )
    large = base.transform_filter(f"datum.share >= {LEAST}")
    numbers = large.mark_text(fontSize=10, color="black").encode(
        y=alt.Y("middle:Q", scale=scale), text=alt.Text("percent:Q", format=".0f")
    )
    return styled(alt.layer(bars, numbers), title, subtitle)


def _stacked(shares: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return where each part of a bar starts and ends, in the order of the classes."""
    order = {name: place for place, name in enumerate(PATTERNS)}
    frame = shares.assign(place=shares["pattern"].map(order)).sort_values("place")
    ends = frame.groupby(by)["share"].cumsum()
    share = frame["share"]
    return frame.assign(start=ends - share, end=ends, middle=ends - share / 2, percent=100 * share)


def task_patterns(files: Mapping[str, Atlas]) -> Any:
    """Draw the classes of several results (tasks, models) side by side.

    Parameters
    ----------
    files : mapping of str to Atlas
        One bar each, by the name below it.

    Returns
    -------
    altair chart
    """
    shares = shares_by_file(files)
    return pattern_bars(shares, "file", title="Pattern classes", subtitle=f"{UNIT}, in percent")


def patterns(results: Atlas) -> Any:
    """Draw the shares of the classes among all maps."""
    corpus = short_corpus(str(results.provenance["corpus"]["name"]))
    shares = pattern_shares(results).assign(of=corpus)
    return pattern_bars(shares, "of", title="Pattern classes", subtitle=subject(results.provenance))


def pattern_layers_bars(results: Atlas) -> Any:
    """Draw the shares of the classes in each layer."""
    return pattern_bars(
        pattern_layers(results),
        "layer",
        title="Pattern classes by layer",
        subtitle=subject(results.provenance),
    )
