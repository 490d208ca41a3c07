"""Are heads of one layer close to each other? (Clark et al. 2019, Section 6)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from headscope.heads import Head

RESAMPLES = 9999
"""Permutations; the smallest p is then 0.0001."""


@dataclass(frozen=True)
class LayerCloseness:
    """Distances within layers against distances between layers.

    Parameters
    ----------
    within, between
        The mean distance of two heads of one layer, and of two heads of different layers.
    p
        How often heads that are dealt out to layers at random are at most as far apart within
        layers; NaN with fewer than two layers, or with one head per layer.
    permutations
        How many random deals.
    """

    within: float
    between: float
    p: float
    permutations: int


def layer_closeness(
    distances: xr.DataArray, *, seed: int, permutations: int = RESAMPLES
) -> LayerCloseness:
    """Compare distances within layers with distances between layers by a permutation test.

    Heads are dealt out to layers at random, with as many heads per layer as there are. The
    statistic is the mean distance within layers: small where heads of a layer behave alike. The
    test is one-sided, and p is (1 + deals at least as small) / (1 + deals).

    Parameters
    ----------
    distances
        With dims one and other, both with the names of heads; symmetric.
    seed
        Of the random deals.
    permutations
        How many deals.

    Returns
    -------
    LayerCloseness
        Both means and p.

    Examples
    --------
    >>> names = ["1-1", "1-2", "2-1", "2-2"]
    >>> rows = [[0, 1, 5, 5], [1, 0, 5, 5], [5, 5, 0, 1], [5, 5, 1, 0]]
    >>> labels = {"one": names, "other": names}
    >>> apart = xr.DataArray(np.array(rows, float), labels, ("one", "other"))
    >>> found = layer_closeness(apart, seed=0, permutations=99)
    >>> found.within, found.between
    (1.0, 5.0)
    """
    values = np.asarray(distances.values, float)
    values = (values + values.T) / 2
    layers = np.array([Head.parse(str(name)).layer for name in distances["one"].values])
    pairs = np.triu_indices(len(layers), 1)
    same = (layers[:, None] == layers)[pairs]
    if same.all() or not same.any():
        return LayerCloseness(*_means(values[pairs], same), np.nan, 0)
    observed = float(values[pairs][same].mean())
    random = np.random.default_rng(seed)
    # Heads move with their rows and columns; the places of the layers stay where they are.
    first, second = pairs[0][same], pairs[1][same]
    smaller = 0
    for _ in range(permutations):
        deal = random.permutation(len(layers))
        # A deal that moves nothing between layers must count as equal despite rounding.
        smaller += values[deal[first], deal[second]].mean() <= observed * (1 + 1e-12)
    p = (1 + smaller) / (1 + permutations)
    return LayerCloseness(*_means(values[pairs], same), float(p), permutations)


def _means(distances: np.ndarray, same: np.ndarray) -> tuple[float, float]:
    """The means within and between; NaN where there is no such pair."""
    parts = (distances[same], distances[~same])
    within, between = (float(part.mean()) if part.size else np.nan for part in parts)
    return within, between
