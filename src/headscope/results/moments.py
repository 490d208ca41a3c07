"""Means, deviations and intervals from the sums that a measure keeps: no second pass over the
corpus is ever needed.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
CONFIDENCE = 0.95
ROUNDING = 1e-5
"""A mean of float32 shares may be so far above 1 by rounding. What is further outside is shown: it
is no share, and hiding that would be wrong."""


def mean(total: Numbers, count: Numbers) -> Numbers:
    """total / count, NaN where nothing was counted.

    >>> mean(np.array([6.0, 0.0]), np.array([3.0, 0.0])).tolist()
    [2.0, nan]
    """
    return total / np.where(count > 0, count, np.nan)


def deviation(total: Numbers, square: Numbers, count: Numbers) -> Numbers:
    """The sample standard deviation (n-1), NaN below two values."""
    many = np.where(count > 1, count, np.nan)
    spread: Numbers = (square - total**2 / many) / (many - 1)
    return spread.clip(min=0.0) ** 0.5


def interval(
    total: Numbers, square: Numbers, count: Numbers, confidence: float = CONFIDENCE
) -> tuple[Numbers, Numbers]:
    """Student's t interval of the mean over examples; NaN below two values."""
    from scipy.special import stdtrit  # slow to import

    many = np.where(count > 1, count, np.nan)
    centre = mean(total, count)
    error = deviation(total, square, count) / np.sqrt(many)
    factor = stdtrit(many - 1.0, 0.5 + confidence / 2)
    return centre - factor * error, centre + factor * error


def wilson(
    right: ArrayLike, count: ArrayLike, confidence: float = CONFIDENCE
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson's interval of a share of right answers; NaN where nothing was counted.

    >>> [round(float(bound), 3) for bound in wilson(9, 10)]
    [0.596, 0.982]
    """
    from statsmodels.stats.proportion import proportion_confint  # slow to import

    right, count = np.asarray(right, float), np.asarray(count, float)
    safe = np.where(count > 0, count, 1.0)
    low, high = proportion_confint(
        np.where(count > 0, right, 0.0), safe, alpha=1 - confidence, method="wilson"
    )
    share = right / safe  # rounding may put a bound of 0 or 1 a hair inside it
    return np.where(count > 0, np.minimum(low, share), np.nan), np.where(
        count > 0, np.maximum(high, share), np.nan
    )


def is_share(data: xr.Dataset) -> bool:
    """Whether the values of a group lie between 0 and 1, by its attributes."""
    return data.attrs.get("kind") == "share" or str(data.attrs.get("unit", "")).startswith("share")


def _unrounded(share: Numbers) -> Numbers:
    """A share that rounding has put a hair outside 0 to 1, at the end; any other as it is."""
    inside = share.clip(0.0, 1.0)
    return np.where(abs(share - inside) < ROUNDING, inside, share)


def derive(sums: xr.Dataset, confidence: float = CONFIDENCE) -> xr.Dataset:
    """Add what follows from sums to a dataset of sum, square and count by bucket.

    Parameters
    ----------
    sums
        The sums. The attribute ``kind`` "share" says that right answers were counted; a ``unit``
        that begins with "share" that all values lie between 0 and 1.
    confidence
        Of the interval.

    Returns
    -------
    xarray.Dataset
        The same with mean, low, high, deviation and n. The interval of a share lies between 0
        and 1.

    Examples
    --------
    >>> parts = {"sum": 3.9, "square": 3.85, "count": 4}
    >>> sums = xr.Dataset({name: ("bucket", [part]) for name, part in parts.items()})
    >>> round(float(derive(sums)["high"]), 3)
    1.175
    >>> float(derive(sums.assign_attrs(unit="share of attention"))["high"])
    1.0
    """
    whole = sums[["sum", "square", "count"]].sum("bucket")
    total, square, count = (whole[name].values.astype(float) for name in whole)
    centre = mean(total, count)
    if sums.attrs.get("kind") == "share":  # what is averaged are right answers, not examples
        low, high = wilson(total, count, confidence)
    else:
        low, high = interval(total, square, count, confidence)
    if is_share(sums):
        low, high, centre = low.clip(0.0, 1.0), high.clip(0.0, 1.0), _unrounded(centre)
    found = {
        "mean": centre,
        "deviation": deviation(total, square, count),
        "low": low,
        "high": high,
        "n": whole["count"].values,
    }
    dims = whole["count"].dims
    return sums.assign({name: (dims, values) for name, values in found.items()})


def pearson_interval(
    value: ArrayLike, count: int, confidence: float = CONFIDENCE
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fisher's interval of a correlation of ``count`` pairs; NaN below four.

    >>> [round(float(bound), 3) for bound in pearson_interval(0.5, 103)]
    [0.339, 0.632]
    """
    from scipy.special import ndtri  # slow to import

    value = np.asarray(value, float)
    if count < 4:
        return np.full_like(value, np.nan), np.full_like(value, np.nan)
    half = ndtri(0.5 + confidence / 2) / np.sqrt(count - 3)
    centre = np.arctanh(np.clip(value, -1 + 1e-15, 1 - 1e-15))
    return np.tanh(centre - half), np.tanh(centre + half)
