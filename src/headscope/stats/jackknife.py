"""Intervals and tests that respect documents: sums are kept in buckets of whole documents, and one
bucket after the other is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from headscope.results.moments import CONFIDENCE

Array = NDArray[Any]
FEW = 20
"""Intervals from fewer buckets are rough: 30 documents fill about 20 of 32 buckets."""


def jackknife_error(sums: xr.DataArray, counts: xr.DataArray) -> xr.DataArray:
    """The standard error of sum / count, by leaving out one bucket after the other.

    Maps of one example depend on each other, and so do examples of one document; documents do not,
    and all examples of a document are in one bucket. Buckets differ in size: this is the delete-m
    jackknife, whose pseudo-values for a mean are the buckets' own means.

    Parameters
    ----------
    sums, counts
        By bucket.

    Returns
    -------
    xarray.DataArray
        NaN below two buckets.

    References
    ----------
    Busing, Meijer and van der Leeden 1999, "Delete-m jackknife for unequal m", Statistics and
    Computing 9.

    Examples
    --------
    >>> sums = xr.DataArray([4.0, 6.0], dims="bucket")
    >>> counts = xr.DataArray([10, 10], dims="bucket")
    >>> round(float(jackknife_error(sums, counts)), 3)  # two means, 0.4 and 0.6
    0.1
    """
    return _by_bucket(bucket_error, sums, counts)


def bucket_error(sums: Array, counts: Array) -> Array:
    """:func:`jackknife_error` of plain arrays, whose last axis is the bucket."""
    total, buckets = counts.sum(-1), (counts > 0).sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        filled = np.where(counts > 0, counts, np.nan)
        centre = np.nansum(sums, -1) / _positive(total)
        rest = np.where(filled < total[..., None], total[..., None] / filled - 1.0, np.nan)
        terms = (sums / filled - centre[..., None]) ** 2 / rest
    error: Array = (np.nansum(terms, -1) / np.where(buckets > 1, buckets, np.nan)) ** 0.5
    return error


def jackknife(
    sums: xr.DataArray, counts: xr.DataArray, confidence: float = CONFIDENCE
) -> xr.DataArray:
    """Half the width of Student's t interval of sum / count, with the jackknife's standard error.

    Parameters
    ----------
    sums, counts
        By bucket.
    confidence
        Of the interval.

    Returns
    -------
    xarray.DataArray
        NaN below two buckets.

    Examples
    --------
    >>> sums = xr.DataArray([4.0, 6.0], dims="bucket")
    >>> counts = xr.DataArray([10, 10], dims="bucket")
    >>> round(float(jackknife(sums, counts)), 3)  # t with 1 degree of freedom
    1.271
    """
    return _by_bucket(bucket_interval, sums, counts, confidence)


def bucket_interval(sums: Array, counts: Array, confidence: float = CONFIDENCE) -> Array:
    """:func:`jackknife` of plain arrays, whose last axis is the bucket."""
    half: Array = _factor(counts, confidence) * bucket_error(sums, counts)
    return half


def share_interval(
    right: xr.DataArray, count: xr.DataArray, confidence: float = CONFIDENCE
) -> tuple[xr.DataArray, xr.DataArray]:
    """Wilson's interval of a share of right answers that come in documents.

    Answers of one document are alike, so they tell less than as many independent ones. The
    jackknife over buckets says how much less: Wilson's interval is taken for the number of
    independent answers that would have the same standard error (never more than there are), with
    Student's t instead of the normal quantile.

    Parameters
    ----------
    right, count
        Right answers, and all answers, by bucket.
    confidence
        Of the interval.

    Returns
    -------
    tuple of xarray.DataArray
        Low and high; NaN below two buckets.

    References
    ----------
    Korn and Graubard 1998, "Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data", Survey Methodology 24; Dean and Pagano 2015,
    "Evaluating confidence interval methods for binomial proportions in clustered surveys", Journal
    of Survey Statistics and Methodology 3.

    Examples
    --------
    >>> right = xr.DataArray([8, 7, 9, 8], dims="bucket")
    >>> low, high = share_interval(right, xr.full_like(right, 10))
    >>> round(float(low), 3), round(float(high), 3)
    (0.55, 0.929)
    """
    low, high = xr.apply_ufunc(
        _share_interval,
        right,
        count,
        input_core_dims=[["bucket"], ["bucket"]],
        output_core_dims=[[], []],
        kwargs={"confidence": confidence},
    )
    return low, high


def _share_interval(right: Array, count: Array, confidence: float) -> tuple[Array, Array]:
    total = count.sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.nansum(right, -1) / _positive(total)
        alone = share * (1 - share)
        alike = alone / _positive(bucket_error(right, count) ** 2)
        alike = np.where(np.isnan(alike), np.inf, alike)
        # alone is 0 if all are right
        number = np.where((alike < total) & (alone > 0), alike, total)
        square = _factor(count, confidence) ** 2 / _positive(number)
        centre = (share + square / 2) / (1 + square)
        half = (square * (alone + square / 4)) ** 0.5 / (1 + square)
        low, high = centre - half, centre + half
        # Rounding may put an end of 0 or 1 a hair inside it.
        low, high = np.where(low > share, share, low), np.where(high < share, share, high)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def cluster_test(difference: xr.DataArray, count: xr.DataArray) -> xr.DataArray:
    """One-sided test that the mean of some differences is above zero, by documents.

    Parameters
    ----------
    difference
        By bucket: how many answers the first system has right, minus those of the second.
    count
        By bucket: how many answers there are.

    Returns
    -------
    xarray.DataArray
        p of Student's t, with the jackknife's standard error; NaN below two buckets, and 1 where
        the difference never varies and is not above zero.

    Examples
    --------
    >>> difference = xr.DataArray([2, 3, 1, 2], dims="bucket")
    >>> round(float(cluster_test(difference, xr.full_like(difference, 10))), 4)
    0.0081
    """
    return _by_bucket(_cluster_test, difference, count)


def _cluster_test(difference: Array, count: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.nansum(difference, -1) / _positive(count.sum(-1))
        error = bucket_error(difference, count)
        never = np.where(mean > 0, np.inf, -np.inf)  # the difference never varies
        t = np.where(error > 0, mean / error, never)
        p = special.stdtr(_buckets(count) - 1.0, -t)
    return np.where(np.isnan(error), np.nan, p)


def rough_intervals(data: xr.Dataset) -> str:
    """What to say where intervals come from few documents; empty where there are enough.

    Parameters
    ----------
    data
        One measure of some results, with its counts by bucket.

    Examples
    --------
    >>> rough_intervals(xr.Dataset({"count": ("bucket", [5, 0, 3])}))
    'Intervals are rough: there are few documents (2 groups for the jackknife).'
    >>> rough_intervals(xr.Dataset({"count": ("bucket", [1] * 32)}))
    ''
    """
    counts = data["count"]
    filled = int((counts.max([dim for dim in counts.dims if dim != "bucket"]) > 0).sum())
    if filled >= FEW:
        return ""
    groups = f"{filled} groups" if filled != 1 else "one group"
    return f"Intervals are rough: there are few documents ({groups} for the jackknife)."


def _by_bucket(
    function: Callable[..., Array], sums: xr.DataArray, counts: xr.DataArray, *others: float
) -> xr.DataArray:
    """What a function of plain arrays gives for labelled ones, all buckets at once."""
    found: xr.DataArray = xr.apply_ufunc(
        lambda *arrays: function(*arrays, *others),
        sums,
        counts,
        input_core_dims=[["bucket"], ["bucket"]],
    )
    return found


def _buckets(counts: Array) -> Array:
    """How many buckets have values."""
    return np.asarray((counts > 0).sum(-1), np.float64)


def _positive(values: Array) -> Array:
    """The same with NaN instead of 0."""
    return np.where(values > 0, values, np.nan)


def _factor(counts: Array, confidence: float) -> Array:
    """The quantile of Student's t for so many buckets; NaN below two."""
    buckets = _buckets(counts)
    degrees = np.where(buckets > 1, buckets, np.nan) - 1.0
    factor: Array = special.stdtrit(degrees, 0.5 + confidence / 2)
    return factor
