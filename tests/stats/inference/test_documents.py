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
from headscope.stats.inference.documents import (
    interval,
    interval_note,
    p_above,
    standard_error,
)
from stats.references import wilson_interval

PARTS = st.lists(
    st.integers(0, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=3,
    max_size=8,
)
"""Right answers and all answers of some buckets."""


def by_bucket(values: list[int]) -> xr.DataArray:
    return xr.DataArray(np.array(values, float), dims="bucket")


def left_out(parts: list[tuple[int, int]]) -> tuple[float, float, float]:
    """Share, its error by leaving out one group after the other, and Kish's effective number."""
    right, n = sum(r for r, _ in parts), sum(m for _, m in parts)
    share = right / n
    moved = [(right - r) / (n - m) - share for r, m in parts if m]
    return share, math.sqrt(sum(one**2 for one in moved)), n**2 / sum(m**2 for _, m in parts)


@given(parts=PARTS)
@settings(deadline=None)
def test_intervals_are_students_for_the_transformed_share(parts: list[tuple[int, int]]) -> None:
    assume(sum(m > 0 for _, m in parts) > 1)
    share, error, effective = left_out(parts)
    assume(effective > 2.5)
    right, n = by_bucket([r for r, _ in parts]), by_bucket([m for _, m in parts])
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


def test_for_equal_buckets_the_error_is_that_of_their_means_and_a_little_more() -> None:
    right = [4, 7, 5, 9, 8]
    error = standard_error(by_bucket(right), by_bucket([10] * 5))
    assert float(error) == pytest.approx(stats.sem([r / 10 for r in right]) * math.sqrt(5 / 4))


def test_the_test_for_equal_buckets_is_students_with_that_error() -> None:
    difference = [3, -1, 2, 4, 0, 1]
    p = p_above(by_bucket(difference), by_bucket([10] * 6))
    t = stats.ttest_1samp([d / 10 for d in difference], 0).statistic * math.sqrt(5 / 6)
    assert float(p) == pytest.approx(stats.t.sf(t, 5))


@pytest.mark.parametrize(("difference", "p"), [([2] * 3, 0.0), ([0] * 3, 1.0), ([-1] * 3, 1.0)])
def test_a_difference_that_never_varies_is_certain(difference: list[int], p: float) -> None:
    assert float(p_above(by_bucket(difference), by_bucket([5] * 3))) == p


@pytest.mark.parametrize("n", [[5, 0, 0], [5, 5, 0], [50, 5, 5]])
def test_too_few_effective_documents_have_no_interval_and_no_test(n: list[int]) -> None:
    right, count = by_bucket([min(3, m) for m in n]), by_bucket(n)
    for values in ("share", "positive", "signed"):
        assert all(math.isnan(float(end)) for end in interval(right, count, values))  # type: ignore[arg-type]
    assert math.isnan(float(p_above(right, count)))


def test_where_no_bucket_differs_a_share_has_wilsons_interval_and_others_no_width() -> None:
    never, count = by_bucket([0] * 20), by_bucket([7] * 20)
    low, high = interval(never, count, "share")
    assert (float(low), float(high)) == pytest.approx(wilson_interval(0, 20), abs=1e-12)
    always = ratio(count.values + 1e-9, count.values)  # as sums of float32 may be
    assert [float(end) for end in always.interval("share")] == pytest.approx(
        wilson_interval(20, 20), abs=1e-6
    )
    assert [float(end) for end in ratio(np.full(4, 6.0), np.full(4, 2.0)).interval("positive")] == [
        3.0,
        3.0,
    ]


@given(
    values=st.lists(st.floats(0, 1, width=32), min_size=3, max_size=12),
    counts=st.lists(st.integers(1, 9), min_size=12, max_size=12),
)
@settings(deadline=None)
def test_no_interval_leaves_the_range_of_its_values(values: list[float], counts: list[int]) -> None:
    weights = np.array(counts[: len(values)], float)
    found = ratio(np.array(values) * weights, weights)
    low, high = (float(end) for end in found.interval("share"))
    if not math.isnan(low):
        assert 0.0 <= low <= found.value + 1e-6
        assert found.value - 1e-6 <= high <= 1.0
    low, high = (float(end) for end in found.interval("positive"))
    if not math.isnan(low):
        assert 0.0 <= low <= found.value <= high


def test_the_interval_covers_the_truth_when_documents_differ_and_wilsons_does_not() -> None:
    random = np.random.default_rng(5)
    ours = plain = 0
    runs = 400
    for _ in range(runs):
        # 128 documents of 20 answers in 32 buckets; each has its own share around 0.7
        shares = random.beta(3.5, 1.5, 128)
        right = random.binomial(20, shares).reshape(32, 4).sum(1)
        low, high = interval(by_bucket(right.tolist()), by_bucket([80] * 32), "share")
        ours += bool(low <= 0.7 <= high)
        below, above = wilson_interval(int(right.sum()), 2560)
        plain += below <= 0.7 <= above
    assert 0.925 <= ours / runs <= 0.98
    assert plain / runs < 0.8


def test_a_few_long_documents_among_many_short_ones_are_covered_and_tests_keep_their_level() -> (
    None
):
    """Documents of a skewed length, as in web corpora: a few carry the corpus."""
    random = np.random.default_rng(8)
    covered = rejected = 0
    runs = 1500
    for _ in range(runs):
        sizes = random.geometric(0.12, 40).astype(float)
        own = random.normal(0, 1, 40)  # what all sentences of a document share
        sums = sizes * own + random.normal(0, np.sqrt(sizes))
        buckets = random.integers(32, size=40)
        y, m = (np.bincount(buckets, part, minlength=32) for part in (sums, sizes))
        found = ratio(y, m)
        low, high = found.interval()
        covered += bool(low <= 0 <= high)
        rejected += bool(found.p_above() < 0.05)
    assert 0.93 <= covered / runs <= 0.98
    assert 0.025 <= rejected / runs <= 0.065


@pytest.mark.parametrize(
    ("counts", "over", "note"),
    [
        (
            [4] * 14 + [0] * 18,
            "documents",
            "Intervals are rough: in effect there are only 14 documents.",
        ),
        (
            [90, 5, 5],
            "texts",
            "Intervals are rough: in effect there is only one text.",
        ),
        ([1] * 20, "documents", ""),
    ],
)
def test_few_documents_are_pointed_out(counts: list[int], over: str, note: str) -> None:
    by_relation = np.stack([counts, np.zeros(len(counts), int)], 1)
    data = xr.Dataset({"count": (("bucket", "relation"), by_relation)}, {}, {"intervals": over})
    assert interval_note(data) == note
