"""How far two labelled arrays of numbers are apart, and how much of that is rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from number_files import Numbers

ROUNDED = {"deviation", "low", "high"}
"""Statistics that come from the difference of two sums of squares, whose rounding errors are large
where all values are nearly equal."""
P_VALUES = {"p", "p_corrected"}
TOTALS = {"total sum", "total square"}
"""Sums over all examples."""
RESOLUTION = 2.0**-104
"""The unit in which sums are kept now. Smaller numbers become 0."""


@dataclass(frozen=True)
class Difference:
    """How far two arrays are apart."""

    absolute: float = 0.0
    relative: float = 0.0
    note: str = ""
    """The two numbers with the largest difference and their labels."""
    moved: int = 0
    size: int = 0
    beyond: tuple[str, ...] = ()
    """Where the numbers differ by more than rounding and the tolerance."""
    missing: tuple[str, ...] = ()
    """What only the old side has."""
    added: tuple[str, ...] = ()
    """What only the new side has."""

    @property
    def equal(self) -> bool:
        """Whether all old numbers are there, bit for bit."""
        return not self.moved and not self.missing


def difference(
    old: xr.DataArray,
    new: xr.DataArray,
    rounding: xr.DataArray | None = None,
    tolerance: float = 0.0,
) -> Difference:
    """Compare label by label. A number that only one side has, or NaN on one side, is infinite.

    Differences are relative to the larger of the two numbers. Those of at most ``rounding``, or of
    at most ``tolerance`` times the larger number, are not listed in ``beyond``.

    >>> difference(xr.DataArray([4.0, np.nan]), xr.DataArray([3.0, np.nan])).relative
    0.25
    """
    if set(old.dims) != set(new.dims):
        return Difference(missing=(f"dimensions {old.dims}, now {new.dims}",))
    missing: list[str] = []
    added: list[str] = []
    for dim in old.dims:
        if (dim in old.coords) != (dim in new.coords):
            return Difference(missing=(f"labels of dimension {dim}",))
        if dim in old.coords:
            here, there = old[dim].values.tolist(), new[dim].values.tolist()
            first, second = set(here), set(there)
            known = [label for label in here if label in second]
            missing += [str(label) for label in here if label not in second]
            added += [str(label) for label in there if label not in first]
            old, new = old.sel({dim: known}), new.sel({dim: known})
            rounding = None if rounding is None else rounding.sel({dim: known})
    new = new.transpose(*old.dims)
    if old.shape != new.shape:
        return Difference(missing=(f"shape {old.shape}, now {new.shape}",))
    floor = RESOLUTION if rounding is None else rounding.transpose(*old.dims).values
    gap, ratio = gaps(old.values, new.values)
    moved = gap > 0
    if not moved.any():
        return Difference(0.0, 0.0, "", 0, gap.size, (), tuple(missing), tuple(added))
    beyond = np.argwhere((gap > floor) & (ratio > tolerance))
    worst = np.unravel_index(int(ratio.argmax()), ratio.shape)
    return Difference(
        float(gap.max()),
        float(ratio.max()),
        describe(old, new, worst),
        int(moved.sum()),
        gap.size,
        tuple(describe(old, new, tuple(where)) for where in beyond),
        tuple(missing),
        tuple(added),
    )


def gaps(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Absolute and relative differences of two arrays of one shape; of texts, 0 or infinity."""
    if one.dtype.kind not in "biuf" or other.dtype.kind not in "biuf":
        unequal = np.where(one.astype(str) == other.astype(str), 0.0, np.inf)
        return unequal, unequal
    one, other = one.astype(float), other.astype(float)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.where(same, 0.0, np.abs(one - other))
        ratio = np.where(same, 0.0, gap / np.maximum(np.abs(one), np.abs(other)))
    return np.nan_to_num(gap, nan=np.inf), np.nan_to_num(ratio, nan=np.inf)


def describe(old: xr.DataArray, new: xr.DataArray, where: tuple[int, ...]) -> str:
    """Two numbers and the labels of their place."""
    labels = [
        str(old[dim].values[number]) if dim in old.coords else f"#{number}"
        for dim, number in zip(old.dims, where, strict=True)
    ]
    return f"{' '.join([*labels, ''])}{old.values[where]} became {new.values[where]}"


def rounding_errors(
    numbers: Numbers, measure: str, statistic: str, tolerance: float = 0.0
) -> xr.DataArray | None:
    """How far a total, a deviation, an end of an interval or a p-value may move.

    Each number of a total is rounded to the resolution. The variance is a difference of sums of
    squares, so its error is that of the mean square; the deviation's is that divided by the
    deviation. The factor covers the length of the sums, and the t value of an interval over two
    examples. If the values themselves may differ by a tolerance, deviations may by that times the
    size of the values, and p-values of a z test by that times twice their logarithm.
    """
    smallest = float(np.finfo(float).eps)
    counts = numbers.get((measure, "total count"))
    if statistic in TOTALS and counts is not None:
        return RESOLUTION * counts.astype(float).clip(1.0)
    if statistic.split(" of ")[0] in P_VALUES:
        p = numbers[measure, statistic].astype(float)
        return tolerance * p * (1 - 2 * np.log(p.clip(1e-300, 1.0)))
    if statistic not in ROUNDED:
        return None
    if not {(measure, "mean"), (measure, "deviation")} <= set(numbers):
        return xr.full_like(numbers[measure, statistic], smallest, dtype=float)
    mean, deviation = numbers[measure, "mean"], numbers[measure, "deviation"]
    size = (mean**2 + deviation**2) ** 0.5
    variance_error = smallest * size**2 + RESOLUTION
    rounding = variance_error / np.maximum(deviation, variance_error**0.5)
    return 16 * (rounding + tolerance * size)
