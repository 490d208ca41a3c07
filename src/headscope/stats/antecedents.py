"""Antecedent accuracy of the best head against three baselines (Clark et al. 2019, Table 2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from headscope.results import Atlas
from headscope.stats.grid import labelled_head
from headscope.stats.tests import correct, paired_sign, wilson

RIGHT = " right"
"""How the labels end that stand for the mentions a baseline gets right."""


def antecedent_table(
    results: Atlas, *, candidates: str = "mentions", correction: str = "holm"
) -> pd.DataFrame:
    """Compare the best head at finding antecedents with the baselines.

    Parameters
    ----------
    results
        Results with the measure ``coreference``.
    candidates
        Where a head may look for an antecedent: ``mentions`` (the head words of earlier mentions)
        or ``words`` (all other words).
    correction
        How p-values are corrected over all heads: holm, bh or none.

    Returns
    -------
    pandas.DataFrame
        One row per baseline, one for the head that is right most often over all mentions, and one
        with the number of mentions; one column per kind of mention. The head has Wilson's interval
        and, against each baseline, the corrected p of a paired one-sided test.
    """
    data = results["coreference"].sel(candidates=candidates)
    right, n = data["sum"].sum("bucket"), data["n"]
    kinds = [str(kind) for kind in data["kind"].values]
    names = [str(name) for name in data["mentions"].values if name != "every"]
    first = n.isel(layer=0, head=0)  # the numbers of mentions are the same for all heads
    total = {kind: int(first.sel(kind=kind, mentions="every")) for kind in kinds}
    rows: list[dict[str, object]] = [
        {"system": name.removesuffix(RIGHT), **_shares(first.sel(mentions=name), total)}
        for name in names
    ]
    every = right.sel(mentions="every", kind="all")
    place = np.unravel_index(int(np.argmax(every.values)), every.shape)
    best = labelled_head(every["layer"][place[0]], every["head"][place[1]])
    mine = right.isel(layer=place[0], head=place[1]).sel(mentions="every")
    low, high = wilson(float(mine.sel(kind="all")), total["all"])
    row: dict[str, object] = {"system": f"head {best}", **_shares(mine, total)}
    row |= {"low": float(low), "high": float(high)}
    for name in names:
        both, baseline = right.sel(mentions=name, kind="all"), n.sel(mentions=name, kind="all")
        p = correct(paired_sign((every - both).values, (baseline - both).values), correction)
        row[f"p over {name.removesuffix(RIGHT)}"] = float(p[place])
    return pd.DataFrame([*rows, row, {"system": "mentions", **total}])


def _shares(right: xr.DataArray, total: Mapping[str, int]) -> dict[str, float]:
    """The share of mentions that are right, by kind; NaN where there are none."""
    return {
        kind: float(right.sel(kind=kind)) / count if count else np.nan
        for kind, count in total.items()
    }
