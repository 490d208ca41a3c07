"""Tests on counts, and the correction of p-values when many hypotheses are tested at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from headscope.errors import unknown
from headscope.results.moments import wilson

__all__ = [
    "CORRECTIONS",
    "binomial_tail",
    "check_correction",
    "correct",
    "corrected_by",
    "wilson",
]

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
    families = moved.reshape(-1, int(np.prod([values.shape[one] for one in axes], dtype=int)))
    corrected = _holm(families) if method == "holm" else _benjamini_hochberg(families)
    return np.moveaxis(corrected.reshape(moved.shape), last, axes)


def _holm(families: NDArray[np.float64]) -> NDArray[np.float64]:
    """The k-th smallest of m values times m - k + 1, at least as much as those before it."""
    order, ordered, known, places = _sorted(families)
    stepped = np.maximum.accumulate(ordered * (known - places), axis=1)
    return _unsorted(stepped, order)


def _benjamini_hochberg(families: NDArray[np.float64]) -> NDArray[np.float64]:
    """The k-th smallest of m values times m / k, at most as much as those after it."""
    order, ordered, known, places = _sorted(families)
    scaled = ordered / ((places + 1) / np.maximum(known, 1))
    filled = np.where(np.isnan(scaled), np.inf, scaled)
    stepped = np.minimum.accumulate(filled[:, ::-1], axis=1)[:, ::-1]
    return _unsorted(np.where(np.isnan(scaled), np.nan, stepped), order)


def _sorted(
    families: NDArray[np.float64],
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Each row in order, NaN last; the order, how many are known, and the places from 0."""
    order = np.argsort(families, axis=1, kind="stable")
    known = (~np.isnan(families)).sum(1, keepdims=True)
    places = np.arange(families.shape[1])
    return order, np.take_along_axis(families, order, 1), known, places


def _unsorted(ordered: NDArray[np.float64], order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Values put back where they came from, none above 1."""
    result = np.empty_like(ordered)
    np.put_along_axis(result, order, np.minimum(ordered, 1.0), 1)
    return result


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
