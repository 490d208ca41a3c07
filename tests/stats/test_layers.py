"""Closeness of layers: means as a plain loop has them, planted layers found, and an honest p."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
import xarray as xr
from scipy.spatial.distance import pdist, squareform

from headscope.stats import layer_closeness


def heads(layers: int, each: int) -> list[str]:
    return [f"{layer}-{head}" for layer in range(1, layers + 1) for head in range(1, each + 1)]


def apart(values: np.ndarray, names: list[str]) -> xr.DataArray:
    return xr.DataArray(values, coords={"one": names, "other": names}, dims=("one", "other"))


def random_distances(names: list[str], seed: int) -> xr.DataArray:
    points = np.random.default_rng(seed).normal(size=(len(names), 3))
    return apart(squareform(pdist(points)), names)


def test_means_are_those_of_a_plain_loop_over_pairs() -> None:
    names = heads(3, 4)
    given = random_distances(names, 1)
    within, between = [], []
    for one, other in combinations(names, 2):
        value = float(given.sel(one=one, other=other))
        (within if one.split("-")[0] == other.split("-")[0] else between).append(value)
    found = layer_closeness(given, seed=0, permutations=9)
    assert found.within == pytest.approx(sum(within) / len(within))
    assert found.between == pytest.approx(sum(between) / len(between))


def test_p_is_the_share_of_all_ways_to_deal_out_the_heads() -> None:
    names = heads(3, 2)
    given = random_distances(names, 4)

    def mean_within(order: tuple[int, ...]) -> float:
        pairs = [(order[place], order[place + 1]) for place in (0, 2, 4)]
        return float(np.mean([given.values[pair] for pair in pairs]))

    deals = [mean_within(order) for order in permutations(range(6))]
    exact = np.mean([deal <= mean_within(tuple(range(6))) + 1e-12 for deal in deals])
    found = layer_closeness(given, seed=0, permutations=20_000)
    assert found.p == pytest.approx(exact, abs=0.01)


def test_planted_layers_are_found_with_the_smallest_p_there_is() -> None:
    names = heads(6, 12)
    centres = np.repeat(np.random.default_rng(0).normal(size=(6, 2)), 12, axis=0)
    points = centres + 0.3 * np.random.default_rng(1).normal(size=centres.shape)
    found = layer_closeness(apart(squareform(pdist(points)), names), seed=0, permutations=999)
    assert found.within < found.between
    assert found.p == 1 / 1000


def test_without_layers_p_is_uniform() -> None:
    names = heads(4, 5)
    values = [
        layer_closeness(random_distances(names, seed), seed=seed, permutations=99).p
        for seed in range(300)
    ]
    assert np.mean(np.array(values) <= 0.05) == pytest.approx(0.05, abs=0.035)
    assert np.mean(values) == pytest.approx(0.5, abs=0.06)


def test_heads_of_a_layer_that_avoid_each_other_are_not_close() -> None:
    names = heads(2, 2)
    rows = np.array([[0, 5, 1, 1], [5, 0, 1, 1], [1, 1, 0, 5], [1, 1, 5, 0]], float)
    found = layer_closeness(apart(rows, names), seed=0, permutations=999)
    assert (found.within, found.between, found.p) == (5.0, 1.0, 1.0)


@pytest.mark.parametrize("names", [heads(1, 4), heads(4, 1)])
def test_one_layer_or_one_head_per_layer_has_no_p(names: list[str]) -> None:
    found = layer_closeness(random_distances(names, 0), seed=0)
    assert np.isnan(found.p)
    assert np.isnan(found.within) != np.isnan(found.between)
