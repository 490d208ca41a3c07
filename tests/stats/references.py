"""Statistics written out from their definitions, as plainly as can be, to compare ours with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from scipy import stats

Z95 = 1.959963984540054
"""The 97.5th percentile of the normal distribution, from a table."""


def wilson_interval(right: float, count: float, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval (Wilson 1927): the shares p with |share - p| <= z sqrt(p(1-p)/n).

    The ends are the roots of the quadratic (1 + z²/n) p² - (2 share + z²/n) p + share² = 0.

    >>> [round(end, 4) for end in wilson_interval(81, 263)]
    [0.2553, 0.3662]
    """
    share = right / count
    a, b, c = 1 + z * z / count, -(2 * share + z * z / count), share * share
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def left_out(sums: Sequence[float], counts: Sequence[float]) -> tuple[float, float, float]:
    """The ratio of two sums over buckets, its standard error by leaving out one bucket after the
    other (as Bell and McCaffrey 2002 have it: no factor), and Kish's effective number of buckets.

    >>> ratio, error, effective = left_out([4, 6, 5], [10, 10, 10])
    >>> ratio, round(error, 4), effective  # without each: 11/20, 9/20 and 10/20
    (0.5, 0.0707, 3.0)
    """
    top, bottom = sum(sums), sum(counts)
    squares = sizes = 0.0
    for part, of in zip(sums, counts, strict=True):
        if of:
            squares += ((top - part) / (bottom - of) - top / bottom) ** 2
            sizes += of * of
    return top / bottom, math.sqrt(squares), bottom * bottom / sizes


def document_interval(
    sums: Sequence[float], counts: Sequence[float], *, share: bool = False
) -> tuple[float, float]:
    """Student's 95 % interval with that error; of a share, of its log odds by the delta method."""
    ratio, error, effective = left_out(sums, counts)
    half = float(stats.t.ppf(0.975, effective - 1)) * error
    if not share:
        return ratio - half, ratio + half
    if error < 1e-9:
        return wilson_interval(ratio * effective, effective)
    odds, half = math.log(ratio / (1 - ratio)), half / (ratio * (1 - ratio))
    return 1 / (1 + math.exp(half - odds)), 1 / (1 + math.exp(-half - odds))


def paired_p(mine: Sequence[int], its: Sequence[int]) -> float:
    """The paired test of right answers by bucket: every flip of their differences."""
    return every_flip([one - other for one, other in zip(mine, its, strict=True)])


def z_test(values: Sequence[float], threshold: float) -> float:
    """The one-sided p of a mean above a threshold: scipy's t, taken as normal."""
    return float(stats.norm.sf(stats.ttest_1samp(values, threshold).statistic))


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p-values by Holm (1979): max over j <= i of min(1, (m - j + 1) p(j))."""
    order = sorted(range(len(p)), key=lambda index: p[index])
    adjusted, largest = [0.0] * len(p), 0.0
    for place, index in enumerate(order, 1):
        adjusted[index] = largest = max(largest, min(1.0, (len(p) - place + 1) * p[index]))
    return adjusted


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Adjusted p-values by Benjamini and Hochberg (1995): min over j >= i of min(1, m p(j) / j)."""
    order = sorted(range(len(p)), key=lambda index: p[index])
    adjusted = [1.0] * len(p)
    for place, index in enumerate(order, 1):
        for later, other in enumerate(order[place - 1 :], place):
            adjusted[index] = min(adjusted[index], len(p) * p[other] / later)
    return adjusted


CORRECTIONS = {"holm": holm, "bh": benjamini_hochberg}
"""By the name that Headscope gives to a correction."""


def every_flip(difference: Sequence[int]) -> float:
    """The share of all 2ⁿ flips of signs whose sum is at least that of the differences."""
    sums = [
        sum(sign * value for sign, value in zip(signs, difference, strict=True))
        for signs in product((1, -1), repeat=len(difference))
    ]
    return sum(one >= sum(difference) for one in sums) / len(sums)
