"""Tests, intervals and corrections against definitions, published values and scipy.

Sign flips over documents, against scipy's and against trying every flip.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, false_discovery_control, norm

from headscope.errors import UserError
from headscope.stats import correct, wilson
from headscope.stats.inference.correction import binomial_tail, flipped, paired_test, rivals
from refusals import refusal
from stats.references import CORRECTIONS, every_flip, wilson_interval

THOUSANDTHS = st.lists(st.integers(0, 1000), min_size=1, max_size=20)
EXAMPLE = (
    *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459),
    *(0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
)
"""The fifteen p-values of Benjamini and Hochberg 1995, section 4."""


# Wilson's interval


@given(
    right=st.integers(0, 300),
    wrong=st.integers(0, 300),
    confidence=st.sampled_from([0.9, 0.95, 0.99]),
)
def test_wilsons_interval_is_that_of_its_formula(right, wrong, confidence):
    low, high = wilson(right, right + wrong, confidence)
    if right + wrong == 0:
        assert np.isnan([low, high]).all()
        return
    z = float(norm.ppf(0.5 + confidence / 2))
    expected = wilson_interval(right, right + wrong, z)
    assert (float(low), float(high)) == pytest.approx(expected, abs=1e-9)
    assert 0 <= low <= right / (right + wrong) <= high <= 1


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilsons_interval_is_that_of_newcombes_table(right, count, low, high):
    # Newcombe 1998, "Two-sided confidence intervals for the single proportion", Table I, method 3.
    found = wilson(right, count)
    assert [float(end) for end in found] == pytest.approx([low, high], abs=0.00005)


# Corrections


@pytest.mark.parametrize("method", CORRECTIONS)
@given(thousandths=THOUSANDTHS)
def test_corrections_are_those_of_a_loop_over_the_definition(method, thousandths):
    p = [value / 1000 for value in thousandths]
    assert correct(p, method).tolist() == pytest.approx(CORRECTIONS[method](p), abs=1e-12)


def test_the_published_example_rejects_as_many_as_the_paper_says():
    assert int((correct(EXAMPLE, "bh") <= 0.05).sum()) == 4
    assert int((correct(EXAMPLE, "holm") <= 0.05).sum()) == 3


def test_corrections_of_many_tests_are_those_of_the_definition_and_of_scipy():
    p = np.random.default_rng(0).random(5000) ** 6
    np.testing.assert_array_equal(correct(p, "holm"), CORRECTIONS["holm"](p))
    np.testing.assert_allclose(correct(p, "bh"), false_discovery_control(p), rtol=1e-14)


@pytest.mark.parametrize("method", CORRECTIONS)
@pytest.mark.parametrize("axis", [0, 1, -1, (0, 1), (2, 0), (0, 1, 2)])
def test_families_along_some_axes_are_corrected_one_by_one(method, axis):
    p = np.random.default_rng(1).random((3, 4, 5)) ** 3
    p[1, 2, 3] = p[0, :, 0] = np.nan
    found = correct(p, method, axis=axis)
    axes = {one % 3 for one in ((axis,) if isinstance(axis, int) else axis)}
    others = [one for one in range(3) if one not in axes]
    for place in np.ndindex(*(p.shape[one] for one in others)):
        index = [slice(None)] * 3
        for one, number in zip(others, place, strict=True):
            index[one] = number
        family = p[tuple(index)]
        expected = np.full(family.shape, np.nan)
        expected[~np.isnan(family)] = CORRECTIONS[method](family[~np.isnan(family)].tolist())
        np.testing.assert_allclose(found[tuple(index)], expected)


def test_a_p_that_is_not_defined_stays_so_and_is_not_counted():
    p = np.array([[0.01, np.nan], [0.03, 0.02]])
    np.testing.assert_allclose(correct(p, "holm"), [[0.03, np.nan], [0.04, 0.04]])
    np.testing.assert_allclose(correct(p, "bh"), [[0.03, np.nan], [0.03, 0.03]])
    np.testing.assert_allclose(correct(p, "none"), p)
    assert np.isnan(correct([np.nan], "bh")).all()
    assert correct([], "holm").tolist() == []


@pytest.mark.parametrize("method", ["none", *CORRECTIONS])
def test_what_is_given_is_not_changed(method):
    values = np.array([0.01, 0.02])
    correct(values, method)[:] = 0.5
    assert values.tolist() == [0.01, 0.02]


def test_an_unknown_correction_is_an_error_that_names_the_known_ones():
    assert refusal(UserError, correct, [0.1], "hol").message == (
        "the correction must be one of bh, holm, none; got 'hol' instead. Did you mean 'holm'?"
    )


@pytest.mark.parametrize(("right", "size", "share"), [(0, 5, 0.3), (5, 5, 0.3), (40, 88, 0.5)])
def test_the_tail_of_a_binomial_is_that_of_scipy(right, size, share):
    expected = binom.sf(right - 1, size, share)
    assert float(binomial_tail(right, size, share)) == pytest.approx(expected, rel=1e-12)


DIFFERENCES = st.lists(st.integers(-6, 6), min_size=1, max_size=8)


@given(st.lists(DIFFERENCES, min_size=1, max_size=4))
def test_p_is_the_share_of_all_flips_of_documents(rows):
    size = max(map(len, rows))
    padded = [row + [0] * (size - len(row)) for row in rows]
    found = flipped(np.array(padded))
    assert found.tolist() == pytest.approx([every_flip(row) for row in rows], abs=1e-12)


def test_many_rows_of_any_length_are_the_same_as_one_at_a_time():
    random = np.random.default_rng(1)
    scale = 10 ** random.uniform(0, 3, (300, 1))
    difference = np.rint(random.normal(0.5, 1.0, (300, 32)) * scale)
    together = flipped(difference)
    assert together[::29].tolist() == [float(flipped(row)) for row in difference[::29]]
    assert together.min() >= 0.5**32
    assert together.max() <= 1.0


def by_bucket(values: list[int]) -> xr.DataArray:
    return xr.DataArray(np.array(values), dims="bucket")


def test_one_document_tells_nothing_and_no_answers_have_no_p():
    assert float(paired_test(by_bucket([6, 0]), by_bucket([2, 0]), by_bucket([8, 0]))) == 0.5
    assert np.isnan(float(paired_test(by_bucket([0]), by_bucket([0]), by_bucket([0]))))
    assert float(paired_test(by_bucket([3]), by_bucket([3]), by_bucket([5]))) == 1.0


def test_the_best_is_told_from_each_other_system_by_both_tails():
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
