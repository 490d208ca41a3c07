"""Errors and intervals over documents: sequences of one document are not independent.

The arithmetic is in :mod:`headscope.results.moments`, where intervals are stored with results. Here
it is applied to labelled sums by bucket of documents, and to scores that are summed by cluster.
Where every sequence is a cluster of its own, the standard error of a mean is the usual one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.results import KEPT
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


Array = NDArray[np.float64]


@dataclass(frozen=True)
class ClusterSums:
    """Sums of scores by cluster.

    Parameters
    ----------
    sums
        (cluster, cell, role), where a cell is a head.
    counts
        (cluster, role): how many sequences of the cluster have the role.

    Examples
    --------
    >>> scores = np.array([1.0, 3.0, 5.0, 5.0]).reshape(4, 1, 1)
    >>> two = ClusterSums.of(scores, ["a", "a", "b", "b"])
    >>> two.mean.item(), two.number.item(), round(two.ratio.error.item(), 2)
    (3.5, 2, 2.12)
    """

    sums: Array
    counts: Array

    @classmethod
    def of(cls, scores: Array, groups: Sequence[str]) -> ClusterSums:
        """Sum scores by group.

        Parameters
        ----------
        scores
            (sequence, cell, role); NaN where a sequence does not have the role.
        groups
            The group of each sequence; "" for one of its own.
        """
        numbers = cluster_numbers(groups)
        size = int(numbers.max()) + 1 if len(numbers) else 0
        sums = np.zeros((size, *scores.shape[1:]))
        counts = np.zeros((size, scores.shape[2]))
        known = np.asarray(~np.isnan(scores).any(1))
        np.add.at(sums, numbers, np.where(known[:, None], scores, 0.0))
        np.add.at(counts, numbers, known)
        return cls(sums, counts)

    @property
    def n(self) -> Array:
        """The number of sequences with each role."""
        return np.asarray(self.counts.sum(0))

    @property
    def number(self) -> NDArray[np.int64]:
        """The number of clusters with each role."""
        return np.asarray((self.counts > 0).sum(0))

    @property
    def mean(self) -> Array:
        """The mean over sequences, (cell, role); NaN without any."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.sums.sum(0) / self.n)

    @property
    def away(self) -> Array:
        """How far each cluster's sum is from what the mean gives, (cluster, cell, role)."""
        return np.asarray(np.nan_to_num(self.sums - self.counts[:, None] * self.mean))

    @property
    def ratio(self) -> Ratio:
        """The mean with its standard error and effective number of clusters, (cell, role)."""
        shape = (*self.sums.shape[1:], len(self.sums))
        counts = np.broadcast_to(self.counts.T, shape)
        return ratio(np.moveaxis(self.sums, 0, -1), counts)


def cluster_numbers(groups: Sequence[str]) -> NDArray[np.int64]:
    """Number the clusters of sequences.

    Parameters
    ----------
    groups
        The group of each sequence; "" for one of its own.

    Examples
    --------
    >>> cluster_numbers(["d1", "", "", "d1"]).tolist()
    [0, 1, 2, 0]
    """
    numbers: dict[tuple[str, int], int] = {}
    return np.array(
        [
            numbers.setdefault((group, -1 if group else place), len(numbers))
            for place, group in enumerate(groups)
        ],
        np.int64,
    )


def example_documents(data: xr.Dataset) -> NDArray[np.int64]:
    """The number of each example's document; an example without one is a document of its own.

    Parameters
    ----------
    data
        What disabling or pruning heads gave, by example.
    """
    if "group" not in data.variables:
        return np.arange(data.sizes["example"])
    return cluster_numbers([str(group) for group in data["group"].values])


def kept_groups(data: xr.Dataset) -> list[str]:
    """The group of every sequence whose scores are kept; "" where it has none.

    Parameters
    ----------
    data
        The measure ``role``.
    """
    if KEPT not in data:
        return []
    if "group" not in data.coords:
        return [""] * data.sizes["example"]
    return [str(group) for group in data["group"].values]


def role_clusters(data: xr.Dataset, *, clusters: bool = True) -> ClusterSums:
    """The kept scores of roles, summed by cluster.

    Parameters
    ----------
    data
        The measure ``role``, with the scores of single sequences.
    clusters
        False makes every sequence a cluster of its own.
    """
    values = data[KEPT].transpose("example", "layer", "head", "role").values
    scores = values.reshape(len(values), -1, values.shape[-1]).astype(np.float64)
    return ClusterSums.of(scores, kept_groups(data) if clusters else [""] * len(scores))


def bucket_clusters(data: xr.Dataset) -> ClusterSums:
    """The sums of all sequences by bucket of documents, where not all scores are kept.

    Parameters
    ----------
    data
        The measure ``role``.
    """
    sums, counts = (
        data[name].transpose("bucket", "layer", "head", "role").values for name in ("sum", "count")
    )
    shape = (len(sums), -1, sums.shape[-1])
    return ClusterSums(
        sums.reshape(shape).astype(np.float64), counts.reshape(shape)[:, 0].astype(np.float64)
    )


def shares_groups(data: xr.Dataset) -> bool:
    """Whether some sequences whose scores are kept belong to one group.

    Parameters
    ----------
    data
        The measure ``role``.
    """
    named = [group for group in kept_groups(data) if group]
    return len(set(named)) < len(named)
