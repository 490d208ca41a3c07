"""The tests and intervals that the papers' tables need, on counts, as thin layers over scipy and statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from headscope.results.moments import wilson

__all__ = ["CORRECTIONS", "correct", "paired_sign", "wilson"]

CORRECTIONS = {"none": None, "holm": "holm", "bh": "fdr_bh"}


def paired_sign(only_one: ArrayLike, only_other: ArrayLike) -> NDArray[np.float64]:
    """One-sided exact McNemar test: how likely the first is right alone at least this often, if both were equally good.

    ``only_one`` counts the cases that the first alone gets right, ``only_other`` those of the second.

    >>> round(float(paired_sign(9, 1)), 4)
    0.0107
    """
    one, other = np.asarray(only_one, float), np.asarray(only_other, float)
    found: NDArray[np.float64] = stats.binom.sf(one - 1, one + other, 0.5)
    return np.where(one + other > 0, found, 1.0)


def correct(p: ArrayLike, method: str = "holm") -> NDArray[np.float64]:
    """p-values corrected for their number: none, holm or bh (Benjamini and Hochberg); NaN stays NaN and is not counted.

    >>> correct([0.01, 0.04, float("nan")], "holm").tolist()
    [0.02, 0.04, nan]
    """
    values = np.asarray(p, float)
    flat = values.ravel().copy()
    known = ~np.isnan(flat)
    name: Any = CORRECTIONS[method]
    if name is not None and known.any():
        flat[known] = multipletests(flat[known], method=name)[1]
    return flat.reshape(values.shape)
