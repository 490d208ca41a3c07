"""The layer scatter of Clark et al., Fig. 2 and 4: one point a head over its layer, a line through the layer means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd
import xarray as xr

from headscope.figures.style import COLOURS, styled


def layer_scatter(
    series: Mapping[str, xr.DataArray],
    *,
    title: str,
    subtitle: str = "",
    unit: str = "",
    line: xr.DataArray | None = None,
    line_name: str = "",
    top: float | None = None,
) -> Any:
    """``series`` names values with dims layer and head, one colour each. ``line`` is drawn dashed across (a reference by layer and head)."""
    aside = 0.16  # points of different series stand a little apart
    frame = pd.concat(
        [
            _frame(name, values, (index - (len(series) - 1) / 2) * aside)
            for index, (name, values) in enumerate(series.items())
        ],
        ignore_index=True,
    )
    layers_there = sorted(int(layer) for layer in frame["layer"].unique())
    frame = frame.dropna(subset=["value"])
    scale = alt.Scale(domain=list(series), range=COLOURS[: len(series)])
    shapes = alt.Scale(
        domain=list(series),
        range=["circle", "square", "triangle-up", "diamond", "cross"][: len(series)],
    )
    limit = top or (1.0 if frame.empty else None)
    y = alt.Y(
        "value:Q", title=unit, scale=alt.Scale(domain=[0, limit]) if limit else alt.Scale(zero=True)
    )
    legend = alt.Legend(orient="top", offset=6)
    axis = alt.Axis(values=layers_there, format="d", grid=False)
    across = alt.Scale(domain=[layers_there[0] - 0.5, layers_there[-1] + 0.5], nice=False)
    x = alt.X("layer:Q", title="layer", axis=axis, scale=across)
    points = (
        alt.Chart(frame)
        .mark_point(filled=True, size=38, opacity=0.75)
        .encode(
            x=alt.X("place:Q", title="layer", axis=axis, scale=across),
            y=y,
            color=alt.Color("series:N", scale=scale, title=None, legend=legend),
            shape=alt.Shape("series:N", scale=shapes, title=None, legend=legend),
            tooltip=[
                alt.Tooltip("name:N", title="head"),
                alt.Tooltip("series:N", title="statistic"),
                alt.Tooltip("value:Q", format=".3f", title=unit),
            ],
        )
    )
    means = (
        alt.Chart(frame)
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=alt.Y("mean(value):Q", title=unit),
            color=alt.Color("series:N", scale=scale, title=None, legend=legend),
        )
    )
    layers = [means, points]
    if line is not None:
        reference = line.mean("head").to_dataframe(name="value").reset_index()
        reference["what"] = line_name
        layers.append(
            alt.Chart(reference).mark_line(strokeDash=[5, 4], color="#555").encode(x=x, y="value:Q")
        )
        layers.append(
            alt.Chart(reference.tail(1))
            .mark_text(align="right", dy=-7, color="#555")
            .encode(x=x, y="value:Q", text="what:N")
        )
    if frame.empty:
        layers.append(
            alt.Chart(pd.DataFrame({"what": ["not defined for this model or corpus"]}))
            .mark_text(color="#555")
            .encode(text="what:N")
        )
    return styled(
        alt.layer(*layers).properties(width=max(360, 46 * len(layers_there)), height=260),
        title,
        subtitle,
    )


def _frame(name: str, values: xr.DataArray, aside: float) -> pd.DataFrame:
    frame = values.reset_coords(drop=True).to_dataframe(name="value").reset_index()
    frame["series"] = name
    frame["place"] = frame["layer"] + aside
    frame["name"] = frame["layer"].astype(str) + "-" + frame["head"].astype(str)
    return frame
