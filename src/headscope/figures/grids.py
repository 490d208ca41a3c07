"""Small heat maps of all heads beside each other, one for each label of a measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt
import numpy as np
import xarray as xr

from headscope.errors import unknown
from headscope.figures.squares import coloured
from headscope.figures.style import legend_ticks, legend_title, styled, subject
from headscope.figures.tidy import tidy, unit_text
from headscope.results import Atlas

SPECIAL = {"cls": "[CLS]", "sep": "[SEP]"}
"""How special tokens are written."""
WIDTH = 180
"""Pixels of a small map at most."""
Scale = Literal["one", "each"]
SCALES: tuple[Scale, ...] = ("one", "each")
"""One colour scale for all maps, or one for each."""


def heat_grid(
    values: xr.DataArray,
    dim: str,
    *,
    title: str,
    subtitle: str = "",
    unit: str = "",
    diverging: bool = False,
    columns: int = 4,
    scale: Scale = "each",
    least: float = 0.0,
    framed: xr.DataArray | None = None,
) -> Any:
    """Draw a small heat map of all heads for each label of a dimension.

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
    scale : {"each", "one"}
        Whether each map has its own colour scale, or all have one. With one, maps can be compared,
        and labels that differ by orders of magnitude look as different as they are.
    least : float
        Where the colour scale begins, unless it is diverging.
    framed : DataArray, optional
        True for the heads to be framed, with the dims of ``values``.

    Returns
    -------
    altair chart

    Raises
    ------
    UserError
        If there is no such scale.

    Examples
    --------
    >>> labels = {"layer": [1], "head": [1, 2], "feature": ["noun"]}
    >>> values = xr.DataArray([[[0.1], [0.2]]], labels, tuple(labels))
    >>> [part.title.text for part in heat_grid(values, "feature", title="Features").concat]
    ['noun']
    """
    if scale not in SCALES:
        raise unknown("colour scale", scale, SCALES)
    shared = scale == "one"
    charts = []
    for label in values[dim].values:
        one = values.sel({dim: label})
        domain = _domain(values if shared else one, least, diverging=diverging)
        chart = _small(one, str(label), unit, domain, diverging=diverging, shared=shared)
        if framed is not None:
            chart = chart + _frames(framed.sel({dim: label}))
        charts.append(chart)
    grid = alt.concat(*charts, columns=columns, spacing=22)
    grid = grid.resolve_scale(color="shared" if shared else "independent")
    scales = "all maps have one colour scale" if shared else "each map has its own colour scale"
    return styled(grid, title, subtitle, f"{unit}; {scales}" if unit else scales)


def measure_grid(
    results: Atlas,
    measure: str,
    title: str,
    *,
    labels: Sequence[str] = (),
    columns: int = 4,
    scale: Scale | None = None,
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
    scale : {"one", "each"}, optional
        See :func:`heat_grid`. By default changes have one colour scale, and other values one each.

    Returns
    -------
    altair chart
    """
    data = results[measure]
    values = data["mean"]
    dim = next(str(dim) for dim in values.dims if dim not in ("layer", "head"))
    change = measure.endswith("-change")
    return heat_grid(
        values.sel({dim: list(labels)}) if labels else values,
        dim,
        title=title,
        subtitle=subject(results.provenance),
        unit=unit_text(str(data.attrs.get("unit", "share of attention"))),
        diverging=change,
        columns=columns,
        scale=scale or ("one" if change else "each"),
    )


def _domain(values: xr.DataArray, least: float, *, diverging: bool) -> tuple[float, float]:
    """The ends of a colour scale."""
    known = values.values[np.isfinite(values.values)]
    if diverging:
        most = float(np.abs(known).max()) if known.size else 0.0
        return (-most, most) if most > 0 else (-1.0, 1.0)
    most = float(known.max()) if known.size else 0.0
    return least, most if most > least else least + 1.0


def _small(
    values: xr.DataArray,
    label: str,
    unit: str,
    domain: tuple[float, float],
    *,
    diverging: bool,
    shared: bool,
) -> Any:
    """Draw one map, with its own legend or with that of all."""
    scheme = "purpleorange" if diverging else "viridis"
    middle = {"domainMid": 0} if diverging else {}
    scale = alt.Scale(scheme=scheme, domain=list(domain), **middle)
    heads, layers = values.sizes["head"], values.sizes["layer"]
    side = max(4, min(15, WIDTH // heads))
    small: dict[str, Any] = {"labelFontSize": 8, "labelOverlap": True}
    base = alt.Chart(tidy(values), width=side * heads, height=side * layers).encode(
        x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0, **small)),
        y=alt.Y("layer:O", title="layer", sort="descending", axis=alt.Axis(**small)),
    )
    legend = alt.Legend(
        title=legend_title(unit) if shared and unit else None,
        gradientLength=max(90, side * layers) if shared else side * layers,
        gradientThickness=8,
        labelFontSize=8,
        offset=6,
        **legend_ticks(*domain),
    )
    shown = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("value:Q", format="+.4f" if diverging else ".4f", title=unit),
    ]
    colour = alt.Color("value:Q", scale=scale, legend=legend)
    heading = alt.TitleParams(SPECIAL.get(label, label), fontSize=11, anchor="middle")
    return alt.layer(*coloured(base, colour, shown)).properties(title=heading)


def _frames(framed: xr.DataArray) -> Any:
    """Draw a frame around chosen heads."""
    frame = tidy(framed)
    base = alt.Chart(frame[frame["value"].astype(bool)][["layer", "head"]])
    return base.mark_rect(filled=False, stroke="black", strokeWidth=1.5).encode(
        x=alt.X("head:O", title="head"), y=alt.Y("layer:O", title="layer", sort="descending")
    )
