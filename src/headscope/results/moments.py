"""The sums that a measure keeps, and the means, deviations and intervals that follow from them.

No second pass over the corpus is ever needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
Range = Literal["share", "positive", "signed"]
"""Where values may lie: from 0 to 1, above 0, or anywhere."""
CONFIDENCE = 0.95
FEWEST = 2.5
"""With fewer effective groups, how much they vary is not known at all: no interval, no test."""
SAME = 1e-7
"""Relative differences below this are the rounding of float32."""
DOCUMENTS, TEXTS, OLDER = "documents", "texts", "texts, by an older version"
"""What intervals are over."""
TINY = 1e-12
"""Keeps log odds finite."""
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


class Ratio(NamedTuple):
    """A ratio of sums with its error.

    Parameters
    ----------
    value
        All sums over all counts; NaN where nothing was counted.
    error
        The standard error; NaN below two groups.
    effective
        How many groups of equal size would say as much.
    """

    value: Numbers
    error: Numbers
    effective: Numbers

    @property
    def degrees(self) -> Numbers:
        """Degrees of freedom; NaN where groups are too few to tell how much they vary."""
        return np.where(self.effective >= FEWEST, self.effective - 1.0, np.nan)

    def quantile(self, confidence: float = CONFIDENCE) -> Numbers:
        """Student's quantile: how many errors the interval reaches to each side."""
        from scipy.special import stdtrit  # slow to import

        quantile: Numbers = stdtrit(self.degrees, 0.5 + confidence / 2)
        return quantile

    def interval(
        self, values: Range = "signed", confidence: float = CONFIDENCE
    ) -> tuple[Numbers, Numbers]:
        """The ends of the interval, inside the range of the values.

        Shares are transformed by their log odds and positive values by their logarithm, with the
        error that the delta method gives. Where no group differs from another, the interval of a
        share is Wilson's for so many independent answers; other values have no width.

        Parameters
        ----------
        values
            "share" (0 to 1), "positive", or "signed".
        confidence
            Of the interval.

        Examples
        --------
        >>> shares = ratio(np.array([9.0, 10.0, 8.0, 9.0]), np.full(4, 10.0))
        >>> low, high = shares.interval("share")
        >>> round(float(shares.value), 2), round(float(low), 2), round(float(high), 2)
        (0.9, 0.63, 0.98)
        """
        reach, value = self.quantile(confidence) * self.error, self.value
        low, high = value - reach, value + reach
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if values == "share":
                share = value.clip(TINY, 1.0 - TINY)
                odds, steps = share / (1.0 - share), np.exp(reach / (share * (1.0 - share)))
                inner = odds / (odds + steps), odds / (odds + 1.0 / steps)
                alike = wilson(value.clip(0.0, 1.0) * self.effective, self.effective, confidence)
                inner = _where(self.error <= SAME, alike, inner)
                inside = (value >= -ROUNDING) & (value <= 1.0 + ROUNDING)
                low, high = _where(inside, inner, (low, high))
            elif values == "positive":
                factor = np.exp(reach / value)
                low, high = _where(value > 0, (value / factor, value * factor), (low, high))
        if values != "share":
            same = self.error <= SAME * np.abs(value)
            low, high = _where(same, (value, value), (low, high))
        few = np.full(value.shape, np.nan)
        return _where(np.isnan(self.degrees), (few, few), (low, high))

    def p_above(self, threshold: ArrayLike = 0.0) -> Numbers:
        """p of "the value is at most the threshold", by Student's t.

        1 or 0 where no group differs from another; NaN below two effective groups.

        Examples
        --------
        >>> gains = ratio(np.array([2.0, 3.0, 1.0, 2.0]), np.full(4, 10.0))
        >>> round(float(gains.p_above()), 4)
        0.012
        """
        from scipy.special import stdtr  # slow to import

        t = self._errors_from_zero(self.value - np.asarray(threshold))
        p: Numbers = stdtr(self.degrees, -np.where((t == 0) & (self.error == 0), -np.inf, t))
        return p

    def p_differs(self) -> Numbers:
        """p of "the value is zero", two-sided; 1 or 0 where no group differs from another.

        >>> gains = ratio(np.array([2.0, 3.0, 1.0, 2.0]), np.full(4, 10.0))
        >>> round(float(gains.p_differs()), 3)
        0.024
        """
        from scipy.special import stdtr  # slow to import

        p: Numbers = 2 * stdtr(self.degrees, -np.abs(self._errors_from_zero(self.value)))
        return p

    def _errors_from_zero(self, away: Numbers) -> Numbers:
        """How many errors a distance is; infinitely many, or none, where no group differs."""
        same = self.error <= SAME * np.maximum(np.abs(self.value), np.abs(away))
        with np.errstate(divide="ignore", invalid="ignore"):
            sure = np.where(away == 0, 0.0, np.copysign(np.inf, away))
            return np.where(same, sure, away / self.error)


