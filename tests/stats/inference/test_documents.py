"""Intervals and tests by documents, against plain loops, scipy and a simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from headscope.results.moments import Range, ratio
from headscope.stats.inference.documents import interval, interval_note, p_above, standard_error
from stats.references import left_out, wilson_interval

PARTS = st.lists(
    st.integers(0, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=3,
    max_size=8,
)
"""Right answers and all answers of some buckets."""


def by_bucket(values: list[int]) -> xr.DataArray:
    return xr.DataArray(np.array(values, float), dims="bucket")


@given(parts=PARTS)
@settings(deadline=None)
def test_intervals_are_students_for_the_transformed_share(parts):
    assume(sum(m > 0 for _, m in parts) > 1)
    right, count = [r for r, _ in parts], [m for _, m in parts]
    share, error, effective = left_out(right, count)
    assume(effective > 2.5)
    right, n = by_bucket(right), by_bucket(count)
    assert float(standard_error(right, n)) == pytest.approx(error, abs=1e-12)
    t = float(stats.t.ppf(0.975, effective - 1))
    expected: dict[Range, tuple[float, float]] = {"signed": (share - t * error, share + t * error)}
    if error < 1e-9:
        expected["share"] = wilson_interval(share * effective, effective)
        expected["positive"] = (share, share)
    else:
        odds, reach = math.log(share / (1 - share)), t * error / (share * (1 - share))
        expected["share"] = tuple(stats.logistic.cdf([odds - reach, odds + reach]).tolist())  # type: ignore[assignment]
        factor = math.exp(min(t * error / share, 500))
        expected["positive"] = (share / factor, share * factor)
    for values, ends in expected.items():
        low, high = interval(right, n, values)
        assert (float(low), float(high)) == pytest.approx(ends, rel=1e-6, abs=1e-9)


def test_the_test_for_equal_buckets_is_students_with_that_error():
    difference = [3, -1, 2, 4, 0, 1]
    p = p_above(by_bucket(difference), by_bucket([10] * 6))
    t = stats.ttest_1samp([d / 10 for d in difference], 0).statistic * math.sqrt(5 / 6)
    assert float(p) == pytest.approx(stats.t.sf(t, 5))


@pytest.mark.parametrize(("difference", "p"), [([2] * 3, 0.0), ([0] * 3, 1.0), ([-1] * 3, 1.0)])
def test_a_difference_that_never_varies_is_certain(difference, p):
    assert float(p_above(by_bucket(difference), by_bucket([5] * 3))) == p


@pytest.mark.parametrize("n", [[5, 0, 0], [5, 5, 0], [50, 5, 5]])
def test_too_few_effective_documents_have_no_interval_and_no_test(n):
    right, count = by_bucket([min(3, m) for m in n]), by_bucket(n)
    for values in ("share", "positive", "signed"):
        assert all(math.isnan(float(end)) for end in interval(right, count, values))  # type: ignore[arg-type]
    assert math.isnan(float(p_above(right, count)))


def test_where_no_bucket_differs_a_share_has_wilsons_interval_and_others_no_width():
    never, count = by_bucket([0] * 20), by_bucket([7] * 20)
    low, high = interval(never, count, "share")
    assert (float(low), float(high)) == pytest.approx(wilson_interval(0, 20), abs=1e-12)
    always = ratio(count.values + 1e-9, count.values)  # as sums of float32 may be
    expected = pytest.approx(wilson_interval(20, 20), abs=1e-6)
    assert [float(end) for end in always.interval("share")] == expected
    found = [float(end) for end in ratio(np.full(4, 6.0), np.full(4, 2.0)).interval("positive")]
    assert found == [3.0, 3.0]


@given(
    values=st.lists(st.floats(0, 1, width=32), min_size=3, max_size=12),
    counts=st.lists(st.integers(1, 9), min_size=12, max_size=12),
)
@settings(deadline=None)
def test_no_interval_leaves_the_range_of_its_values(values, counts):
    weights = np.array(counts[: len(values)], float)
    found = ratio(np.array(values) * weights, weights)
    low, high = (float(end) for end in found.interval("share"))
    if not math.isnan(low):
        assert 0.0 <= low <= found.value + 1e-6
        assert found.value - 1e-6 <= high <= 1.0
    low, high = (float(end) for end in found.interval("positive"))
    if not math.isnan(low):
        assert 0.0 <= low <= found.value <= high


@pytest.mark.parametrize(
    ("counts", "over", "note"),
    [
        (
            [4] * 14 + [0] * 18,
            "documents",
            "Intervals are rough: in effect there are only 14 documents.",
        ),
        ([90, 5, 5], "texts", "Intervals are rough: in effect there is only one text."),
        ([1] * 20, "documents", ""),
    ],
)
def test_few_documents_are_pointed_out(counts, over, note):
    by_relation = np.stack([counts, np.zeros(len(counts), int)], 1)
    data = xr.Dataset({"count": (("bucket", "relation"), by_relation)}, {}, {"intervals": over})
    assert interval_note(data) == note
