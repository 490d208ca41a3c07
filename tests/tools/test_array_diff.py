"""Arrays are compared label by label, and rounding of sums is told from other differences."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from freeze import reading as number_files
from freeze.comparing import RESOLUTION, difference, rounding_errors
from scipy import stats


def test_labels_are_matched_whatever_their_order():
    old = xr.DataArray([1.0, 2.0], dims="row", coords={"row": ["a", "b"]})
    new = xr.DataArray([2.0, 9.0, 1.0], dims="row", coords={"row": ["b", "c", "a"]})
    found = difference(old, new)
    assert found.equal
    assert found.added == ("c",)
    assert difference(new, old).missing == ("c",)


@pytest.mark.parametrize(
    "new",
    [
        xr.DataArray([1.0, 2.0], dims="head"),
        xr.DataArray([1.0, 2.0, 3.0], dims="row"),
        xr.DataArray([1.0, 2.0], dims="row", coords={"row": ["a", "b"]}),
    ],
)
def test_arrays_that_cannot_be_matched_are_not_equal(new):
    assert not difference(xr.DataArray([1.0, 2.0], dims="row"), new).equal


def test_every_number_beyond_the_tolerance_is_named_with_its_label():
    old = xr.DataArray([1.0, 2.0, 3.0], dims="row", coords={"row": ["a", "b", "c"]})
    found = difference(old, old + np.array([0.0, 1e-13, 1.0]), tolerance=1e-12)
    assert found.moved == 2
    assert found.beyond == ("c 3.0 became 4.0",)


def numbers(**statistics: float) -> number_files.Numbers:
    """The numbers of a measure."""
    return {
        ("m", name.replace("_", " ")): xr.DataArray([value]) for name, value in statistics.items()
    }


def test_a_deviation_may_move_as_far_as_the_rounding_of_its_sums():
    bound = rounding_errors(numbers(mean=0.5, deviation=1e-6), "m", "deviation")
    assert bound is not None
    # Sums of squares near 0.25 are exact to about 1e-16, so the deviation to 1e-16 / 1e-6.
    assert 1e-11 < bound.item() < 1e-8
    old, near, far = (xr.DataArray([1e-6 + bound.item() * part]) for part in (0, 0.5, 2))
    assert not difference(old, near, bound, 1e-12).beyond
    assert difference(old, far, bound, 1e-12).beyond


def test_the_rounding_of_a_sum_of_squares_stays_below_the_bound():
    values = 0.5 + 1e-6 * np.random.default_rng(0).standard_normal(60)
    total, square = values.sum(), (values**2).sum()
    from_sums = np.sqrt((square - total**2 / 60) / 59)
    found = numbers(mean=values.mean(), deviation=values.std(ddof=1))
    bound = rounding_errors(found, "m", "deviation")
    assert bound is not None
    assert 0 < abs(from_sums - values.std(ddof=1)) < bound.item()


def test_a_total_may_move_by_the_resolution_for_each_of_its_numbers():
    bound = rounding_errors(numbers(total_sum=1e-30, total_count=60.0), "m", "total sum")
    assert bound is not None
    assert bound.item() == 60 * RESOLUTION
    assert rounding_errors(numbers(mean=1.0), "m", "mean") is None


def test_example_values_are_matched_by_the_ids_of_the_examples():
    value = xr.DataArray([1.0, 2.0], {"example": [0, 1], "id": ("example", ["x", "y"])}, "example")
    other = xr.DataArray([2.0, 1.0], {"example": [0, 1], "id": ("example", ["y", "x"])}, "example")
    assert difference(number_files.by_id(value), number_files.by_id(other)).equal
    assert not difference(value, other).equal


def test_deviations_and_p_values_move_with_the_values_that_they_come_from():
    values = 0.5 + 1e-4 * np.random.default_rng(0).standard_normal(60)
    moved = values * (1 + 1e-7 * np.random.default_rng(1).uniform(-1, 1, 60))
    one, other = values.std(ddof=1), moved.std(ddof=1)
    bound = rounding_errors(numbers(mean=0.5, deviation=one), "m", "deviation", 1e-7)
    assert bound is not None
    assert abs(one - other) / one > 1e-7, "more than the values moved"
    assert abs(one - other) < bound.item() < 1e-5
    p, q = (2 * stats.norm.sf(z) for z in (20.0, 20.0 * (1 + 1e-7)))
    bound = rounding_errors(numbers(p=p), "m", "p", 1e-7)
    assert bound is not None
    assert 1e-6 * p < abs(p - q) < bound.item() < 1e-4 * p
