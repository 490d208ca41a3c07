"""Are heads syntactic, semantic, or both? One point per head (Jo and Myaeng 2020, Figure 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from headscope.errors import ResultsError, UserError
from headscope.figures.probing.panels import model_name
from headscope.figures.style import note, styled
from headscope.results import Atlas
from headscope.stats.tables.probing import correlation, syntactic_semantic

TITLE = "Syntactic and semantic scores of heads"
COLUMNS, FEW = 4, 12
"""Scatters in a row; up to so many layers, the legend names each one."""
SIGNS = {"Pearson": "r", "Spearman": "ρ"}


def syntactic_semantic_scatter(results: Atlas) -> Any:
    """Draw one point per head, with the correlation of the two scores."""
    try:
        frame = syntactic_semantic(results)
    except ResultsError as error:
        return note(error.message.partition(" (")[0], TITLE, model_name(results))
    groups = [f"{group}: {', '.join(names)}" for group, names in frame.attrs["tasks"].items()]
    lines = [model_name(results), *correlation_text(frame), *groups]
    return styled(_points(frame, 320, 300), TITLE, *lines)


def scatter_grid(models: Mapping[str, Atlas]) -> Any:
    """Draw the scatter of several models, each with its correlation, on the same axes.

    Parameters
    ----------
    models : mapping of str to Atlas
        Results of probes, by the name of the model.

    Returns
    -------
    altair chart

    Raises
    ------
    UserError
        If no results are given.
    ResultsError
        If a model was not probed with a syntactic and a semantic task.
    """
    if not models:
        raise UserError("there is nothing to draw: no results were given")
    frames = {name: syntactic_semantic(results) for name, results in models.items()}
    ends = pd.concat(frames.values())[["syntactic", "semantic"]].agg(["min", "max"])
    charts = []
    for name, frame in frames.items():
        heading = alt.TitleParams(
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
        charts.append(_points(frame, 190, 180, ends).properties(title=heading))
    grid = alt.concat(*charts, columns=min(COLUMNS, len(charts)), spacing=24)
    return styled(
        grid.resolve_scale(x="independent", y="independent", color="independent"),
        TITLE,
        "all models have the same axes; 95 % intervals over heads and over layers",
    )


def correlation_text(frame: pd.DataFrame) -> list[str]:
    """Write Pearson's and Spearman's correlation, each with its intervals.

    Parameters
    ----------
    frame : DataFrame
        From :func:`headscope.stats.tables.probing.syntactic_semantic`.

    Returns
    -------
    list of str
        One line each: the value, the interval over heads, and the one over layers.
    """
    lines = []
    for row in correlation(frame).to_dict("records"):
        sign = SIGNS[str(row["correlation"])]
        if pd.isna(row["value"]):
            lines.append(f"{sign} is not defined")
            continue
        parts = []
        if not pd.isna(row["low"]):
            parts.append(f"{row['low']:.2f} to {row['high']:.2f}")
        if not pd.isna(row["layer low"]):
            parts.append(f"over layers {row['layer low']:.2f} to {row['layer high']:.2f}")
        spread = f" ({'; '.join(parts)})" if parts else ""
        lines.append(f"{sign} = {row['value']:.2f}{spread}")
    return lines


def _points(frame: pd.DataFrame, width: int, height: int, ends: pd.DataFrame | None = None) -> Any:
    """Draw one point per head, dark in low layers and bright in high ones.

    ``ends`` has the smallest and the largest score of each axis.
    """
    names = frame["layer"].astype(str) + "-" + frame["head"].astype(str)
    known = frame.assign(name=names).dropna(subset=["syntactic", "semantic"])
    layers = int(frame["layer"].max())
    legend = alt.Legend(
        title="layer",
        gradientLength=min(height, 140),
        gradientThickness=9,
        values=sorted(range(1, layers + 1) if layers <= FEW else {1, (layers + 1) // 2, layers}),
        format="d",
        labelFontSize=9,
        titleFontSize=10,
    )
    scale = alt.Scale(scheme="viridis", domain=[1, max(layers, 2)])
    small = alt.Axis(labelFontSize=9, titleFontSize=10, tickCount=5, format=".2f")
    x, y = (
        alt.Scale(zero=False)
        if ends is None
        else alt.Scale(zero=False, nice=True, domain=ends[name].tolist())
        for name in ("syntactic", "semantic")
    )
    return (
        alt.Chart(known, width=width, height=height)
        .mark_point(filled=True, size=34, opacity=0.9, stroke="#333", strokeWidth=0.3)
        .encode(
            x=alt.X("syntactic:Q", title="syntactic score: accuracy", scale=x, axis=small),
            y=alt.Y("semantic:Q", title="semantic score: accuracy", scale=y, axis=small),
            color=alt.Color("layer:Q", scale=scale, legend=legend),
            tooltip=[
                alt.Tooltip("name:N", title="head"),
                alt.Tooltip("syntactic:Q", format=".3f"),
                alt.Tooltip("semantic:Q", format=".3f"),
            ],
        )
    )
