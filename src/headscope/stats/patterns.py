"""Shares of the pattern classes (Kovaleva et al. 2019, section 4.1): overall, by layer, by head."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import xarray as xr

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.grid import labelled_head
from headscope.stats.inference import interval

MEASURE = "pattern"
HETEROGENEOUS = {"MRPC": 0.32, "QQP": 0.61}
"""The smallest and the largest share of heterogeneous maps among the GLUE tasks, by the paper."""


def pattern_data(results: Atlas) -> xr.Dataset:
    """The measure ``pattern`` of results.

    Parameters
    ----------
    results
        Results of a survey.

    Raises
    ------
    ResultsError
        If the results have no pattern classes, or of no example.
    """
    if MEASURE not in results.measures:
        raise ResultsError(
            "these results have no pattern classes; they have "
            f"{', '.join(results.measures) or 'no measure at all'}",
            hint='survey with patterns: hs.survey(model, corpus, measures="pattern")',
        )
    data = results[MEASURE]
    if not int(data["n"].max()):
        raise ResultsError(
            "these results have pattern classes of no example: all examples were skipped",
            hint="atlas.provenance says why; use another corpus",
            command="headscope ls RESULTS says why; use another corpus",
        )
    return data


def pattern_shares(results: Atlas) -> pd.DataFrame:
    """The share of each class among all maps: every head on every example.

    Parameters
    ----------
    results
        Results with the measure ``pattern``.

    Returns
    -------
    pandas.DataFrame
        One row per class, with the 95 % interval over documents.
    """
    return _shares(pattern_data(results), ("layer", "head"))


def pattern_layers(results: Atlas) -> pd.DataFrame:
    """The share of each class among the maps of each layer.

    Parameters
    ----------
    results
        Results with the measure ``pattern``.

    Returns
    -------
    pandas.DataFrame
        One row per layer and class, with the 95 % interval over documents.
    """
    return _shares(pattern_data(results), ("head",))


def pattern_heads(results: Atlas) -> pd.DataFrame:
    """The share of inputs on which the map of each head is of each class.

    Parameters
    ----------
    results
        Results with the measure ``pattern``.

    Returns
    -------
    pandas.DataFrame
        One row per head and class, with its 95 % interval over documents.
    """
    data = pattern_data(results)
    whole = xr.Dataset(
        {
            "share": data["mean"],
            "low": data["low"],
            "high": data["high"],
            "examples": data["n"],
        }
    )
    frame = whole.reset_coords(drop=True).to_dataframe().reset_index()
    places = zip(frame["layer"], frame["head"], strict=True)
    frame.insert(0, "name", [str(labelled_head(layer, head)) for layer, head in places])
    return frame


def leading_patterns(results: Atlas) -> pd.DataFrame:
    """The class that the maps of each head are of most often.

    Parameters
    ----------
    results
        Results with the measure ``pattern``.

    Returns
    -------
    pandas.DataFrame
        One row per head, with share and interval; of equally frequent classes the first. Heads
        without any map are skipped.
    """
    known = pattern_heads(results).dropna(subset="share")
    best = known.groupby(["layer", "head"], sort=True)["share"].idxmax()
    return known.loc[best].reset_index(drop=True)


def shares_by_file(files: Mapping[str, Atlas]) -> pd.DataFrame:
    """The shares of several results, one task next to the other as in Figure 2.

    Parameters
    ----------
    files
        Results by name.

    Returns
    -------
    pandas.DataFrame
        One row per file and class.
    """
    tables = [pattern_shares(results).assign(file=name) for name, results in files.items()]
    columns = ["file", MEASURE, "share", "low", "high", "examples"]
    return pd.concat(tables, ignore_index=True)[columns]


def _shares(data: xr.Dataset, over: tuple[str, ...]) -> pd.DataFrame:
    sums, counts = data["sum"].sum(over), data["count"].sum(over)
    share = sums.sum("bucket") / counts.sum("bucket").where(counts.sum("bucket") > 0)
    low, high = interval(sums, counts, "share")
    examples = data["n"].max(over)
    shares = xr.Dataset({"share": share, "low": low, "high": high, "examples": examples})
    return shares.reset_coords(drop=True).to_dataframe().reset_index()
