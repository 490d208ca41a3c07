"""Scores of heads in two runs of probing, such as ours and the published ones."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.probing.panels import COLUMNS
from headscope.figures.style import styled

SIZE = 150
SIGNS = {"Pearson": "r", "Spearman": "ρ"}


def agreement_grid(scores: pd.DataFrame, correlations: pd.DataFrame, *, title: str = "") -> Any:
    """Draw one panel per task: each head's published score against ours.

    Parameters
    ----------
    scores : DataFrame
        From :func:`headscope.stats.tables.probing.paired_scores`.
    correlations : DataFrame
        From :func:`headscope.stats.tables.probing.probe_agreement`.
    title : str, optional
        Whose scores these are.

    Returns
    -------
    altair chart
        Points are coloured by layer; each panel has its own axes.
    """
    charts = []
    for task, rows in scores.groupby("task", sort=False):
        found = correlations[correlations["task"] == task].to_dict("records")
        lines = [
            f"{SIGNS[str(row['correlation'])]} = {row['value']:.2f}"
            for row in found
            if not pd.isna(row["value"])
        ]
        heading = alt.TitleParams(
            str(task),
            subtitle=", ".join(lines) or "no correlation is defined",
            fontSize=11,
            subtitleFontSize=9,
            subtitleColor="#555",
            offset=4,
        )
        charts.append(_points(rows).properties(title=heading))
    lines_needed = -(-len(charts) // COLUMNS)
    across = -(-len(charts) // lines_needed)
    grid = alt.concat(*charts, columns=across, spacing=18)
    return styled(
        grid.resolve_scale(x="independent", y="independent", color="shared"),
        title or "Scores of heads, published and here",
        "one point per head; each panel has its own axes",
    )


def _points(rows: pd.DataFrame) -> Any:
    names = rows["layer"].astype(str) + "-" + rows["head"].astype(str)
    known = rows.assign(name=names).dropna(subset=["here", "published"])
    small: dict[str, Any] = {"labelFontSize": 8, "titleFontSize": 9, "tickCount": 4}
    own = alt.Scale(zero=False)
    axis = alt.Axis(format=".2f", **small)
    return (
        alt.Chart(known, width=SIZE, height=SIZE)
        .mark_point(filled=True, size=22, opacity=0.85)
        .encode(
            x=alt.X("published:Q", title="published", scale=own, axis=axis),
            y=alt.Y("here:Q", title="here", scale=own, axis=axis),
            color=alt.Color("layer:Q", scale=alt.Scale(scheme="viridis"), title="layer"),
            tooltip=[
                alt.Tooltip("name:N", title="head"),
                alt.Tooltip("published:Q", format=".3f"),
                alt.Tooltip("here:Q", format=".3f"),
            ],
        )
    )
