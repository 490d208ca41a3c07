"""Heads that stand out at frame links (Kovaleva et al. 2019, §4.2): those over the 99th percentile of all heads."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import UserError, unknown
from headscope.results import Results, head_name, heads_over

PERCENTILE = 99.0
"""Of the means of all heads, as in the paper."""


def outstanding(values: xr.DataArray, percentile: float = PERCENTILE) -> tuple[float, list[str]]:
    """The percentile of the values of all heads, and the heads over it, the largest first. ``values`` has dims layer and head."""
    if not 0 <= percentile <= 100:
        raise UserError(f"the percentile must lie between 0 and 100, got {percentile} instead")
    known = values.values[np.isfinite(values.values)]
    threshold = float(np.percentile(known, percentile)) if known.size else float("nan")
    return threshold, heads_over(values, threshold)


def frame_table(
    results: Results, *, direction: str = "both", percentile: float = PERCENTILE, count: int = 10
) -> pd.DataFrame:
    """The heads with the largest mean at frame links, with interval, both directions, and whether they are over the percentile of all heads."""
    data = results["frame"]
    known = [str(name) for name in data["direction"].values]
    if direction not in known:
        raise unknown("direction", direction, known)
    chosen = data.sel(direction=direction)
    threshold, over = outstanding(chosen["mean"], percentile)
    rows = []
    for layer in data["layer"].values:
        for head in data["head"].values:
            one = data.sel(layer=layer, head=head)
            mine = one.sel(direction=direction)
            name = head_name(int(layer), int(head))
            row: dict[str, object] = {
                "head": name,
                "mean": float(mine["mean"]),
                "low": float(mine["low"]),
                "high": float(mine["high"]),
            }
            row |= {
                other: float(one["mean"].sel(direction=other))
                for other in known
                if other != direction
            }
            rows.append(
                row | {"percentile": threshold, "over": name in over, "sentences": int(mine["n"])}
            )
    table = pd.DataFrame(rows).dropna(subset="mean")
    return (
        table.sort_values("mean", ascending=False, kind="stable").head(count).reset_index(drop=True)
    )
