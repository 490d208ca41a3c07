"""Scaling to two dimensions: points in a plane are found again, up to rotation, reproducibly."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform

from headscope.stats import scale


def distances(points: np.ndarray) -> xr.DataArray:
    names = [f"{number}-1" for number in range(1, len(points) + 1)]
    return xr.DataArray(
        squareform(pdist(points)), coords={"one": names, "other": names}, dims=("one", "other")
    )


@pytest.mark.parametrize("seed", range(3))
def test_points_in_a_plane_are_found_again(seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(16, 2)) * [3.0, 1.0]
    frame, stress = scale(distances(points), seed=0)
    assert frame["name"].tolist() == [f"{number}-1" for number in range(1, 17)]
    assert procrustes(points, frame[["x", "y"]].to_numpy())[2] < 1e-3
    np.testing.assert_allclose(pdist(frame[["x", "y"]]), pdist(points), atol=0.1)
    assert stress < 0.02


def test_points_are_centred_and_their_longest_axis_is_x() -> None:
    points = np.random.default_rng(5).normal(size=(20, 2)) * [0.5, 4.0] + 100
    frame, _ = scale(distances(points), seed=1)
    assert frame[["x", "y"]].mean().tolist() == pytest.approx([0, 0], abs=1e-9)
    assert frame["x"].var() > frame["y"].var()
    assert frame["x"].corr(frame["y"]) == pytest.approx(0, abs=1e-6)


def test_a_seed_always_gives_the_same_points() -> None:
    given = distances(np.random.default_rng(2).random((12, 5)))
    one, other = scale(given, seed=7), scale(given, seed=7)
    assert one[0].equals(other[0])
    assert one[1] == other[1]


def test_stress_is_kruskals_on_the_points_given_back() -> None:
    given = distances(np.random.default_rng(3).random((10, 6)))
    frame, stress = scale(given, seed=0)
    apart, asked = pdist(frame[["x", "y"]]), squareform(given.values)
    assert stress == pytest.approx(np.sqrt(((apart - asked) ** 2).sum() / (asked**2).sum()))
    assert stress > 0.02  # six dimensions do not fit into two
