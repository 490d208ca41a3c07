"""Sums that do not depend on the order of their terms.

Adding floating-point numbers in another order changes the last digits. Here every number is a
fixed-point integer in three limbs (the whole part, and two fractions in units of 2^-52 and 2^-104),
and adding integers is exact: however a corpus is split, shuffled or retried, the sum has the same
bits. The second fraction keeps the squares of small numbers (gradients of 1e-8) from vanishing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
