"""Intervals and tests over documents: the one standard error, for labelled sums by bucket.

The arithmetic is in :mod:`headscope.results.moments`, where intervals are stored with results.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.results.moments import DOCUMENTS, Range, Ratio, ratio

FEW = 15
"""With fewer effective documents, their number stands beside the intervals."""


def document_ratio(sums: xr.DataArray, counts: xr.DataArray) -> Ratio:
    """The ratio of labelled sums by bucket, without its labels; see :func:`labelled`.

    Parameters
    ----------
    sums, counts
        With the dimension ``bucket``.
    """
    sums, counts = xr.broadcast(sums, counts)
    dims = [dim for dim in sums.dims if dim != "bucket"]
    return ratio(*(part.transpose(*dims, "bucket").values for part in (sums, counts)))


def labelled(values: NDArray[Any], like: xr.DataArray) -> xr.DataArray:
    """What :func:`document_ratio` gave, with the labels of the sums it came from."""
    return like.isel(bucket=0, drop=True).copy(data=values)


def interval(
    sums: xr.DataArray, counts: xr.DataArray, values: Range = "signed"
) -> tuple[xr.DataArray, xr.DataArray]:
    """The 95 % interval of a ratio of sums, over documents.

    Parameters
    ----------
    sums, counts
        By bucket of documents.
    values
        Where the ratio may lie: "share" (0 to 1), "positive" or "signed".

    Returns
    -------
    tuple of xarray.DataArray
        Low and high; NaN where there are too few documents.

    See Also
    --------
    headscope.results.moments.ratio : how it is computed.

    Examples
    --------
    >>> right = xr.DataArray([8, 7, 9, 8], dims="bucket")
    >>> low, high = interval(right, xr.full_like(right, 10), "share")
    >>> round(float(low), 3), round(float(high), 3)
    (0.61, 0.911)
    """
    sums, counts = xr.broadcast(sums, counts)
    low, high = document_ratio(sums, counts).interval(values)
    return labelled(low, sums), labelled(high, sums)


def standard_error(sums: xr.DataArray, counts: xr.DataArray) -> xr.DataArray:
    """The standard error of a ratio of sums, over documents; NaN below two buckets.

    Parameters
    ----------
    sums, counts
        By bucket of documents.

    Examples
    --------
    >>> sums = xr.DataArray([4.0, 6.0, 5.0], dims="bucket")
    >>> round(float(standard_error(sums, xr.full_like(sums, 10))), 4)
    0.0707
    """
    sums, counts = xr.broadcast(sums, counts)
    return labelled(document_ratio(sums, counts).error, sums)


def p_above(sums: xr.DataArray, counts: xr.DataArray) -> xr.DataArray:
    """One-sided test that a ratio of sums is above zero, over documents.

    Parameters
    ----------
    sums, counts
        By bucket of documents.

    Returns
    -------
    xarray.DataArray
        p of Student's t; NaN where there are too few documents.

    Examples
    --------
    >>> difference = xr.DataArray([2, 3, 1, 2], dims="bucket")
    >>> round(float(p_above(difference, xr.full_like(difference, 10))), 3)
    0.012
    """
    sums, counts = xr.broadcast(sums, counts)
    return labelled(document_ratio(sums, counts).p_above(), sums)


def interval_note(data: xr.Dataset) -> str:
    """What to say beside intervals that come from few documents; empty where there are enough.

    Parameters
    ----------
    data
        One measure of some results, with its counts by bucket.

    Examples
    --------
    >>> interval_note(xr.Dataset({"count": ("bucket", [5, 0, 3])}, {}, {"intervals": "documents"}))
    'Intervals are rough: in effect there are only 2 documents.'
    >>> interval_note(xr.Dataset({"count": ("bucket", [1] * 32)}))
    ''
    """
    counts = data["count"].transpose("bucket", ...).values.reshape(data.sizes["bucket"], -1)
    most = counts.max(1).astype(np.float64)  # of the label that is defined most often
    if not most.any():
        return ""
    effective = round(float(most.sum() ** 2 / (most**2).sum()))
    if effective >= FEW:
        return ""
    unit = "document" if data.attrs.get("intervals") == DOCUMENTS else "text"
    few = f"is only one {unit}" if effective == 1 else f"are only {effective} {unit}s"
    return f"Intervals are rough: in effect there {few}."
