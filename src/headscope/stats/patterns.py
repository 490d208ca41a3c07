"""Shares of the pattern classes (Kovaleva et al. 2019, §4.1, Fig. 2): over all heads, by layer, and head by head."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from headscope.errors import ResultsError
from headscope.results import Results, head_name
from headscope.results.moments import CONFIDENCE, wilson

MEASURE = "pattern"
HETEROGENEOUS = {"MRPC": 0.32, "QQP": 0.61}
"""What the paper says in words of its Figure 2: the least and the largest share of heterogeneous maps among the GLUE tasks."""


def pattern_data(results: Results) -> xr.Dataset:
    """The pattern measure of results that have it and saw an example."""
    if MEASURE not in results.measures:
        raise ResultsError(
            f"these results have no pattern classes: they have {', '.join(results.measures) or 'nothing'}",
            hint="headscope survey MODEL CORPUS --measure pattern -o patterns.nc",
        )
    data = results[MEASURE]
    if not int(data["n"].max()):
        raise ResultsError(
            "these results have pattern classes of no example: all were left out",
            hint="headscope ls RESULTS says why; give another corpus",
        )
    return data


def pattern_shares(results: Results) -> pd.DataFrame:
    """One row a class: its share of all maps (every head on every example), and its 95 % interval by block jackknife."""
    return _shares(pattern_data(results), ("layer", "head"))


def pattern_layers(results: Results) -> pd.DataFrame:
    """One row a layer and class: its share of the layer's maps, and its 95 % interval by block jackknife."""
    return _shares(pattern_data(results), ("head",))


def pattern_heads(results: Results) -> pd.DataFrame:
    """One row a head and class: on which share of inputs the head's map is of the class, with Wilson's 95 % interval."""
    data = pattern_data(results)
    low, high = wilson(data["sum"].sum("block").values, data["n"].values)
    whole = xr.Dataset(
        {
            "share": data["mean"],
            "low": data["mean"].copy(data=low),
            "high": data["mean"].copy(data=high),
            "examples": data["n"],
        }
    )
    frame = whole.reset_coords(drop=True).to_dataframe().reset_index()
    frame.insert(
        0,
        "name",
        [head_name(layer, head) for layer, head in zip(frame["layer"], frame["head"], strict=True)],
    )
    return frame


def leading_patterns(results: Results) -> pd.DataFrame:
    """One row a head: the class that its maps are of most often (of equal ones the first), with its share and interval. Heads without a map are left out."""
    known = pattern_heads(results).dropna(subset="share")
    best = known.groupby(["layer", "head"], sort=True)["share"].idxmax()
    return known.loc[best].reset_index(drop=True)


def shares_by_file(files: Mapping[str, Results]) -> pd.DataFrame:
    """The shares of several results, a row a file and class: one task beside the other, as in Figure 2."""
    return pd.concat(
        [pattern_shares(results).assign(file=name) for name, results in files.items()],
        ignore_index=True,
    )[["file", MEASURE, "share", "low", "high", "examples"]]


def _shares(data: xr.Dataset, over: tuple[str, ...]) -> pd.DataFrame:
    sums, counts = data["sum"].sum(over), data["count"].sum(over)
    share = sums.sum("block") / counts.sum("block").where(counts.sum("block") > 0)
    error = jackknife(sums, counts)
    low, high = (share - error).clip(min=0.0), (share + error).clip(max=1.0)
    examples = data["n"].max(over)
    return (
        xr.Dataset({"share": share, "low": low, "high": high, "examples": examples})
        .reset_coords(drop=True)
        .to_dataframe()
        .reset_index()
    )


def jackknife(
    sums: xr.DataArray, counts: xr.DataArray, confidence: float = CONFIDENCE
) -> xr.DataArray:
    """Half the width of the interval of sum / count when one block after the other is left out; NaN below two blocks.

    Maps of one example depend on each other, examples of different batches do not, and every batch lies in one block. Blocks differ in size: this is the
    delete-m jackknife (Busing, Meijer and van der Leeden 1999), whose pseudo-values for a mean are the blocks' own means. Batches hold examples of like length, so
    that blocks differ a little more than by chance, and the interval is rather too wide than too narrow.
    """
    filled = counts.where(counts > 0)
    blocks = filled.notnull().sum("block")
    total = counts.sum("block")
    centre = sums.sum("block") / total.where(total > 0)
    terms = (sums / filled - centre) ** 2 / (total / filled - 1.0).where(filled < total)
    variance = terms.sum("block") / blocks.where(blocks > 1)
    factor = xr.apply_ufunc(
        lambda degrees: stats.t.ppf(0.5 + confidence / 2, degrees), blocks.where(blocks > 1) - 1.0
    )
    half: xr.DataArray = factor * np.sqrt(variance)
    return half
