"""Means, deviations and intervals from the sums that a measure keeps: no second pass over the
corpus is ever needed.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

CONFIDENCE = 0.95


def mean(total: xr.DataArray, count: xr.DataArray) -> xr.DataArray:
    """total / count, NaN where nothing was counted.

    >>> mean(xr.DataArray([6.0, 0.0]), xr.DataArray([3, 0])).values.tolist()
    [2.0, nan]
    """
    return (total / count.where(count > 0)).astype(np.float64)


def deviation(total: xr.DataArray, square: xr.DataArray, count: xr.DataArray) -> xr.DataArray:
    """The sample standard deviation (n-1), NaN below two values."""
    many = count.where(count > 1)
    spread = (square - total**2 / many) / (many - 1)
    return spread.clip(min=0.0) ** 0.5


def interval(
    total: xr.DataArray, square: xr.DataArray, count: xr.DataArray, confidence: float = CONFIDENCE
) -> tuple[xr.DataArray, xr.DataArray]:
    """Student's t interval of the mean over examples; NaN below two values."""
    centre = mean(total, count)
    error = deviation(total, square, count) / np.sqrt(count.where(count > 1))
    factor = xr.apply_ufunc(
        lambda degrees: stats.t.ppf(0.5 + confidence / 2, degrees), count.where(count > 1) - 1.0
    )
    return centre - factor * error, centre + factor * error


def wilson(
    right: ArrayLike, count: ArrayLike, confidence: float = CONFIDENCE
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson's interval of a share of right answers; NaN where nothing was counted.

    >>> [round(float(bound), 3) for bound in wilson(9, 10)]
    [0.596, 0.982]
    """
    right, count = np.asarray(right, float), np.asarray(count, float)
    safe = np.where(count > 0, count, 1.0)
    low, high = proportion_confint(
        np.where(count > 0, right, 0.0), safe, alpha=1 - confidence, method="wilson"
    )
    share = right / safe  # rounding may put a bound of 0 or 1 a hair inside it
    return np.where(count > 0, np.minimum(low, share), np.nan), np.where(
        count > 0, np.maximum(high, share), np.nan
    )


def derive(sums: xr.Dataset, confidence: float = CONFIDENCE) -> xr.Dataset:
    """Add mean, low, high and deviation over all blocks to a dataset of sum, square and count by
    block.
    """
    whole = sums[["sum", "square", "count"]].sum("bucket")
    if sums.attrs.get("kind") == "share":  # what is averaged are right answers, not examples
        low, high = (
            whole["sum"].copy(data=bound)
            for bound in wilson(whole["sum"].values, whole["count"].values, confidence)
        )
    else:
        low, high = interval(whole["sum"], whole["square"], whole["count"], confidence)
        if str(sums.attrs.get("unit", "")).startswith("share"):
            low, high = low.clip(min=0.0), high.clip(max=1.0)
    return sums.assign(
        mean=mean(whole["sum"], whole["count"]),
        deviation=deviation(whole["sum"], whole["square"], whole["count"]),
        low=low,
        high=high,
        n=whole["count"],
    )


def pearson_interval(
    value: ArrayLike, count: int, confidence: float = CONFIDENCE
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fisher's interval of a correlation of ``count`` pairs; NaN below four.

    >>> [round(float(bound), 3) for bound in pearson_interval(0.5, 103)]
    [0.339, 0.632]
    """
    value = np.asarray(value, float)
    if count < 4:
        return np.full_like(value, np.nan), np.full_like(value, np.nan)
    half = stats.norm.ppf(0.5 + confidence / 2) / np.sqrt(count - 3)
    centre = np.arctanh(np.clip(value, -1 + 1e-15, 1 - 1e-15))
    return np.tanh(centre - half), np.tanh(centre + half)
