"""Heads that stand out at frame links (Kovaleva et al. 2019, section 4.2).

The paper marks the heads whose mean is over the 99th percentile of all heads.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import UserError, unknown
from headscope.heads import Head
from headscope.results import Atlas
from headscope.stats.grid import heads_over, labelled_head

PERCENTILE = 99.0
"""Of the means of all heads, as in the paper."""


def outstanding(values: xr.DataArray, percentile: float = PERCENTILE) -> tuple[float, list[Head]]:
    """The heads over a percentile of all heads.

    Parameters
    ----------
    values
        One value per head, with dims layer and head; NaN where it is not defined.
    percentile
        Between 0 and 100.

    Returns
    -------
    float
        The percentile of the values; NaN where none is defined.
    list of Head
        The heads over it, the largest first.

    Raises
    ------
    UserError
        If the percentile is not between 0 and 100.

    Examples
    --------
    >>> grid = xr.DataArray([[0.1, 0.2, 0.9]], {"layer": [1], "head": [1, 2, 3]}, ("layer", "head"))
    >>> threshold, heads = outstanding(grid, 50)
    >>> threshold, [str(head) for head in heads]
    (0.2, ['1-3'])
    """
    if not 0 <= percentile <= 100:
        raise UserError(
            f"the percentile must be between 0 and 100, got {percentile} instead",
            hint=f"the paper's is {PERCENTILE:g}",
        )
    known = values.values[np.isfinite(values.values)]
    threshold = float(np.percentile(known, percentile)) if known.size else float("nan")
    return threshold, heads_over(values, threshold)


def frame_table(
    results: Atlas, *, direction: str = "both", percentile: float = PERCENTILE, top: int = 10
) -> pd.DataFrame:
    """The heads that attend most along frame links.

    Parameters
    ----------
    results
        Results with the measure ``frame``.
    direction
        Which way of a link heads are sorted by: both, target to element, or element to target.
    percentile
        Heads over this percentile of all heads are marked.
    top
        How many heads to show.

    Returns
    -------
    pandas.DataFrame
        One row per head, the largest mean first: mean with interval, the means of the other
        directions, the percentile, whether the head is over it, and the number of sentences.

    Raises
    ------
    UserError
        If there is no such direction.
    """
    data = results["frame"]
    directions = [str(name) for name in data["direction"].values]
    if direction not in directions:
        raise unknown("direction", direction, directions)
    threshold, over = outstanding(data["mean"].sel(direction=direction), percentile)
    rows = []
    for layer in data["layer"].values:
        for number in data["head"].values:
            one = data.sel(layer=layer, head=number)
            mine = one.sel(direction=direction)
            head = labelled_head(layer, number)
            row: dict[str, object] = {"head": str(head)}
            row |= {key: float(mine[key]) for key in ("mean", "low", "high")}
            for other in directions:
                if other != direction:
                    row[other] = float(one["mean"].sel(direction=other))
            row |= {"percentile": threshold, "over": head in over, "sentences": int(mine["n"])}
            rows.append(row)
    table = pd.DataFrame(rows).dropna(subset="mean")
    ordered = table.sort_values("mean", ascending=False, kind="stable")
    return ordered.head(top).reset_index(drop=True)
