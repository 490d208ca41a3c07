"""Means, deviations and intervals from sums equal those of scipy on the raw values."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from headscope.results import moments
from stats.references import wilson_interval

VALUES = st.lists(st.one_of(st.floats(-50, 50, width=32), st.just(float("nan"))), max_size=14)


def sums(values: list[float], blocks: int) -> xr.Dataset:
    """Sums by block, in plain loops; NaN is not counted."""
    total, square, count = [0.0] * blocks, [0.0] * blocks, [0] * blocks
    for index, value in enumerate(values):
        if value == value:
            total[index % blocks] += value
            square[index % blocks] += value * value
            count[index % blocks] += 1
    return xr.Dataset(
        {"sum": ("bucket", total), "square": ("bucket", square), "count": ("bucket", count)}
    )


@given(values=VALUES, blocks=st.integers(1, 5))
@example(values=[], blocks=3)
@example(values=[2.5], blocks=3)
@example(values=[0.1] * 10, blocks=2)
@settings(deadline=None, max_examples=80)
def test_mean_and_deviation_are_those_of_the_raw_values(values, blocks):
    derived = moments.derive(sums(values, blocks))
    raw = np.array([value for value in values if value == value])
    near = {
        "rel": 1e-6,
        "abs": 1e-6 * max(np.abs(raw).max(initial=0.0), 1e-3),
        "nan_ok": True,
    }  # squares cost half of the digits
    assert int(derived["n"]) == len(raw)
    assert float(derived["mean"]) == pytest.approx(raw.mean() if len(raw) else np.nan, **near)
    if len(raw) < 2:
        assert np.isnan([float(derived[name]) for name in ("deviation", "low", "high")]).all()
        return
    expected = pytest.approx(np.sqrt(stats.describe(raw).variance) if np.ptp(raw) else 0.0, **near)
    assert float(derived["deviation"]) == expected


def test_with_one_value_per_document_the_interval_is_students_and_a_little_wider():
    raw = np.array([1.0, 2.0, 4.0, 8.0])
    derived = moments.derive(sums(raw.tolist(), 4))
    low, high = stats.ttest_1samp(raw, 0.0).confidence_interval(0.95)
    centre, half = raw.mean(), (high - low) / 2 * np.sqrt(4 / 3)  # as leaving out gives
    expected = pytest.approx((centre - half, centre + half))
    assert (float(derived["low"]), float(derived["high"])) == expected


def test_texts_of_one_document_count_as_one():
    """The same four values, each said five times by its document: the interval is the same."""
    once, often = (moments.derive(sums([1.0, 2.0, 4.0, 8.0] * times, 4)) for times in (1, 5))
    assert float(often["low"]) == pytest.approx(float(once["low"]))
    assert float(often["deviation"]) < float(once["deviation"])


def test_what_was_never_counted_is_nan_and_not_0_beside_what_was():
    whole = xr.Dataset(
        {
            "sum": (("bucket", "head"), [[3.0, 0.0], [1.0, 0.0]]),
            "square": (("bucket", "head"), [[9.0, 0.0], [1.0, 0.0]]),
            "count": (("bucket", "head"), [[1, 0], [1, 0]]),
        }
    )
    derived = moments.derive(whole)
    assert derived["mean"].values == pytest.approx([2.0, np.nan], nan_ok=True)
    assert derived["deviation"].values == pytest.approx([np.sqrt(2), np.nan], nan_ok=True)
    assert derived["n"].values.tolist() == [2, 0]
    assert "bucket" not in derived["mean"].dims
    kept = derived[["sum", "square", "count"]].drop_attrs()
    xr.testing.assert_identical(kept, whole)
    assert derived.attrs == {"intervals": "texts"}


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_the_interval_of_a_share_lies_between_0_and_1_at_both_ends(end):
    near = abs(end - 1e-9)
    values = [near, near, abs(end - 0.2), end]
    free = moments.derive(sums(values, 4))
    share = moments.derive(sums(values, 4).assign_attrs(unit="share of attention"))
    assert not 0 <= float(free["low" if end == 0 else "high"]) <= 1  # crosses the end
    mean = np.mean(values)
    error = math.sqrt(sum((np.mean(np.delete(values, at)) - mean) ** 2 for at in range(4)))
    reach = stats.t.ppf(0.975, 3) * error / (mean * (1 - mean))
    ends = special.expit([special.logit(mean) - reach, special.logit(mean) + reach])
    assert [float(share[name]) for name in ("low", "high")] == pytest.approx(ends, rel=1e-6)
    assert 0 < float(share["low"]) < float(share["high"]) < 1
    assert float(share["mean"]) == float(free["mean"]) == pytest.approx(mean)


def test_a_share_that_rounding_has_put_outside_is_put_at_the_end_with_its_interval():
    for value, end in ((1 + 1e-7, 1.0), (-1e-7, 0.0)):
        found = moments.derive(sums([value] * 3, 3).assign_attrs(unit="share of attention"))
        low, high = wilson_interval(3 * end, 3)  # no text differs from another
        expected = pytest.approx([low, end, high], abs=1e-6)
        assert [float(found[name]) for name in ("low", "mean", "high")] == expected
        assert float(found["mean"]) == end
        assert 0 <= float(found["low"]) < float(found["high"]) <= 1


def test_a_mean_far_outside_is_not_hidden_and_other_units_are_not_clipped():
    wrong = moments.derive(sums([1.5, 1.7, 1.6], 3).assign_attrs(unit="share of attention"))
    assert float(wrong["mean"]) == pytest.approx(1.6)
    assert float(wrong["high"]) > 1.7
    change = sums([-0.5, -0.7, -0.6], 3).assign_attrs(unit="change in share of attention")
    assert float(moments.derive(change)["mean"]) == pytest.approx(-0.6)
    assert float(moments.derive(change)["low"]) < -0.7