def _where(
    condition: NDArray[np.bool_], ends: tuple[Numbers, Numbers], others: tuple[Numbers, Numbers]
) -> tuple[Numbers, Numbers]:
    """The ends of one interval where a condition holds, and of another elsewhere."""
    return np.where(condition, ends[0], others[0]), np.where(condition, ends[1], others[1])


def ratio(sums: Numbers, counts: Numbers) -> Ratio:
    """A ratio of sums over groups of documents, with its standard error.

    Maps of one text depend on each other, and so do texts of one document; documents do not, and
    all texts of a document are in one group. The error is the jackknife's, which leaves out one
    group after the other. Groups differ in size, so a few may carry a corpus: the degrees of
    freedom are those of so many equal groups as would say as much.

    Parameters
    ----------
    sums, counts
        By group, along the last axis; groups with a count of 0 say nothing.

    References
    ----------
    Bell and McCaffrey 2002, "Bias reduction in standard errors for linear regression with
    multi-stage samples", Survey Methodology 28 (the error, there called the jackknife); Kish 1965,
    "Survey sampling" (the effective number).

    Examples
    --------
    >>> found = ratio(np.array([4.0, 6.0, 5.0]), np.array([10.0, 10.0, 10.0]))
    >>> float(found.value), round(float(found.error), 4), float(found.effective)
    (0.5, 0.0707, 3.0)
    """
    return left_out(*moves(sums, counts), counts)


