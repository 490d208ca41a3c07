"""Two results files side by side: by how much each statistic differs, and for how many heads by more than chance."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from headscope.errors import ResultsError
from headscope.results import Results, head_name
from headscope.stats.tests import correct

ALPHA = 0.05
LEAST = 0.001
"""Smaller changes are not counted, however certain: paired tests see the rounding of weights that were stored in half precision."""


def difference_table(first: Results, second: Results, *, alpha: float = ALPHA) -> pd.DataFrame:
    """One row a statistic: the mean over heads of second less first, the heads with the largest rise and fall, and how many heads changed.

    A head counts as changed where Welch's t test of its two means, corrected (Holm) over the heads of the statistic, is below ``alpha``, and by ``LEAST`` or more. Results keep sums, not
    examples, so that runs over the same corpus cannot be paired here: the test is then a careful one. Comparing the models themselves pairs.
    """
    differences = second - first
    shared = [
        name
        for name in first
        if name in differences and {"layer", "head"} <= set(differences[name].dims)
    ]
    if not shared:
        raise ResultsError(
            f"the two results have no measure of heads in common: {', '.join(first.measures) or 'none'}; and {', '.join(second.measures) or 'none'}",
            hint="survey both models with the same measures",
        )
    rows: list[dict[str, object]] = []
    for name in shared:
        rows += _rows(name, differences[name], _welch(first[name], second[name]), alpha)
    return pd.DataFrame(rows)


def paired_table(comparison: Results, *, alpha: float = ALPHA) -> pd.DataFrame:
    """The same for two models that were compared (measures ``NAME-change``): differences are paired by example, and so is the t test."""
    rows: list[dict[str, object]] = []
    for name in comparison:
        if name.endswith("-change"):
            data = comparison[name]
            with np.errstate(all="ignore"):
                t = data["mean"] / (data["deviation"] / np.sqrt(data["n"]))
                p = t.copy(data=2 * stats.t.sf(np.abs(t.values), data["n"].values - 1))
            rows += _rows(name, data["mean"], p, alpha)
    return pd.DataFrame(rows)


def change_table(comparison: Results) -> pd.DataFrame:
    """One row a layer: the mean over its heads of the cosine between the two models' maps, and the head that changed most with its interval."""
    data = comparison["change"]
    rows = []
    for layer in data["layer"].values:
        one = data.sel(layer=layer)
        known = one["mean"].dropna("head")
        row: dict[str, object] = {
            "layer": int(layer),
            "cosine": float(known.mean()) if known.size else np.nan,
        }
        head = known["head"].values[int(known.values.argmin())] if known.size else None
        row["changed most"] = "" if head is None else head_name(int(layer), int(head))
        row |= {
            words: np.nan if head is None else float(one[key].sel(head=head))
            for words, key in (("its cosine", "mean"), ("low", "low"), ("high", "high"))
        }
        rows.append(row | {"examples": int(one["n"].max())})
    return pd.DataFrame(rows)


def _rows(
    name: str, differences: xr.DataArray, p: xr.DataArray, alpha: float
) -> list[dict[str, object]]:
    """One row a label of a measure."""
    (labels, change), (_, chance) = _by_head(differences), _by_head(p)
    heads = [
        head_name(int(layer), int(head))
        for layer, head in product(differences["layer"].values, differences["head"].values)
    ]
    rows = []
    for column, label in enumerate(labels):
        values = change[:, column]
        known = np.flatnonzero(np.isfinite(values))
        row: dict[str, object] = {
            "measure": name,
            "of": label,
            "mean change": float(values[known].mean()) if known.size else np.nan,
        }
        for words, order in (("rise", -values[known]), ("fall", values[known])):
            place = known[order.argmin()] if known.size else None
            row[f"largest {words}"] = "" if place is None else heads[place]
            row[f"{words} by"] = np.nan if place is None else float(values[place])
        rows.append(
            row
            | {
                "heads changed": int(
                    ((correct(chance[:, column]) < alpha) & (np.abs(values) >= LEAST)).sum()
                ),
                "heads": int(known.size),
            }
        )
    return rows


def same_examples(first: Results, second: Results) -> bool:
    """Whether both runs saw the same examples, cut alike."""
    one, other = first.provenance, second.provenance
    settings = [
        {key: about["settings"].get(key) for key in ("max_length", "long", "limit")}
        for about in (one, other)
    ]
    return bool(one["corpus"]["sha256"] == other["corpus"]["sha256"] and settings[0] == settings[1])


def _welch(first: xr.Dataset, second: xr.Dataset) -> xr.DataArray:
    """p of the two means being the same; NaN below two values, and where neither spreads."""
    arguments = [
        np.asarray(data[key].values, np.float64)
        for data in (first, second)
        for key in ("mean", "deviation", "n")
    ]
    with np.errstate(all="ignore"):
        found = stats.ttest_ind_from_stats(*arguments, equal_var=False)
    return first["mean"].copy(data=np.asarray(found.pvalue))


def _by_head(values: xr.DataArray) -> tuple[list[str], NDArray[np.float64]]:
    """The labels of a measure, those of several dimensions joined, and its values, (head, label)."""
    dims = [str(dim) for dim in values.dims if dim not in ("layer", "head")]
    labels = [
        ", ".join(str(part) for part in parts)
        for parts in product(*(values[dim].values for dim in dims))
    ]
    ordered = values.transpose("layer", "head", *dims)
    return labels, np.asarray(ordered.values, np.float64).reshape(-1, len(labels))
