"""A heat map of all heads: x is the head, y the layer, layer 1 at the bottom."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import xarray as xr

from headscope.figures.squares import ROOMY, coloured, head_squares, legend_length, numbered
from headscope.figures.style import legend_ticks, legend_title, styled, subject
from headscope.figures.tidy import SHARES, interval, is_share, tidy, unit_text
from headscope.results import Atlas


def heat_map(
    values: xr.DataArray,
    *,
    title: str,
    subtitle: str = "",
    unit: str = "",
    domain: tuple[float, float] | None = None,
    low: xr.DataArray | None = None,
    high: xr.DataArray | None = None,
) -> Any:
    """Draw one square per head, coloured by its value.

    The value and its interval show on hover; the value is also printed where there is room. A head
    without a value is grey.

    Parameters
    ----------
    values : DataArray
        With dims layer and head.
    title, subtitle : str
        Above the map.
    unit : str
        What the values are, for the legend.
    domain : pair of float, optional
        The ends of the colour scale; by default the smallest and the largest value.
    low, high : DataArray, optional
        The ends of each value's interval.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> grid = xr.DataArray([[0.5, 0.25]], {"layer": [1], "head": [1, 2]}, ("layer", "head"))
    >>> chart = heat_map(grid, title="Mine", unit="share of attention, 0–1", domain=(0, 1))
    >>> chart.to_dict()["layer"][1]["encoding"]["color"]["title"]
    ['share of', 'attention, 0–1']
    """
    ends = {"low": low, "high": high} if low is not None and high is not None else {}
    frame = tidy(xr.Dataset({"value": values, **ends}))
    known = values.values[np.isfinite(values.values)]
    least, most = domain or ((float(known.min()), float(known.max())) if known.size else (0.0, 1.0))
    shown = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("value:Q", format=".3f", title=unit or "value"),
    ]
    if ends:
        shown += [
            alt.Tooltip("low:Q", format=".3f", title="95 % from"),
            alt.Tooltip("high:Q", format=".3f", title="to"),
        ]
    heads, layers = values.sizes["head"], values.sizes["layer"]
    base = head_squares(frame, heads, layers)
    scale = alt.Scale(scheme="viridis", domain=[least, most])
    length = legend_length(heads, layers)
    legend = alt.Legend(gradientLength=length, **legend_ticks(least, most))
    colour = alt.Color("value:Q", scale=scale, title=legend_title(unit), legend=legend)
    marks = coloured(base, colour, shown)
    if heads <= ROOMY:
        marks += numbered(base, (least + most) / 2, shown)
    return styled(alt.layer(*marks), title, subtitle)


def measure_map(results: Atlas, measure: str, title: str, *, unit: str = "", **labels: str) -> Any:
    """Draw the heat map of one statistic of a measure, with intervals.

    Parameters
    ----------
    results : Atlas
        Results that have the measure.
    measure : str
        The measure's name.
    title : str
        Above the map.
    unit : str, optional
        What the values are; by default the measure's own unit. Shares are coloured from 0 to 1.
    **labels : str
        Which statistic of the measure, e.g. ``offset="previous"``.

    Returns
    -------
    altair chart
    """
    data = results[measure]
    own = str(data.attrs.get("unit", ""))
    low, high = interval(data)
    return heat_map(
        data["mean"].sel(labels),
        title=title,
        subtitle=subject(results.provenance),
        unit=unit or unit_text(own),
        domain=SHARES if is_share(own) else None,
        low=low.sel(labels),
        high=high.sel(labels),
    )
