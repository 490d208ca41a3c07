"""The query language: parsed as the shared cases say, and evaluated as numpy would."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.errors import UserError
from headscope.heads import Head
from headscope.results import Atlas
from headscope.results.query import parse_query
from page.samples import made_results, made_values
from refusals import refusal
from stats.heads.test_main_roles import atlas_of

CASES = json.loads((Path(__file__).parent / "cases.json").read_text(encoding="utf-8"))
"""The page's tests read the same file."""
LAYERS, HEADS = 3, 4


@pytest.fixture(scope="module")
def atlas():
    return made_results(LAYERS, HEADS)


def values(measure: str, *labels: int) -> np.ndarray:
    """The means that the atlas was made with, (layer, head)."""
    return made_values(LAYERS, HEADS)[measure][(..., *labels)]


def where(mask: np.ndarray) -> tuple[Head, ...]:
    return tuple(Head(*map(int, place)) for place in np.argwhere(mask))


@pytest.mark.parametrize("case", CASES, ids=[case["query"] for case in CASES])
def test_queries_are_read_as_the_shared_cases_say(case):
    if "tree" in case:
        assert parse_query(str(case["query"])) == case["tree"]
        return
    error = refusal(UserError, parse_query, str(case["query"]))
    assert error.message == case["error"]
    assert "position:previous > 0.5" in error.hint


@given(st.text(max_size=40) | st.text('is:layer "()<>=!.0 andornot-', max_size=40))
def test_any_text_is_read_or_refused_in_words(text):
    try:
        tree = parse_query(text)
    except UserError:
        return
    assert tree[0] in {"and", "or", "not", "compare", "is", "layer", "heads", "top"}


@pytest.mark.parametrize("query", ["(" * 5000 + "is:a" + ")" * 5000, "not " * 400 + "is:a"])
def test_long_and_deep_queries_are_refused(query):
    with pytest.raises(UserError, match=r"at most 2000 characters|nested too deeply"):
        parse_query(query)


@pytest.mark.parametrize(
    ("query", "mask"),
    [
        ("position:previous > 0.4", values("position", 0) > 0.4),
        ("position:previous <= 0.4", values("position", 0) <= 0.4),
        ("special:sep:sep > 0.5", values("special", 1, 1) > 0.5),
        ("special:cls < 0.3", values("special", 0, 0) < 0.3),  # from all rows
        ("entropy > 0.2", values("entropy", 0) > 0.2),  # of all rows
        ("entropy:cls > 0.2", values("entropy", 1) > 0.2),
        ("previous > 0.4", values("position", 0) > 0.4),  # a label that one measure has
        ("layer 2-3", np.arange(LAYERS)[:, None] + np.zeros(HEADS) > 0.5),
        ("layer < 2", np.arange(LAYERS)[:, None] + np.zeros(HEADS) < 0.5),
    ],
)
def test_conditions_are_those_of_numpy(atlas, query, mask):
    assert atlas.find(query) == where(mask)
    assert atlas.find(f"not {query}") == where(~mask)
    both = mask & (values("position", 1) > 0.3)
    assert atlas.find(f"{query} and position:current > 0.3") == where(both)


def test_heads_are_named_in_every_way(atlas):
    expected = [*("1-2", "2-1", "2-2", "2-3", "2-4", "3-4")]
    assert [str(head) for head in atlas.find("heads 1-2,L2H3,2-*")] == expected


def test_a_value_that_is_not_defined_fulfils_no_comparison():
    causal = made_results(LAYERS, HEADS, causal=True)
    for sign in ("<", "<=", ">", ">=", "=", "!="):
        assert causal.find(f"position:next {sign} 0.5") == ()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("entrpy > 1", "unknown value 'entrpy'; did you mean 'entropy'"),
        ("position > 1", "position has several values by offset: position:previous, "),
        ("position:sideways > 1", "the label of position must be one of current, next, previous"),
        ("entropy:all:all > 1", "the label of entropy must be one of"),
        ("all > 1", "'all' may mean special:all, entropy:all"),
        ("is:nsubj", "these results have no roles"),
        ("heads 9-1", "the model has no head 9-1"),
    ],
)
def test_what_does_not_exist_is_answered_with_what_does(atlas, query, message):
    with pytest.raises(UserError, match=message):
        atlas.find(query)


def test_a_table_of_heads_is_filtered_sorted_and_cut(atlas):
    means = values("position", 0)
    order = np.argsort(-means.ravel())[:3]
    table = atlas.heads(by="position:previous", top=3)
    assert table["head"].tolist() == [str(Head(*divmod(int(place), HEADS))) for place in order]
    np.testing.assert_allclose(table["attention to the previous token"], means.ravel()[order])
    expected = ["head", "zero-based", "attention to the previous token", "low", "high", "n"]
    assert list(table) == expected
    few = atlas.heads(where="position:previous > 0.4", by="entropy", ascending=True)
    assert set(few["head"]) == {str(head) for head in where(means > 0.4)}
    assert few.iloc[:, 2].is_monotonic_increasing
    assert len(atlas.heads()) == LAYERS * HEADS
    with pytest.raises(UserError, match="must be 1 or more, got 0"):
        atlas.heads(top=0)


@pytest.mark.parametrize("count", [1, 5, 100])
def test_the_top_heads_are_those_with_the_largest_values_of_all(atlas, count):
    means = values("entropy", 0).ravel()
    order = sorted(range(means.size), key=lambda place: -means[place])[:count]
    expected = {Head(*divmod(place, HEADS)) for place in order}
    assert set(atlas.find(f"top {count} by entropy")) == expected
    late = {head for head in expected if head.layer == 2}
    assert set(atlas.find(f"layer 3 and top {count} by entropy")) == late


def test_among_equal_values_the_first_heads_of_the_model_are_on_top():
    equal = made_values(LAYERS, HEADS)
    equal["entropy"][..., 0] = 0.5
    atlas = made_results(LAYERS, HEADS, values=equal)
    assert atlas.find("top 2 by entropy") == (Head(0, 0), Head(0, 1))


def test_a_head_without_a_value_is_never_on_top():
    assert made_results(LAYERS, HEADS, causal=True).find("top 5 by position:next") == ()


def test_is_finds_heads_by_the_family_of_their_main_role():
    results = atlas_of([{"previous": 0.5}, {"same": 0.4}, {"spread": 0.95}, {"activity": 0.01}])
    found = {
        role: [str(head) for head in results.find(f'is:"{role}"')]
        for role in ("previous", "same", "broad", "rests", "next")
    }
    assert found == {
        "previous": ["1-1"],
        "same": ["1-2"],
        "broad": ["1-3"],
        "rests": ["1-4"],
        "next": [],
    }
    with pytest.raises(UserError, match="unknown role 'previos'; did you mean 'previous'"):
        results.find("is:previos")


def test_sums_behind_main_roles_do_not_make_a_label_ambiguous():
    positions = made_results(1, 4)
    sums = atlas_of([{}, {}, {}, {}])
    both = Atlas.build(
        {name: results[name] for results in (positions, sums) for name in results},
        positions.provenance,
    )
    assert both.find("previous > 0.4") == positions.find("position:previous > 0.4")
    with pytest.raises(UserError, match="unknown value 'work'; did you mean"):
        both.find("work:near > 1")