def moves(sums: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    """A ratio of sums, and by how much leaving out each group moves it (…, group)."""
    counts = np.asarray(counts, np.float64)
    sums = np.where(counts > 0, np.asarray(sums, np.float64), 0.0)
    total, whole = sums.sum(-1), counts.sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = total / np.where(whole > 0, whole, np.nan)
        rest = whole[..., None] - counts
        # Not as the difference of two nearly equal ratios.
        moved = (value[..., None] * counts - sums) / np.where(rest > 0, rest, np.nan)
    return value, moved


def left_out(value: Numbers, moved: Numbers, counts: Numbers) -> Ratio:
    """Any statistic, with the error that leaving out one group after the other gives.

    Parameters
    ----------
    value
        The statistic of all groups.
    moved
        By group, along the last axis: by how much the statistic changes without it.
    counts
        How much each group says; see :func:`ratio`.
    """
    counts = np.asarray(counts, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(counts > 0, moved**2, 0.0).sum(-1) ** 0.5
        effective = counts.sum(-1) ** 2 / (counts**2).sum(-1)
    return Ratio(value, error, effective)


def wilson(
    right: ArrayLike, count: ArrayLike, confidence: float = CONFIDENCE
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson's interval of a share of right answers; NaN where nothing was counted.

    >>> [round(float(bound), 3) for bound in wilson(9, 10)]
    [0.596, 0.982]
    """
    from scipy.special import ndtri  # slow to import

    right, count = np.asarray(right, float), np.asarray(count, float)
    number = np.where(count > 0, count, np.nan)
    share, square = right / number, ndtri(0.5 + confidence / 2) ** 2 / number
    centre = (share + square / 2) / (1 + square)
    half = (square * (share * (1 - share) + square / 4)) ** 0.5 / (1 + square)
    # Rounding may put a bound of 0 or 1 a hair inside it.
    return np.minimum(centre - half, share).clip(0.0), np.maximum(centre + half, share).clip(max=1)


def range_of(data: xr.Dataset) -> Range:
    """Where the values of a group may lie: its attribute ``range``, else by its unit.

    >>> range_of(xr.Dataset(attrs={"unit": "share of attention"}))
    'share'
    >>> range_of(xr.Dataset(attrs={"unit": "nats", "range": "positive"}))
    'positive'
    """
    if data.attrs.get("kind") == "share" or str(data.attrs.get("unit", "")).startswith("share"):
        return "share"
    named = data.attrs.get("range")
    return named if named in ("share", "positive") else "signed"


def _unrounded(share: Numbers) -> Numbers:
    """A share that rounding has put a hair outside 0 to 1, at the end; any other as it is."""
    inside = share.clip(0.0, 1.0)
    return np.where(abs(share - inside) < ROUNDING, inside, share)


def derive(sums: xr.Dataset, *, over: str = TEXTS, confidence: float = CONFIDENCE) -> xr.Dataset:
    """Add what follows from sums to a dataset of sum, square and count by bucket.

    Parameters
    ----------
    sums
        The sums. The attribute ``kind`` "share" says that right answers were counted, a ``unit``
        that begins with "share" that all values lie between 0 and 1, and ``range`` "positive" that
        none is below 0.
    over
        What is independent of each other, and so what intervals are over: "documents", or "texts"
        where the corpus names no documents. Kept as the attribute ``intervals``.
    confidence
        Of the interval.

    Returns
    -------
    xarray.Dataset
        The same with mean, low, high, deviation and n. The interval lies in the range of the
        values; see :func:`ratio`.

    Examples
    --------
    >>> parts = {"sum": [0.9, 1.0, 0.8], "square": [0.81, 1.0, 0.64], "count": [1, 1, 1]}
    >>> sums = xr.Dataset({name: ("bucket", part) for name, part in parts.items()})
    >>> round(float(derive(sums)["high"]), 3)
    1.204
    >>> round(float(derive(sums.assign_attrs(unit="share of attention"))["high"]), 3)
    0.996
    """
    by_bucket = [sums[name].transpose("bucket", ...) for name in ("sum", "square", "count")]
    dims = by_bucket[2].dims[1:]
    total, square, count = (values.values.astype(float) for values in by_bucket)
    means = ratio(np.moveaxis(total, 0, -1), np.moveaxis(count, 0, -1))
    values = range_of(sums)
    low, high = means.interval(values, confidence)
    centre = _unrounded(means.value) if values == "share" else means.value
    whole = total.sum(0), square.sum(0), count.sum(0)
    derived = {
        "mean": centre,
        "deviation": deviation(*whole),
        "low": low,
        "high": high,
        "n": by_bucket[2].values.sum(0),
    }
    added = {name: (dims, array) for name, array in derived.items()}
    return sums.assign(added).assign_attrs(intervals=over)


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


# --- sums that do not depend on the order of their terms ---
#
# Adding floating-point numbers in another order changes the last digits. Here every number is a
# fixed-point integer in three limbs (the whole part, and two fractions in units of 2^-52 and
# 2^-104), and adding integers is exact: however a corpus is split, shuffled or retried, the sum has
# the same bits. The second fraction keeps the squares of small numbers (gradients of 1e-8) from
# vanishing.

BITS = 52
UNIT = float(1 << BITS)
MASK = (1 << BITS) - 1
LARGEST = 2.0**53
"""A term of this size or more has no fraction, and sums of such terms could overflow."""
_CARRY_EVERY = 1024
LIMBS = 3

Limbs = NDArray[np.int64]
"""(limb, ...): the whole part, then two fractions, both from 0 up to 2^52."""


def to_fixed(values: NDArray[np.float64]) -> Limbs:
    """Floats as limbs, exact to 2^-105.

    >>> from_fixed(to_fixed(np.array([-0.75, 1e-9])))
    array([-7.5e-01,  1.0e-09])
    """
    if not (np.abs(values) < LARGEST).all():
        raise ValueError("only finite numbers below 2^53 can be summed")
    whole = np.trunc(values)
    rest = (values - whole) * UNIT  # exact: a fraction of the same sign keeps all its bits
    first = np.trunc(rest)
    second = np.rint((rest - first) * UNIT)
    return carried(np.stack([whole, first, second]).astype(np.int64))


def from_fixed(limbs: Limbs) -> NDArray[np.float64]:
    """Limbs as floats, always rounded in the same way."""
    negative = limbs[0] < 0
    whole, first, second = carried(np.where(negative, -limbs, limbs))  # of the absolute value
    size = whole + (first + second / UNIT) / UNIT
    return np.asarray(np.where(negative, -size, size), np.float64)


def carried(limbs: Limbs) -> Limbs:
    """The same numbers with both fractions below one whole, in place."""
    for low, high in ((2, 1), (1, 0)):
        limbs[high] += limbs[low] >> BITS
        limbs[low] &= MASK
    return limbs


class BucketSums:
    """Sums of arrays, apart for every bucket.

    Parameters
    ----------
    buckets
        How many buckets there are.
    shape
        The shape of the arrays that are added.

    Examples
    --------
    >>> one, other = BucketSums(2, (1,)), BucketSums(2, (1,))
    >>> values = np.array([[0.1], [1e10], [-1e10], [0.2]])
    >>> one.add([0, 0, 0, 1], values)
    >>> other.add([1, 0, 0, 0], values[[3, 2, 1, 0]])
    >>> bool((one.limbs == other.limbs).all())
    True
    """

    def __init__(self, buckets: int, shape: Sequence[int]) -> None:
        self.limbs: Limbs = np.zeros((LIMBS, buckets, *shape), np.int64)

    def add(self, buckets: Sequence[int], values: NDArray[np.float64]) -> None:
        """Add each of ``values`` (term, ...) to its bucket."""
        terms = to_fixed(values)
        for number, bucket in enumerate(buckets):
            self.limbs[:, bucket] += terms[:, number]
            if number % _CARRY_EVERY == _CARRY_EVERY - 1:
                carried(self.limbs)
        carried(self.limbs)

    def merge(self, limbs: Limbs) -> None:
        """Add the limbs of other sums."""
        self.limbs += limbs
        carried(self.limbs)

    def values(self) -> NDArray[np.float64]:
        """The sums, (bucket, ...)."""
        return from_fixed(self.limbs)
