"""Are heads syntactic or semantic, or both at once? One point a head (Jo and Myaeng 2020, Fig. 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from headscope.errors import ResultsError, UserError
from headscope.figures.gallery import figure
from headscope.figures.probing.heat import model_name
from headscope.figures.roles import note, titled
from headscope.results import Results
from headscope.stats.probing import correlation, syntactic_semantic

COLUMNS = 4
TITLE = "Syntactic and semantic scores of heads"


@figure(
    "syntactic-semantic",
    title="Syntactic against semantic score, head by head",
    caption="As Jo and Myaeng 2020, Figure 5: a head's mean test accuracy over the syntactic tasks (Depth, TopConst, BigramShift) and over the semantic ones (Tense, SubjNum, ObjNum, OddManOut, "
    "CoordInv), those that were probed; coloured by layer. Intervals: 95 %, Fisher's, and by drawing whole layers, since heads of a layer are not independent.",
    needs=("probe",),
)
def _scatter(results: Results) -> Any:
    try:
        frame = syntactic_semantic(results)
    except ResultsError as error:
        return note(error.message.partition(" (")[0], TITLE, model_name(results))
    of = [f"{group}: {', '.join(names)}" for group, names in frame.attrs["tasks"].items()]
    return titled(
        _points(frame, 320, 300), TITLE, model_name(results), *correlation_text(frame), *of
    )


def scatter_grid(models: Mapping[str, Results]) -> Any:
    """One scatter a model (Figure 5), each with axes of its own and its correlation."""
    if not models:
        raise UserError("there is nothing to draw: no results were given")
    charts = []
    for name, results in models.items():
        frame = syntactic_semantic(results)
        text = alt.TitleParams(
            name,
            subtitle=correlation_text(frame),
            fontSize=12,
            subtitleFontSize=9,
            subtitleColor="#555",
            anchor="start",
            frame="group",
            limit=230,
            offset=4,
        )
        charts.append(_points(frame, 190, 180).properties(title=text))
    grid = alt.concat(*charts, columns=min(COLUMNS, len(charts)), spacing=24).resolve_scale(
        x="independent", y="independent", color="independent"
    )
    return titled(
        grid, TITLE, "every model has axes of its own; intervals: 95 %, by heads and by layers"
    )


def correlation_text(frame: pd.DataFrame) -> list[str]:
    """Pearson's and Spearman's correlation in words, a line each, with the interval over heads and the one over layers."""
    signs = {"Pearson": "r", "Spearman": "ρ"}
    lines = []
    for row in correlation(frame).to_dict("records"):
        whole = (
            f"{signs[str(row['correlation'])]} = {row['value']:.2f}"
            if row["value"] == row["value"]
            else f"{signs[str(row['correlation'])]} is not defined"
        )
        heads = f" ({row['low']:.2f} … {row['high']:.2f}" if row["low"] == row["low"] else ""
        layers = (
            f"; by layers {row['layer low']:.2f} … {row['layer high']:.2f}"
            if row["layer low"] == row["layer low"]
            else ""
        )
        lines.append(f"{whole}{heads}{layers}{')' if heads else ''}")
    return lines


def _points(frame: pd.DataFrame, width: int, height: int) -> Any:
    """One point a head, dark for low layers and bright for high ones."""
    known = frame.dropna(subset=["syntactic", "semantic"]).assign(
        name=frame["layer"].astype(str) + "-" + frame["head"].astype(str)
    )
    layers = int(frame["layer"].max())
    ends = alt.Scale(scheme="viridis", domain=[1, max(layers, 2)])
    legend = alt.Legend(
        title="layer",
        gradientLength=min(height, 140),
        gradientThickness=9,
        values=sorted({1, (layers + 1) // 2, layers}),
        format="d",
        labelFontSize=9,
        titleFontSize=10,
    )
    axis: dict[str, Any] = {
        "labelFontSize": 9,
        "titleFontSize": 10,
        "tickCount": 5,
        "format": ".2f",
    }
    return (
        alt.Chart(known, width=width, height=height)
        .mark_point(filled=True, size=34, opacity=0.9, stroke="#333", strokeWidth=0.3)
        .encode(
            x=alt.X(
                "syntactic:Q",
                title="syntactic score",
                scale=alt.Scale(zero=False),
                axis=alt.Axis(**axis),
            ),
            y=alt.Y(
                "semantic:Q",
                title="semantic score",
                scale=alt.Scale(zero=False),
                axis=alt.Axis(**axis),
            ),
            color=alt.Color("layer:Q", scale=ends, legend=legend),
            tooltip=[
                alt.Tooltip("name:N", title="head"),
                alt.Tooltip("syntactic:Q", format=".3f"),
                alt.Tooltip("semantic:Q", format=".3f"),
            ],
        )
    )
