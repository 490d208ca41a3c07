"""Attention from [CLS] to linguistic features (Kovaleva et al. 2019, Figure 7)."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from headscope.figures.grids import SPECIAL
from headscope.figures.squares import ROOMY, coloured, numbered, square_side
from headscope.figures.style import legend_ticks, legend_title, styled, subject
from headscope.figures.tidy import unit_text
from headscope.results import Atlas

START = "cls to "
"""How the links from [CLS] begin."""
ROW = 26


def from_cls(results: Atlas) -> Any:
    """Draw heads by features for the last layer."""
    last = results.mean("link").isel(layer=-1)
    frame = cls_frame(last)
    order = list(dict.fromkeys(frame["feature"]))
    known = frame["value"].to_numpy()[np.isfinite(frame["value"])]
    most = float(known.max()) if known.size and known.max() > 0 else 1.0
    unit, heads = unit_text("share of attention"), last.sizes["head"]
    base = alt.Chart(frame, width=square_side(heads) * heads, height=ROW * len(order)).encode(
        x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("feature:N", sort=order, title=None),
    )
    shown = [
        alt.Tooltip("feature:N"),
        alt.Tooltip("head:O"),
        alt.Tooltip("value:Q", format=".3f", title=unit),
    ]
    scale = alt.Scale(scheme="viridis", domain=[0, most])
    legend = alt.Legend(**legend_ticks(0.0, most))
    colour = alt.Color("value:Q", scale=scale, title=legend_title(unit), legend=legend)
    marks = coloured(base, colour, shown)
    if heads <= ROOMY:
        marks += numbered(base, most / 2, shown)
    layer = int(last["layer"])
    title = f"Attention from [CLS] in the last layer ({layer})"
    return styled(alt.layer(*marks), title, subject(results.provenance))


def cls_frame(last: xr.DataArray) -> pd.DataFrame:
    """List the attention from [CLS] by head and feature.

    Parameters
    ----------
    last : DataArray
        The measure ``link`` of one layer, with dims head and link.

    Returns
    -------
    DataFrame
        One row per head and feature: head, feature, value.
    """
    names = [str(link) for link in last["link"].values if str(link).startswith(START)]
    values = last.sel(link=names).reset_coords(drop=True)
    frame = values.to_dataframe(name="value").reset_index()
    features = frame["link"].str.removeprefix(START)
    return frame.assign(feature=features.map(lambda name: SPECIAL.get(name, name)))
