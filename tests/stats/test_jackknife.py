"""Intervals and tests by documents, against plain loops, scipy and a simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from headscope.stats.jackknife import (
    cluster_test,
    jackknife_error,
    rough_intervals,
    share_interval,
)
from stats.references import wilson_interval

PARTS = st.lists(
    st.integers(0, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=2,
    max_size=8,
)
"""Right answers and all answers of some buckets."""


def by_bucket(values: list[int]) -> xr.DataArray:
    return xr.DataArray(np.array(values, float), dims="bucket")


def left_out_variance(parts: list[tuple[int, int]]) -> float:
    """The delete-m jackknife of Busing et al. (1999), with one group after the other left out."""
    parts = [part for part in parts if part[1]]
    right, n, groups = sum(r for r, _ in parts), sum(m for _, m in parts), len(parts)
    share = right / n
    total = 0.0
    pseudo = []
    for r, m in parts:
        h = n / m
        pseudo.append((h, h * share - (h - 1) * (right - r) / (n - m)))
    centre = groups * share - sum((1 - m / n) * (right - r) / (n - m) for r, m in parts)
    for h, value in pseudo:
        total += (value - centre) ** 2 / (h - 1)
    return total / groups


@given(parts=PARTS)
@settings(deadline=None)
def test_the_interval_is_wilsons_for_as_many_independent_answers(
    parts: list[tuple[int, int]],
) -> None:
    filled = [part for part in parts if part[1]]
    assume(len(filled) > 1)
    right, n = sum(r for r, _ in filled), sum(m for _, m in filled)
    low, high = share_interval(by_bucket([r for r, _ in parts]), by_bucket([n for _, n in parts]))
    share, variance = right / n, left_out_variance(filled)
    number = float(n)
    if 0 < right < n and variance > 1e-12:
        number = min(number, share * (1 - share) / variance)
    t = float(stats.t.ppf(0.975, len(filled) - 1))
    expected = wilson_interval(share * number, number, t)
    assert (float(low), float(high)) == pytest.approx(expected, abs=1e-9)


def test_the_standard_error_for_equal_buckets_is_that_of_their_means() -> None:
    right = [4, 7, 5, 9, 8]
    error = jackknife_error(by_bucket(right), by_bucket([10] * 5))
    assert float(error) == pytest.approx(stats.sem([r / 10 for r in right]))


def test_the_test_for_equal_buckets_is_students() -> None:
    difference = [3, -1, 2, 4, 0, 1]
    p = cluster_test(by_bucket(difference), by_bucket([10] * 6))
    expected = stats.ttest_1samp([d / 10 for d in difference], 0, alternative="greater").pvalue
    assert float(p) == pytest.approx(expected)


@pytest.mark.parametrize(("difference", "p"), [([2, 2], 0.0), ([0, 0], 1.0), ([-1, -1], 1.0)])
def test_a_difference_that_never_varies_is_certain(difference: list[int], p: float) -> None:
    assert float(cluster_test(by_bucket(difference), by_bucket([5, 5]))) == p


def test_one_bucket_alone_has_no_interval_and_no_test() -> None:
    right, n = by_bucket([3, 0]), by_bucket([5, 0])
    assert all(math.isnan(float(end)) for end in share_interval(right, n))
    assert math.isnan(float(cluster_test(right, n)))
    assert all(math.isnan(float(end)) for end in share_interval(right * 0, n * 0))


def test_the_interval_covers_the_truth_when_documents_differ_and_wilsons_does_not() -> None:
    random = np.random.default_rng(5)
    ours = plain = 0
    runs = 400
    for _ in range(runs):
        # 128 documents of 20 answers in 32 buckets; each has its own share around 0.7
        shares = random.beta(3.5, 1.5, 128)
        right = random.binomial(20, shares).reshape(32, 4).sum(1)
        low, high = share_interval(by_bucket(right.tolist()), by_bucket([80] * 32))
        ours += bool(low <= 0.7 <= high)
        below, above = wilson_interval(int(right.sum()), 2560)
        plain += below <= 0.7 <= above
    assert 0.925 <= ours / runs <= 0.98
    assert plain / runs < 0.8


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        (
            [4] * 19 + [0] * 13,
            "Intervals are rough: there are few documents (19 groups for the jackknife).",
        ),
        ([7], "Intervals are rough: there are few documents (one group for the jackknife)."),
        ([1] * 20, ""),
    ],
)
def test_few_documents_are_pointed_out(counts: list[int], note: str) -> None:
    by_relation = np.stack([counts, np.zeros(len(counts), int)], 1)
    data = xr.Dataset({"count": (("bucket", "relation"), by_relation)})
    assert rough_intervals(data) == note
