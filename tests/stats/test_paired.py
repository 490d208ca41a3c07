"""The paired test by documents, against scipy's tests on buckets and on single answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from headscope.stats.paired import paired_test
from headscope.stats.tests import paired_sign


def by_bucket(values: Sequence[int]) -> xr.DataArray:
    return xr.DataArray(np.array(values), dims="bucket")


def p_of(first: list[int], second: list[int], both: list[int], count: list[int]) -> float:
    return float(paired_test(*map(by_bucket, (first, second, both, count))))


def test_answers_in_many_documents_are_tested_by_document() -> None:
    first, second, both = [9, 2, 8, 1, 9, 3], [4, 3, 3, 3, 4, 4], [2, 1, 2, 0, 3, 2]
    shares = [(one - other) / 10 for one, other in zip(first, second, strict=True)]
    by_document = stats.ttest_1samp(shares, 0, alternative="greater").pvalue
    only = sum(first) - sum(both), sum(second) - sum(both)
    single = stats.binomtest(only[0], sum(only), 0.5, alternative="greater").pvalue
    assert by_document > single
    assert p_of(first, second, both, [10] * 6) == pytest.approx(by_document)


def test_p_is_never_below_that_of_the_exact_test_on_single_answers() -> None:
    # Every document has one more answer right: no variance at all, but only three answers.
    single = stats.binomtest(3, 3, 0.5, alternative="greater").pvalue
    assert p_of([1, 1, 1], [0, 0, 0], [0, 0, 0], [2, 2, 2]) == pytest.approx(single)


def test_one_document_is_tested_by_its_answers() -> None:
    single = stats.binomtest(5, 6, 0.5, alternative="greater").pvalue
    assert p_of([6, 0], [2, 0], [1, 0], [8, 0]) == pytest.approx(single)
    assert np.isnan(p_of([0, 0], [0, 0], [0, 0], [0, 0]))


def test_the_test_keeps_its_size_when_answers_come_in_sentences() -> None:
    random = np.random.default_rng(11)
    found, naive = [], []
    for _ in range(400):
        # 32 documents of 20 words; in each, either system is right where the other is wrong.
        favoured = random.random(32) < 0.5
        share = np.where(favoured, 0.9, 0.1)
        first = random.binomial(20, share)
        second, both = 20 - first, np.zeros(32, int)
        found.append(p_of(first, second, both, [20] * 32))
        naive.append(float(paired_sign(first.sum(), second.sum())))
    assert np.mean(np.array(found) < 0.05) < 0.09
    assert np.mean(np.array(naive) < 0.05) > 0.2
