"""A heat map of all heads: x = head, y = layer (1 at the bottom)."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import xarray as xr

from headscope.figures.style import GREY, styled


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
    """One square a head, with its value (and interval) on hover, and printed where there is room. ``values`` has dims layer and head."""
    dataset = xr.Dataset(
        {
            "value": values,
            **({"low": low, "high": high} if low is not None and high is not None else {}),
        }
    )
    frame = dataset.reset_coords(drop=True).to_dataframe().reset_index()
    frame["name"] = frame["layer"].astype(str) + "-" + frame["head"].astype(str)
    layers, heads = values.sizes["layer"], values.sizes["head"]
    size = 34 if heads <= 16 else 20
    known = values.values[np.isfinite(values.values)]
    low_end, high_end = domain or (
        (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    )
    scale = alt.Scale(scheme="viridis", domain=[low_end, high_end])
    shown = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("value:Q", format=".3f", title=unit or "value"),
    ]
    if "low" in frame:
        shown += [
            alt.Tooltip("low:Q", format=".3f", title="95 % from"),
            alt.Tooltip("high:Q", format=".3f", title="to"),
        ]
    base = alt.Chart(frame, width=size * heads, height=size * 0.8 * layers).encode(
        x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("layer:O", title="layer", sort="descending"),
    )
    # Layers of their own for undefined heads: in a colour condition Vega-Lite leaves them out, or gives them the colour of 0.
    defined, undefined = (
        base.transform_filter("isValid(datum.value)"),
        base.transform_filter("!isValid(datum.value)"),
    )
    squares = [
        undefined.mark_rect(color=GREY).encode(tooltip=shown[:1]),
        defined.mark_rect().encode(
            color=alt.Color("value:Q", scale=scale, title=unit), tooltip=shown
        ),
    ]
    if heads > 16:
        return styled(alt.layer(*squares), title, subtitle)
    middle = (low_end + high_end) / 2
    numbers = [
        undefined.mark_text(fontSize=9, text="–", color="#555").encode(tooltip=shown[:1]),
        defined.mark_text(fontSize=9).encode(
            text=alt.Text("value:Q", format=".2f"),
            color=alt.condition(f"datum.value > {middle}", alt.value("black"), alt.value("white")),
            tooltip=shown,  # the number lies over its square and would hide the square's own
        ),
    ]
    return styled(alt.layer(*squares, *numbers), title, subtitle)
