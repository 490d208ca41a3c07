"""Numbers as people read them: p-values, shares, counts, means and intervals."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.numbers import cell, count, interval, number, p_value, share

FLOATS = st.floats(-1e12, 1e12, allow_nan=False)
NAN = float("nan")


@given(st.floats(0.0, 1.0))
def test_a_p_value_is_never_shown_as_zero_and_small_ones_are_under_a_thousandth(p):
    text = p_value(p)
    assert text != "0.000"
    assert (text == "<0.001") == (p < 0.001)
    if p >= 0.001:
        assert float(text) == pytest.approx(p, abs=0.0005)
    assert float(p_value(p, scientific=True).lstrip("<")) > 0


@pytest.mark.parametrize(
    ("p", "plain", "scientific"),
    [
        (0.0, "<0.001", "<1e-300"),
        (4.8e-66, "<0.001", "4.8e-66"),
        (0.00099, "<0.001", "9.9e-04"),
        (0.001, "0.001", "0.001"),
        (0.0496, "0.050", "0.050"),
        (1.0, "1.000", "1.000"),
        (NAN, "–", "–"),
    ],
)
def test_p_values(p, plain, scientific):
    assert p_value(p) == plain
    assert p_value(p, scientific=True) == scientific


@given(st.floats(0.0, 1.0))
def test_a_share_looks_like_none_or_all_only_if_it_is(value):
    assert (share(value) == "0.000") == (value == 0)
    assert (share(value) == "1.000") == (value == 1)


@given(FLOATS)
def test_a_number_keeps_its_value_to_its_digits_and_zero_has_no_sign(value):
    text = number(value)
    shown = float(text.replace(",", ""))
    assert shown == pytest.approx(value, rel=0.06, abs=0.0)
    assert abs(shown - value) <= 0.5000001 * 10.0 ** -max(0, len(text.partition(".")[2]))
    assert number(value, signed=True).lstrip("+") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.000"),
        (-0.0, "0.000"),
        (0.43172, "0.432"),
        (-0.0123, "-0.012"),
        (0.000214, "0.00021"),
        (-1e-5, "-1e-05"),
        (9.9994, "9.999"),
        (9.9996, "10.00"),
        (99.996, "100.0"),
        (999.96, "1,000"),
        (12345.6, "12,346"),
        (math.inf, "inf"),
        (None, "–"),
        (NAN, "–"),
        (pd.NA, "–"),
    ],
)
def test_means_have_as_many_digits_as_are_of_use(value, text):
    assert number(value) == text


def test_differences_may_have_a_sign():
    assert number(0.5, signed=True) == "+0.500"
    assert number(0.0004, signed=True) == "+0.0004"
    assert number(-0.5, signed=True) == "-0.500"
    assert number(0.0, signed=True) == "0.000"


@given(st.integers(-(10**15), 10**15))
def test_a_count_has_no_decimals_and_separated_thousands(value):
    text = count(value)
    assert int(text.replace(",", "")) == value
    assert all(len(group) == 3 for group in text.lstrip("-").split(",")[1:])
    assert count(np.int64(value)) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.5958, 0.98213, "[0.596, 0.982]"),
        (-0.0123, 0.0456, "[-0.012, 0.046]"),
        (9.5, 10.5, "[9.500, 10.500]"),
        (0.0, 0.0002, "[0.000, 0.0002]"),
        (NAN, 0.5, "[–, 0.500]"),
        (NAN, NAN, "–"),
        (None, None, "–"),
        (-math.inf, 1.0, "[-inf, 1.000]"),
    ],
)
def test_intervals_have_as_many_decimals_at_both_ends(low, high, text):
    assert interval(low, high) == text


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (0.0, "p", "<0.001"),
        (1e-9, "p_corrected", "<0.001"),
        (1e-9, "p over nearest", "<0.001"),
        (1e-9, "precision", "1e-09"),
        (NAN, "p", "–"),
        (NAN, "mean", "–"),
        (None, "", "–"),
        (pd.NA, "best layer", "–"),
        (pd.NaT, "", "–"),
        (np.int64(1204), "words", "1,204"),
        (12.0, "heads", "12"),
        (np.float64(0.43172), "mean", "0.432"),
        (True, "", "yes"),
        (np.bool_(False), "", "no"),
        ("3-9", "head", "3-9"),
        (np.str_("3-9"), "head", "3-9"),
        (("a", 1), "", "('a', 1)"),
    ],
)
def test_a_cell_of_a_table_is_formatted_by_its_type_and_column(value, column, text):
    assert cell(value, column) == text
