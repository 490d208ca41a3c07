"""Tests on counts, corrected for how many there are, and choices scored where they were not made.

What is chosen by its score is scored on data it was not chosen on. Cross-fitting divides a corpus
into two halves of whole documents, chooses on one half, scores on the other, both ways, and adds
up. The two halves may choose differently: the score then rates the procedure, not one head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special

from headscope.errors import unknown
from headscope.results.moments import wilson as wilson

ALPHA = 0.05
"""The level of all tests, unless another is given."""
CORRECTIONS = ("none", "holm", "bh")
"""How p-values may be corrected: not at all, by Holm, or by Benjamini and Hochberg."""
_NAMES = {"holm": "Holm", "bh": "Benjamini–Hochberg", "maxt": "max-T"}


def corrected_by(correction: str, *, paper: bool = False) -> str:
    """Say how p-values were corrected.

    Parameters
    ----------
    correction
        Its name.
    paper
        Whether the paper tests in this way when it corrects nothing.

    Examples
    --------
    >>> corrected_by("holm"), corrected_by("none"), corrected_by("none", paper=True)
    ('corrected (Holm)', 'not corrected', 'not corrected, as in the paper')
    """
    if correction != "none":
        return f"corrected ({_NAMES[correction]})"
    return "not corrected, as in the paper" if paper else "not corrected"


def check_correction(method: str) -> None:
    """Raise an error that names the possible corrections if ``method`` is not one of them.

    >>> check_correction("holm")
    """
    if method not in CORRECTIONS:
        raise unknown("correction", method, CORRECTIONS)


def correct(
    p: ArrayLike, method: str = "holm", *, axis: int | tuple[int, ...] | None = None
) -> NDArray[np.float64]:
    """Correct p-values for the number of hypotheses that are tested together.

    Parameters
    ----------
    p
        The p-values. NaN stays NaN and does not count as a test.
    method
        ``holm`` bounds the chance of any false positive, ``bh`` (Benjamini and Hochberg) the
        expected share of false ones among the positives; ``none`` returns the values unchanged.
    axis
        The axes along which hypotheses belong together; by default all of them. With
        ``axis=(0, 1)`` an array (layer, head, label) is corrected over heads, for each label alone.

    Returns
    -------
    numpy.ndarray
        Of the same shape: the smallest error rate at which each hypothesis would be rejected.

    References
    ----------
    Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6; Benjamini and Hochberg 1995, "Controlling the false discovery rate", JRSS B 57.

    Examples
    --------
    >>> correct([0.01, 0.04, float("nan")], "holm").tolist()
    [0.02, 0.04, nan]
    >>> correct([[0.01, 0.5], [0.04, 0.02]], "holm", axis=0).tolist()
    [[0.02, 0.5], [0.04, 0.04]]
    """
    check_correction(method)
    values = np.array(p, float)
    if method == "none" or not values.size:
        return values
    axes = tuple(range(values.ndim)) if axis is None else axis
    axes = (axes,) if isinstance(axes, int) else axes
    last = tuple(range(values.ndim - len(axes), values.ndim))
    moved = np.moveaxis(values, axes, last)
    families = moved.reshape(-1, int(np.prod([values.shape[dim] for dim in axes], dtype=int)))
    order = np.argsort(families, axis=1, kind="stable")  # NaN last
    ordered, ranks = np.take_along_axis(families, order, 1), np.arange(1, families.shape[1] + 1)
    tests = (~np.isnan(families)).sum(1, keepdims=True)
    if method == "holm":  # times the tests from here on, at least as much as those before
        stepped = np.maximum.accumulate(ordered * (tests - ranks + 1), axis=1)
    else:  # times the tests by rank, at most as much as those after
        scaled = ordered / (ranks / np.maximum(tests, 1))
        least = np.fmin.accumulate(scaled[:, ::-1], axis=1)[:, ::-1]
        stepped = np.where(np.isnan(scaled), np.nan, least)
    corrected = np.empty_like(families)
    np.put_along_axis(corrected, order, np.minimum(stepped, 1.0), 1)
    return np.moveaxis(corrected.reshape(moved.shape), last, axes)


def binomial_tail(right: ArrayLike, size: ArrayLike, share: ArrayLike) -> NDArray[np.float64]:
    """The chance of so many right answers or more, if each is right with the same chance.

    Through the incomplete beta function: ``scipy.stats`` takes long to import.

    Parameters
    ----------
    right, size
        Right answers, and all.
    share
        The chance of a right answer.

    Examples
    --------
    >>> binomial_tail([0, 1, 2], 2, 0.5).tolist()
    [1.0, 0.75, 0.25]
    """
    right, size = np.asarray(right, np.float64), np.asarray(size, np.float64)
    some = np.maximum(right, 1.0)
    tail = special.betainc(some, size - some + 1, share)
    return np.where(right > 0, tail, 1.0)


Array = NDArray[Any]
SIZE = 1 << 15
"""How many numbers are held at a time."""


def paired_test(first: xr.DataArray, second: xr.DataArray, count: xr.DataArray) -> xr.DataArray:
    """One-sided test, by documents, that the first system is right more often than the second.

    Answers in one sentence or document are alike, so a test that takes them as independent finds
    differences too easily. If neither system were better, the two could change places in any
    document: see :func:`flipped`.

    Parameters
    ----------
    first, second
        By bucket of documents: how many answers each system has right.
    count
        By bucket: how many answers there are.

    Returns
    -------
    xarray.DataArray
        p, without the dimension ``bucket``; NaN where there are no answers.

    Examples
    --------
    >>> first = xr.DataArray([9, 3, 4], dims="bucket")
    >>> second, count = first - [9, 2, 2], xr.full_like(first, 9)
    >>> float(paired_test(first, second, count))  # one flip of eight
    0.125
    """
    p = xr.apply_ufunc(flipped, first - second, input_core_dims=[["bucket"]])
    known: xr.DataArray = p.where(count.sum("bucket") > 0)
    return known


def flipped(difference: Array) -> NDArray[np.float64]:
    """The exact p of sign flips: the share of all flips with a sum at least as large.

    Parameters
    ----------
    difference
        Whole numbers, by bucket of documents along the last axis: how many more answers the first
        system has right. Between systems that are equally good, either sign is as likely.

    Returns
    -------
    numpy.ndarray
        p of "the first is no better", 1 where the two never differ, and never below 2⁻ⁿ with n
        buckets in which they differ.

    References
    ----------
    Fisher 1935, "The design of experiments", section 21; Pagano and Tritchler 1983, "On obtaining
    permutation distributions in polynomial time", JASA 78.

    Examples
    --------
    >>> flipped(np.array([[3, 2, 1], [3, 2, -1], [0, 0, 0]])).tolist()
    [0.125, 0.25, 1.0]
    """
    signed = np.rint(np.asarray(difference, np.float64)).astype(np.int64)
    shape = signed.shape[:-1]
    signed = signed.reshape(-1, signed.shape[-1])
    sizes = np.abs(signed)
    # A flip changes the sum by twice what it flips, so it reaches the sum if what has become
    # negative is no more than what is negative.
    whole, negative = sizes.sum(1), np.where(signed < 0, sizes, 0).sum(1)
    upper = 2 * negative >= whole  # as likely as the rest: the shorter tail is summed
    tail = _at_most(sizes, np.where(upper, whole - negative - 1, negative))
    p: NDArray[np.float64] = np.where(upper, 1.0 - tail, tail).reshape(shape)
    return p


def flip_note(counts: xr.DataArray, alpha: float = ALPHA) -> str:
    """Say that documents are too few for any test to pass; empty where they are enough.

    Parameters
    ----------
    counts
        How many answers there are, by bucket of documents and test; each other dimension is one of
        tests that are corrected together (Holm).
    alpha
        The level.

    Examples
    --------
    >>> flip_note(xr.DataArray(np.ones((10, 72, 40)), dims=("bucket", "head", "relation")))
    'With 10 groups of documents no test can pass: the least p is 1/1,024, times 2,880 tests.'
    >>> flip_note(xr.DataArray(np.ones((32, 72, 40)), dims=("bucket", "head", "relation")))
    ''
    """
    numbers = counts.transpose("bucket", ...).values.reshape(counts.sizes["bucket"], -1)
    tests, filled = int((numbers.sum(0) > 0).sum()), int((numbers.max(1) > 0).sum())
    if tests * 0.5**filled < alpha:
        return ""
    groups = f"{filled} groups" if filled != 1 else "one group"
    return (
        f"With {groups} of documents no test can pass: the least p is 1/{2**filled:,}, "
        f"times {tests:,} tests."
    )


def _at_most(sizes: Array, most: Array) -> NDArray[np.float64]:
    """The share of all subsets of some numbers (row, number) whose sum is at most so much."""
    share = np.zeros(len(sizes))
    order = np.argsort(most, kind="stable")
    order = order[most[order] >= 0]
    while len(order):  # rows with sums of similar length together
        lengths = (most[order] + 1) * np.arange(1, len(order) + 1)
        end = max(1, int(np.searchsorted(lengths, SIZE, side="right")))
        rows, order = order[:end], order[end:]
        sums = np.arange(most[rows[-1]] + 1)
        chance = np.zeros((len(rows), len(sums)))  # of each sum, with the numbers so far
        chance[:, 0] = 1.0
        for number in sizes[rows].T:
            before = sums - number[:, None]
            with_it = np.take_along_axis(chance, np.maximum(before, 0), 1)
            chance = 0.5 * (chance + np.where(before >= 0, with_it, 0.0))
        share[rows] = np.where(sums <= most[rows, None], chance, 0.0).sum(1)
    return share


def rivals(right: Array, count: Array) -> tuple[int, NDArray[np.float64]]:
    """The best of several systems, and how surely it is better than each other one.

    Parameters
    ----------
    right
        By bucket and system: how many answers are right.
    count
        By bucket: how many answers there are.

    Returns
    -------
    best : int
        The place of the system that is right most often, the first of equals.
    p : numpy.ndarray
        By system: two-sided p of "it is as good as the best", since that was chosen for being
        better; 1 for the best itself.

    Examples
    --------
    >>> right = np.array([[5, 4, 1], [6, 6, 2], [5, 5, 1], [6, 4, 0], [5, 6, 1], [6, 5, 2]])
    >>> best, p = rivals(right, np.full(6, 9))
    >>> best, p.round(3).tolist()
    (0, [1.0, 0.5, 0.031])
    """
    known = right[np.asarray(count) > 0]
    best = int(np.argmax(known.sum(0)))
    difference = known[:, best, None] - known
    return best, np.minimum(1.0, 2.0 * flipped(difference.T))


FIRST, SECOND = slice(0, None, 2), slice(1, None, 2)
"""The buckets of the two halves: the first, third, …, and the second, fourth, …."""


@dataclass(frozen=True)
class CrossFit:
    """What was chosen on each half of a corpus, and how it did on the other half.

    Parameters
    ----------
    chosen
        The places of what the first half and the second half chose; None if nothing was chosen,
        because a half has no data.
    total, count
        By bucket: sums and counts of what the other half chose. All zero if nothing was chosen.
    """

    chosen: tuple[int, int] | None
    total: Array
    count: Array

    @classmethod
    def nothing(cls, buckets: int) -> CrossFit:
        """Where nothing could be chosen."""
        return cls(None, np.zeros(buckets), np.zeros(buckets))

    @property
    def score(self) -> float:
        """The mean over both halves; NaN if nothing was chosen."""
        return float(self.total.sum() / self.count.sum()) if self.chosen else float("nan")


def best_choice(total: ArrayLike, count: ArrayLike) -> int | None:
    """The place of the largest mean, the first of equals; None if nothing was counted.

    Parameters
    ----------
    total, count
        Sums and counts of every choice.

    Examples
    --------
    >>> best_choice([3, 4, 8], [10, 10, 20]), best_choice([0, 0], [0, 0])
    (1, None)
    """
    sums, counts = np.asarray(total, float), np.asarray(count, float)
    if not (counts > 0).any():
        return None
    means = np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), -np.inf)
    return int(np.argmax(means))


def cross_fit(total: ArrayLike, count: ArrayLike) -> CrossFit:
    """Choose the largest mean on each half of the buckets, and score it on the other half.

    Parameters
    ----------
    total, count
        Sums and counts by bucket and choice, (bucket, choice). All examples of a document must be
        in one bucket, as in the results of a survey.

    Returns
    -------
    CrossFit
        The two choices, and their sums and counts on the half that did not choose them.

    See Also
    --------
    cross_score : The same for scores that are not means, such as F1.

    Examples
    --------
    Two buckets, ten words each. The first half prefers choice 0, the second choice 1:

    >>> found = cross_fit([[8, 5], [4, 6]], [[10, 10], [10, 10]])
    >>> found.chosen, found.score
    ((0, 1), 0.45)

    On all words choice 0 has 12 of 20, which is what choosing and scoring on the same words gives.
    """
    sums, counts = np.asarray(total, float), np.asarray(count, float)
    first = best_choice(sums[FIRST].sum(0), counts[FIRST].sum(0))
    second = best_choice(sums[SECOND].sum(0), counts[SECOND].sum(0))
    if first is None or second is None:
        return CrossFit.nothing(len(sums))
    mine, number = sums[:, second].copy(), counts[:, second].copy()
    mine[SECOND], number[SECOND] = sums[SECOND, first], counts[SECOND, first]
    return CrossFit((first, second), mine, number)


def fit_apart(
    train_total: ArrayLike, train_count: ArrayLike, total: ArrayLike, count: ArrayLike
) -> CrossFit:
    """Choose the largest mean on training data, and score it on other data.

    Parameters
    ----------
    train_total, train_count
        Sums and counts of every choice on the training data.
    total, count
        By bucket and choice, (bucket, choice), on the data to score on.

    Returns
    -------
    CrossFit
        Both of its choices are the one made on the training data.

    Examples
    --------
    >>> fit_apart([7, 9], [10, 10], [[8, 5], [4, 6]], [[10, 10], [10, 10]]).score
    0.55
    """
    sums, counts = np.asarray(total, float), np.asarray(count, float)
    best = best_choice(train_total, train_count)
    if best is None or not counts[:, best].any():
        return CrossFit.nothing(len(sums))
    return CrossFit((best, best), sums[:, best], counts[:, best])


def cross_score(first: ArrayLike, second: ArrayLike) -> tuple[float, tuple[int, int] | None]:
    """Choose the largest of some scores on each half, and score it on the other half.

    Parameters
    ----------
    first, second
        The score of every choice on the first and on the second half; NaN is never chosen.

    Returns
    -------
    score : float
        The mean of the two scores on the half that did not choose; NaN if nothing was chosen.
    chosen : tuple of int or None
        The places of what the first half and the second half chose.

    Examples
    --------
    >>> cross_score([0.8, 0.5], [0.4, 0.6])
    (0.45, (0, 1))
    """
    one, other = np.asarray(first, float), np.asarray(second, float)
    if np.isnan(one).all() or np.isnan(other).all():
        return float("nan"), None
    chosen = int(np.nanargmax(one)), int(np.nanargmax(other))
    return float((other[chosen[0]] + one[chosen[1]]) / 2), chosen
