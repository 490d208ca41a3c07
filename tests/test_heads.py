"""Heads: every way of naming them, their order, and what is said about a name that is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.errors import UserError
from headscope.heads import Head, all_heads, head_names, parse_heads
from refusals import refusal

HEADS = st.builds(Head, st.integers(0, 99), st.integers(0, 99))


def names(heads: tuple[Head, ...]) -> list[str]:
    return [str(head) for head in heads]


@pytest.mark.parametrize("text", ["3-9", " 3-9 ", "L2H8", "l2h8", Head(2, 8)])
def test_a_head_is_read_from_one_and_from_zero(text):
    assert Head.parse(text) == Head(2, 8)


@given(HEADS)
def test_both_names_of_a_head_are_read_back(head):
    assert Head.parse(str(head)) == head
    assert Head.parse(head.zero_based) == head


@given(st.lists(HEADS, min_size=1))
def test_a_list_is_read_back_in_its_order_each_head_once(heads):
    assert parse_heads(head_names(heads)) == tuple(dict.fromkeys(heads))
    assert parse_heads(heads) == tuple(dict.fromkeys(heads))


@given(st.lists(HEADS))
def test_heads_sort_by_layer_then_by_number(heads):
    assert sorted(heads) == sorted(heads, key=lambda head: (head.layer, head.head))


def test_a_star_stands_for_all_heads_of_a_layer_or_one_of_every_layer():
    assert names(parse_heads("2-*", layers=3, heads=2)) == ["2-1", "2-2"]
    assert names(parse_heads("L0H*", layers=3, heads=2)) == ["1-1", "1-2"]
    assert names(parse_heads("*-2", layers=3, heads=2)) == ["1-2", "2-2", "3-2"]
    assert parse_heads("*-*", layers=3, heads=2) == all_heads(3, 2)


def test_lists_of_names_ranges_and_heads_may_be_mixed():
    mixed = ["2-*", "L0H1,3-1", Head(0, 0)]
    assert names(parse_heads(mixed, layers=3, heads=2)) == ["2-1", "2-2", "1-2", "3-1", "1-1"]


@pytest.mark.parametrize(
    "wrong", ["3", "3-", "a-b", "3-9-1", "L2", "3–9", "", "9" * 5000 + "-1", "3-1e2", "-1-2"]
)
def test_what_is_not_a_head_is_refused_with_the_form(wrong):
    error = refusal(UserError, parse_heads, wrong)
    assert "3-9" in str(error)
    assert len(str(error)) < 400


@pytest.mark.parametrize("wrong", [3, None, 2.5, (2, 8), [(2, 8)], [3]])
def test_other_types_are_refused(wrong):
    with pytest.raises(UserError, match="a head must be given as LAYER-HEAD"):
        parse_heads(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("outside", ["4-1", "1-3", "L3H0", "L0H2"])
def test_a_head_outside_the_model_is_refused_with_the_range(outside):
    with pytest.raises(UserError, match=r"its heads run from 1-1 to 3-2 \(L0H0 to L2H1\)"):
        parse_heads(outside, layers=3, heads=2)


@pytest.mark.parametrize("zero", ["0-1", "1-0"])
def test_zero_in_the_form_that_counts_from_one_is_explained(zero):
    with pytest.raises(UserError, match="count from 1"):
        parse_heads(zero, layers=3, heads=2)


def test_a_star_without_a_shape_is_refused():
    with pytest.raises(UserError, match="only the shape of a model"):
        parse_heads("4-*")


@pytest.mark.parametrize("several", ["1-1,1-2", "1-*", "*-1"])
def test_one_head_is_asked_for_where_one_is_needed(several):
    with pytest.raises(UserError, match="one head is needed"):
        Head.parse(several, layers=1, heads=2)
