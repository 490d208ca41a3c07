"""Heads beside null models: the band of the null model, and how many heads are beyond it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError, UserError
from headscope.labels import label_text, map_measure
from headscope.results import Atlas
from headscope.results.query import split_value
from headscope.results.schema import GRID, label_dims, of_heads, values_of
from headscope.results.summary import says_the_same
from headscope.stats.query import head_values

BAND = (0.025, 0.975)
"""The band of a null model: from this to that quantile of its heads."""
SKIPPED = frozenset({"dependency", "work", "spread", "sink_places", "arc", "profile"})
"""Measures without a value that could be compared head by head."""
COLUMNS = ("measure", "label", "statistic", "null", "heads", "mean", "null_mean", "low", "high",
           "above", "below", "beyond")  # fmt: skip
Array = NDArray[np.float64]


def null_table(results: Atlas) -> pd.DataFrame:
    """Every statistic beside the same statistic of the null models.

    Parameters
    ----------
    results
        Results of a survey with null models: ``hs.survey(..., null=["random-weights"])``.

    Returns
    -------
    pandas.DataFrame
        One row per statistic and null model: ``mean`` over the heads of the model and
        ``null_mean`` over those of the null model; the band ``low`` … ``high`` that holds the
        middle 95 % of the null model's heads; how many of the model's ``heads`` are ``above`` and
        ``below`` it; and ``beyond``, the share of either. By definition about 5 % of the null
        model's own heads are beyond it. Statistics that are the same for all heads of both are
        left out.

    Raises
    ------
    ResultsError
        If the results have no null models.

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks.", "A cat sleeps."]
    >>> atlas = hs.survey("demo", texts, measures="position", null="random-weights")
    >>> table = null_table(atlas)
    >>> table["label"].tolist(), bool(table.loc[0, "beyond"] > 0.5)
    (['previous', 'current', 'next'], True)
    """
    check_has_nulls(results)
    rows = []
    for null, other in results.nulls.items():
        for name in results:
            if name in other and map_measure(name) not in SKIPPED and of_heads(results[name]):
                rows += _rows(name, results[name], other[name], null)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def null_bands(results: Atlas, value: str) -> pd.DataFrame:
    """The bands of the null models for one value of a query.

    Parameters
    ----------
    results
        Results of a survey with null models.
    value
        Such as ``"position:previous"``.

    Returns
    -------
    pandas.DataFrame
        One row per null model that has the value: ``null``, ``low`` and ``high``.

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks.", "A cat sleeps."]
    >>> atlas = hs.survey("demo", texts, measures="position", null="random-weights")
    >>> bands = null_bands(atlas, "position:previous")
    >>> bool((bands["low"] < bands["high"]).all())
    True
    """
    check_has_nulls(results)
    head_values(results, split_value(value))  # what is wrong with the value is said here
    rows = bands_of(results, split_value(value))
    return pd.DataFrame(rows, columns=["null", "low", "high"])


def bands_of(results: Atlas, value: Sequence[str]) -> list[dict[str, Any]]:
    """The bands of null models for a value, given as measure and labels."""
    rows = []
    for null, other in results.nulls.items():
        try:
            found = head_values(other, value)[0]["value"].values
        except UserError:  # a label that only the real survey has
            continue
        low, high = band(found)
        rows.append({"null": null, "low": low, "high": high})
    return rows


def band(values: NDArray[np.floating]) -> tuple[float, float]:
    """The quantiles of the heads of a null model between which the middle 95 % of them are.

    Examples
    --------
    >>> band(np.arange(101.0))
    (2.5, 97.5)
    """
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    if not len(known):
        return np.nan, np.nan
    low, high = np.quantile(known, BAND)
    return float(low), float(high)


def check_has_nulls(results: Atlas) -> None:
    """Refuse results without null models."""
    if not results.nulls:
        raise ResultsError(
            "these results have no null models to compare with",
            hint="survey again: hs.survey(model, corpus, null='random-weights')",
        )


def _rows(name: str, data: xr.Dataset, other: xr.Dataset, null: str) -> list[dict[str, object]]:
    """The rows of one measure: labels that both have."""
    own = label_dims(data)
    mine = values_of(data).transpose(*own, *GRID)
    theirs = values_of(other).transpose(*own, *GRID)
    attributes = {str(key): str(text) for key, text in data.attrs.items()}
    shared = [[one for one in data[dim].values if one in other[dim].values] for dim in own]
    places = pd.MultiIndex.from_product(shared, names=own) if own else [()]
    rows = []
    for place in places:
        labels: Mapping[str, object] = dict(zip(own, place, strict=True))
        repeated = says_the_same(name, values_of(data), labels)
        if repeated or (attributes.get("kind") == "share" and "every" not in labels.values()):
            continue  # or kept for a paired test
        row = _compared(mine.sel(labels).values, theirs.sel(labels).values)
        if row is not None:
            texts = {dim: str(label) for dim, label in labels.items()}
            about = {"measure": name, "label": ", ".join(texts.values()), "null": null}
            rows.append(about | {"statistic": label_text(name, texts, attributes)} | row)
    return rows


def _compared(values: Array, null: Array) -> dict[str, object] | None:
    """The heads of a model beside those of a null model; None where nothing can be said."""
    mine, theirs = values[np.isfinite(values)], null[np.isfinite(null)]
    if not len(mine) or not len(theirs) or np.ptp(np.concatenate([mine, theirs])) == 0:
        return None
    low, high = band(theirs)
    above, below = int((mine > high).sum()), int((mine < low).sum())
    return {
        "heads": len(mine),
        "mean": float(mine.mean()),
        "null_mean": float(theirs.mean()),
        "low": low,
        "high": high,
        "above": above,
        "below": below,
        "beyond": (above + below) / len(mine),
    }
