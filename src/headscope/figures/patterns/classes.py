"""Pattern classes drawn (Kovaleva et al. 2019, Fig. 2): shares over all heads, by layer, and the leading class of each head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.gallery import figure
from headscope.figures.style import BLUE, GREEN, ORANGE, PURPLE, styled, subject
from headscope.results import Results
from headscope.stats.patterns import (
    leading_patterns,
    pattern_heads,
    pattern_layers,
    pattern_shares,
    shares_by_file,
)

PATTERNS = {
    "vertical": BLUE,
    "diagonal": ORANGE,
    "vertical+diagonal": GREEN,
    "block": PURPLE,
    "heterogeneous": "#9AA0A6",
}
"""The colour of each class."""
LETTERS = {
    "vertical": "V",
    "diagonal": "D",
    "vertical+diagonal": "VD",
    "block": "B",
    "heterogeneous": "H",
}
ROOM = 0.045
"""The least share whose number is printed into its bar."""
OF_MAPS = "share of maps"


def pattern_colour(field: str = "pattern:N", **options: Any) -> Any:
    """The colour of a class, the same in all figures."""
    return alt.Color(
        field,
        scale=alt.Scale(domain=list(PATTERNS), range=list(PATTERNS.values())),
        title="class",
        **options,
    )


def pattern_bars(shares: pd.DataFrame, by: str, *, title: str, subtitle: str = "") -> Any:
    """One stacked bar for each value of the column ``by``, a part a class, in the order of the classes; ``shares`` has the columns pattern, share, low and high too."""
    frame = shares.assign(
        place=shares["pattern"].map({name: place for place, name in enumerate(PATTERNS)})
    ).sort_values("place")
    order = list(dict.fromkeys(shares[by]))
    ends = frame.groupby(by)["share"].cumsum()
    frame = frame.assign(
        start=ends - frame["share"],
        end=ends,
        middle=ends - frame["share"] / 2,
        percent=100 * frame["share"],
    )
    width = max(140, (48 if by == "layer" else 96) * len(order))
    base = alt.Chart(frame, width=width, height=260).encode(
        x=alt.X(
            f"{by}:O",
            sort=order,
            title="layer" if by == "layer" else None,
            axis=alt.Axis(labelAngle=0, labelLimit=120),
        )
    )
    scale = alt.Scale(domain=[0, 1], nice=False)
    shown = [
        alt.Tooltip(f"{by}:N"),
        alt.Tooltip("pattern:N", title="class"),
        *(
            alt.Tooltip(f"{name}:Q", format=".1%", title=words)
            for name, words in (("share", "share"), ("low", "95 % from"), ("high", "to"))
        ),
    ]
    bars = base.mark_bar(stroke="white", strokeWidth=0.5).encode(
        y=alt.Y("start:Q", scale=scale, title=OF_MAPS, axis=alt.Axis(format="%")),
        y2="end:Q",
        color=pattern_colour(sort=list(PATTERNS)),
        tooltip=shown,
    )
    numbers = (
        base.transform_filter(f"datum.share >= {ROOM}")
        .mark_text(fontSize=10, color="black")
        .encode(y=alt.Y("middle:Q", scale=scale), text=alt.Text("percent:Q", format=".0f"))
    )
    return styled(alt.layer(bars, numbers), title, subtitle)


def task_patterns(files: Mapping[str, Results]) -> Any:
    """One bar for each of several results (tasks, models), side by side."""
    return pattern_bars(
        shares_by_file(files),
        "file",
        title="Pattern classes",
        subtitle="share of all maps, in percent",
    )


@figure(
    "patterns",
    title="Pattern classes",
    caption="As Kovaleva et al. 2019, Figure 2, for one corpus: the share of all maps (every head on every example) of each class, as the network sees it. Hover for the 95 % interval (block jackknife).",
    needs=("pattern",),
)
def _patterns(results: Results) -> Any:
    name = subject(results.provenance)
    return pattern_bars(
        pattern_shares(results).assign(of=name.partition(" on ")[2].partition(",")[0]),
        "of",
        title="Pattern classes",
        subtitle=name,
    )


@figure(
    "pattern-layers",
    title="Pattern classes by layer",
    caption="The share of each layer's maps of each class, in percent (after Kovaleva et al. 2019, §4.1). Hover for the 95 % interval (block jackknife).",
    needs=("pattern",),
)
def _layers(results: Results) -> Any:
    return pattern_bars(
        pattern_layers(results),
        "layer",
        title="Pattern classes by layer",
        subtitle=subject(results.provenance),
    )


@figure(
    "pattern-heads",
    title="Leading pattern class, head by head",
    caption="The class that a head's maps are of most often; the paler, the smaller its share of inputs. V vertical, D diagonal, VD both, B block, H heterogeneous. Hover for all classes and Wilson's 95 % interval.",
    needs=("pattern",),
)
def _heads(results: Results) -> Any:
    frame = leading_patterns(results)
    every = (
        pattern_heads(results)
        .pivot(index="name", columns="pattern", values="share")
        .rename(columns=_plain)
        .reset_index()
    )
    frame = frame.merge(every, on="name").assign(letter=frame["pattern"].map(LETTERS))
    heads, layers = frame["head"].nunique(), frame["layer"].nunique()
    size = 34 if heads <= 16 else 20
    shown = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("pattern:N", title="leading class"),
        *(
            alt.Tooltip(f"{name}:Q", format=".0%", title=words)
            for name, words in (("share", "its share"), ("low", "95 % from"), ("high", "to"))
        ),
        *(alt.Tooltip(f"{_plain(name)}:Q", format=".0%", title=name) for name in PATTERNS),
    ]
    base = alt.Chart(frame, width=size * heads, height=size * 0.8 * layers).encode(
        x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("layer:O", title="layer", sort="descending"),
        tooltip=shown,
    )
    share = alt.Opacity(
        "share:Q",
        scale=alt.Scale(domain=[1 / len(PATTERNS), 1], range=[0.15, 1], clamp=True),
        title="its share",
        legend=alt.Legend(format="%", values=[0.25, 0.5, 0.75, 1]),
    )
    marks = [base.mark_rect().encode(color=pattern_colour(sort=list(PATTERNS)), opacity=share)]
    if size == 34:
        marks.append(base.mark_text(fontSize=10, color="black").encode(text="letter:N"))
    return styled(alt.layer(*marks), "Leading pattern class", subject(results.provenance))


def _plain(name: object) -> str:
    """A column name without signs that Vega reads as part of a path."""
    return f"of_{name}".replace("+", "_")


def confusion_map(confusion: pd.DataFrame, *, title: str, subtitle: str = "") -> Any:
    """Labels (rows) against predictions: a square each with its count; darker is a larger share of the label's maps."""
    counts = confusion.reset_index(names="label").melt(
        id_vars="label", var_name="predicted", value_name="count"
    )
    counts["share"] = counts["count"] / counts.groupby("label")["count"].transform("sum").clip(
        lower=1
    )
    order = list(PATTERNS)
    base = alt.Chart(counts, width=300, height=220).encode(
        x=alt.X("predicted:N", sort=order, title="predicted", axis=alt.Axis(labelAngle=-25)),
        y=alt.Y("label:N", sort=order, title="label"),
        tooltip=["label:N", "predicted:N", "count:Q"],
    )
    squares = base.mark_rect().encode(
        color=alt.Color("share:Q", scale=alt.Scale(scheme="blues", domain=[0, 1]), legend=None)
    )
    numbers = base.mark_text(fontSize=12).encode(
        text="count:Q",
        color=alt.condition("datum.share > 0.6", alt.value("white"), alt.value("black")),
    )
    return styled(alt.layer(squares, numbers), title, subtitle)
