"""Two systems that answer the same questions: is the first right more often than the second?"""

from __future__ import annotations

import xarray as xr

from headscope.stats.inference import p_above
from headscope.stats.tests import paired_sign


def paired_test(
    first: xr.DataArray, second: xr.DataArray, both: xr.DataArray, count: xr.DataArray
) -> xr.DataArray:
    """One-sided test, by documents, that the first system is right more often than the second.

    Answers in one sentence or document are alike, so a test that takes them as independent finds
    differences too easily. The answers are therefore compared bucket by bucket
    (:func:`headscope.stats.inference.p_above`). Few answers fill few buckets, by chance all
    alike; p is therefore never below that of the exact test on single answers
    (:func:`headscope.stats.paired_sign`), which stands alone below two buckets.

    Parameters
    ----------
    first, second, both
        By bucket: how many answers the first system, the second one, and both have right.
    count
        By bucket: how many answers there are.

    Returns
    -------
    xarray.DataArray
        p, without the dimension ``bucket``; NaN where there are no answers.

    Examples
    --------
    >>> first, second = xr.DataArray([9, 1], dims="bucket"), xr.DataArray([0, 1], dims="bucket")
    >>> both, count = xr.DataArray([0, 1], dims="bucket"), xr.DataArray([9, 9], dims="bucket")
    >>> round(float(paired_test(first, second, both, count)), 3)  # all in one document
    0.25
    >>> round(float(paired_sign(9, 0)), 3)  # if answers were independent
    0.002
    """
    single = xr.apply_ufunc(
        paired_sign, (first - both).sum("bucket"), (second - both).sum("bucket")
    )
    by_document = p_above(first - second, count).fillna(0.0)
    larger = single.where(single > by_document, by_document)
    p: xr.DataArray = larger.where(count.sum("bucket") > 0)
    return p
