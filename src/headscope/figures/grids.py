"""Small heat maps of all heads beside each other, one for each label of a measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import xarray as xr

from headscope.figures.squares import coloured
from headscope.figures.style import legend_ticks, styled, subject
from headscope.figures.tidy import tidy, unit_text
from headscope.results import Atlas

SPECIAL = {"cls": "[CLS]", "sep": "[SEP]"}
"""How special tokens are written."""
WIDTH = 180
"""Pixels of a small map at most."""


def heat_grid(
    values: xr.DataArray,
    dim: str,
    *,
    title: str,
    subtitle: str = "",
    unit: str = "",
    diverging: bool = False,
    columns: int = 4,
) -> Any:
    """Draw a small heat map of all heads for each label of a dimension.

    Labels may differ by orders of magnitude, so each map has its own colour scale.

    Parameters
    ----------
    values : DataArray
        With dims layer, head and ``dim``.
    dim : str
        The dimension whose labels get a map each.
    title, subtitle : str
        Above the figure.
    unit : str
        What the values are.
    diverging : bool
        Whether values are differences: then each colour scale is centred on 0.
    columns : int
        How many maps stand in a row.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> labels = {"layer": [1], "head": [1, 2], "feature": ["noun"]}
    >>> values = xr.DataArray([[[0.1], [0.2]]], labels, tuple(labels))
    >>> [part.title.text for part in heat_grid(values, "feature", title="Features").concat]
    ['noun']
    """
    charts = [
        _small(values.sel({dim: label}), str(label), unit, diverging=diverging)
        for label in values[dim].values
    ]
    grid = alt.concat(*charts, columns=columns, spacing=22).resolve_scale(color="independent")
    scales = "each map has its own colour scale"
    return styled(grid, title, subtitle, f"{unit}; {scales}" if unit else scales)


def measure_grid(
    results: Atlas, measure: str, title: str, *, labels: Sequence[str] = (), columns: int = 4
) -> Any:
    """Draw small heat maps of a measure that has one dimension of its own.

    Parameters
    ----------
    results : Atlas
        Results that have the measure.
    measure : str
        Its name. The change of a measure from one model to another gets diverging colours.
    title : str
        Above the figure.
    labels : sequence of str
        The labels to draw; by default all.
    columns : int
        How many maps stand in a row.

    Returns
    -------
    altair chart
    """
    data = results[measure]
    values = data["mean"]
    dim = next(str(dim) for dim in values.dims if dim not in ("layer", "head"))
    return heat_grid(
        values.sel({dim: list(labels)}) if labels else values,
        dim,
        title=title,
        subtitle=subject(results.provenance),
        unit=unit_text(str(data.attrs.get("unit", "share of attention"))),
        diverging=measure.endswith("-change"),
        columns=columns,
    )


def _small(values: xr.DataArray, label: str, unit: str, *, diverging: bool) -> Any:
    """Draw one map with its own legend."""
    known = np.abs(values.values[np.isfinite(values.values)])
    most = float(known.max()) if known.size and known.max() > 0 else 1.0
    scale = (
        alt.Scale(scheme="purpleorange", domain=[-most, most], domainMid=0)
        if diverging
        else alt.Scale(scheme="viridis", domain=[0, most])
    )
    heads, layers = values.sizes["head"], values.sizes["layer"]
    side = max(4, min(15, WIDTH // heads))
    small: dict[str, Any] = {"labelFontSize": 8, "labelOverlap": True}
    base = alt.Chart(tidy(values), width=side * heads, height=side * layers).encode(
        x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0, **small)),
        y=alt.Y("layer:O", title="layer", sort="descending", axis=alt.Axis(**small)),
    )
    legend = alt.Legend(
        title=None,
        gradientLength=side * layers,
        gradientThickness=8,
        labelFontSize=8,
        offset=6,
        **legend_ticks(-most if diverging else 0.0, most),
    )
    shown = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("value:Q", format="+.4f" if diverging else ".4f", title=unit),
    ]
    colour = alt.Color("value:Q", scale=scale, legend=legend)
    heading = alt.TitleParams(SPECIAL.get(label, label), fontSize=11, anchor="middle")
    return alt.layer(*coloured(base, colour, shown)).properties(title=heading)
