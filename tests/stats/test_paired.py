"""Sign flips over documents, against scipy's and against trying every flip."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headscope.stats.inference.correction import flipped, paired_test, rivals
from stats.references import every_flip

DIFFERENCES = st.lists(st.integers(-6, 6), min_size=1, max_size=8)


@given(st.lists(DIFFERENCES, min_size=1, max_size=4))
def test_p_is_the_share_of_all_flips_of_documents(rows: list[list[int]]) -> None:
    size = max(map(len, rows))
    padded = [row + [0] * (size - len(row)) for row in rows]
    found = flipped(np.array(padded))
    assert found.tolist() == pytest.approx([every_flip(row) for row in rows], abs=1e-12)


def test_p_is_that_of_scipys_permutation_test() -> None:
    difference = np.array([9, -2, 14, 3, 0, 7, -1, 5, 2, 11])
    expected = stats.permutation_test(
        (difference,),
        np.sum,
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
        vectorized=True,
    ).pvalue
    assert float(flipped(difference)) == pytest.approx(expected)


def test_many_rows_of_any_length_are_the_same_as_one_at_a_time() -> None:
    random = np.random.default_rng(1)
    scale = 10 ** random.uniform(0, 3, (300, 1))
    difference = np.rint(random.normal(0.5, 1.0, (300, 32)) * scale)
    together = flipped(difference)
    assert together[::29].tolist() == [float(flipped(row)) for row in difference[::29]]
    assert together.min() >= 0.5**32
    assert together.max() <= 1.0


def by_bucket(values: list[int]) -> xr.DataArray:
    return xr.DataArray(np.array(values), dims="bucket")


def test_one_document_tells_nothing_and_no_answers_have_no_p() -> None:
    assert float(paired_test(by_bucket([6, 0]), by_bucket([2, 0]), by_bucket([8, 0]))) == 0.5
    assert np.isnan(float(paired_test(by_bucket([0]), by_bucket([0]), by_bucket([0]))))
    assert float(paired_test(by_bucket([3]), by_bucket([3]), by_bucket([5]))) == 1.0


@pytest.mark.parametrize("documents", [12, 32])
def test_the_test_keeps_its_size_when_answers_come_in_documents_of_any_size(documents: int) -> None:
    random = np.random.default_rng(11)
    sizes = np.clip(random.lognormal(2.0, 1.0, (600, documents)).astype(int), 1, 200)
    # In each document, either system is right where the other is wrong.
    share = np.where(random.random(sizes.shape) < 0.5, 0.9, 0.1)
    first = random.binomial(sizes, share)
    p = flipped(2 * first - sizes)
    assert 0.02 < np.mean(p < 0.05) < 0.075
    assert np.mean(p < 0.01) < 0.025
    single = stats.binom.sf(first.sum(1) - 1, sizes.sum(1), 0.5)
    assert np.mean(single < 0.05) > 0.2  # as if answers were independent


def test_the_best_is_told_from_each_other_system_by_both_tails() -> None:
    random = np.random.default_rng(4)
    count = random.integers(5, 40, 24)
    right = np.stack([random.binomial(count, share) for share in (0.6, 0.62, 0.3)], 1)
    best, p = rivals(right, count)
    assert best == int(right.sum(0).argmax())
    for other in range(3):
        expected = min(1.0, 2 * float(flipped(right[:, best] - right[:, other])))
        assert p[other] == pytest.approx(expected)
    assert p[best] == 1.0
    assert p[1 - best] > 0.05 > p[2]
