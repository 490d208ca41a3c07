"""Tests, intervals and corrections are those of scipy and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from headscope.stats import correct, paired_sign, wilson

COUNTS = st.integers(0, 400)


@given(one=COUNTS, other=COUNTS)
def test_the_paired_test_is_the_one_sided_binomial_test_on_what_only_one_has_right(
    one: int, other: int
) -> None:
    expected = (
        binomtest(one, one + other, 0.5, alternative="greater").pvalue if one + other else 1.0
    )
    assert float(paired_sign(one, other)) == pytest.approx(expected, rel=1e-9)


@given(one=COUNTS, other=COUNTS, both=COUNTS, neither=COUNTS)
def test_twice_the_smaller_side_is_mcnemars_exact_two_sided_p(
    one: int, other: int, both: int, neither: int
) -> None:
    table = [[both, one], [other, neither]]
    smaller = min(float(paired_sign(one, other)), float(paired_sign(other, one)))
    assert min(1.0, 2 * smaller) == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-9)


def test_the_paired_test_takes_arrays() -> None:
    found = paired_sign(np.array([[3, 0], [5, 9]]), np.array([[1, 0], [5, 0]]))
    assert found.shape == (2, 2)
    assert found.ravel().tolist() == pytest.approx([5 / 16, 1.0, 638 / 1024, 1 / 512])


@given(
    right=st.integers(0, 300),
    wrong=st.integers(0, 300),
    confidence=st.sampled_from([0.9, 0.95, 0.99]),
)
def test_wilsons_interval_is_that_of_statsmodels(right: int, wrong: int, confidence: float) -> None:
    low, high = wilson(right, right + wrong, confidence)
    if right + wrong == 0:
        assert np.isnan([low, high]).all()
    else:
        assert (float(low), float(high)) == pytest.approx(
            proportion_confint(right, right + wrong, alpha=1 - confidence, method="wilson"),
            abs=1e-12,
        )


@pytest.mark.parametrize(("name", "method"), [("holm", "holm"), ("bh", "fdr_bh")])
@given(seed=st.integers(0, 10**6), size=st.integers(1, 20), power=st.integers(1, 6))
@settings(max_examples=15, deadline=None)  # statsmodels collects garbage at each call
def test_corrections_are_those_of_statsmodels(
    name: str, method: str, seed: int, size: int, power: int
) -> None:
    values = np.random.default_rng(seed).random(size).round(2) ** power
    np.testing.assert_allclose(correct(values, name), multipletests(values, method=method)[1])


def test_a_p_that_is_not_defined_stays_so_and_is_not_counted() -> None:
    given_p = np.array([[0.01, np.nan], [0.03, 0.02]])
    np.testing.assert_allclose(correct(given_p, "holm"), [[0.03, np.nan], [0.04, 0.04]])
    np.testing.assert_allclose(correct(given_p, "none"), given_p)
    assert np.isnan(correct([np.nan], "bh")).all()


def test_what_is_given_is_not_changed() -> None:
    values = np.array([0.01, 0.02])
    correct(values, "holm")
    assert values.tolist() == [0.01, 0.02]
