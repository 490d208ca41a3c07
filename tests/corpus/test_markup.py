"""The markup of the built-in corpus."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.corpus.builtin import MarkedSpan, MarkupError, read_markup


def test_markup_is_removed_and_spans_point_at_the_words():
    plain, spans = read_markup("{1 The baker} has <Commerce_buy! bought> <Goods a {2 new} oven>.")
    assert plain == "The baker has bought a new oven."
    assert [(span.kind, span.name, plain[span.start : span.end]) for span in spans] == [
        ("mention", "1", "The baker"),
        ("target", "Commerce_buy", "bought"),
        ("element", "Goods", "a new oven"),
        ("mention", "2", "new"),
    ]


def test_spans_nest_in_the_order_in_which_they_open():
    assert read_markup("{1 {2 Ann}'s dog}")[1] == [
        MarkedSpan(0, 9, "mention", "1"),
        MarkedSpan(0, 3, "mention", "2"),
    ]


def test_text_without_markup_is_unchanged():
    assert read_markup("Nothing! (at all)") == ("Nothing! (at all)", [])


LEAF = st.text("abc .,é🙂", min_size=1, max_size=5).map(lambda text: (text, text, []))
OPENERS = [
    ("{1 ", "}", "mention", "1"),
    ("{23 ", "}", "mention", "23"),
    ("<Buyer ", ">", "element", "Buyer"),
    ("<Commerce_buy! ", ">", "target", "Commerce_buy"),
]


def wrap(inner):
    """A run of marked texts within one more span: (marked, plain, spans by hand)."""
    (opening, closing, kind, name), parts = inner
    marked, plain, spans = opening, "", []
    for part_marked, part_plain, part_spans in parts:
        spans += [(start + len(plain), end + len(plain), *rest) for start, end, *rest in part_spans]
        marked, plain = marked + part_marked, plain + part_plain
    return marked + closing, plain, [(0, len(plain), kind, name), *spans]


@settings(deadline=None)
@given(
    st.recursive(
        LEAF,
        lambda inner: st.tuples(
            st.sampled_from(OPENERS), st.lists(inner, min_size=1, max_size=3)
        ).map(wrap),
        max_leaves=8,
    )
)
def test_any_nesting_comes_back_as_it_was_built(built):
    marked, plain, spans = built
    assert read_markup(marked) == (plain, [MarkedSpan(*span) for span in spans])


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("{1 a <Buyer b} c>", "'}' closes nothing, or crosses another span, before '} c>'"),
        ("<Buyer a {1 b> c}", "'>' closes nothing, or crosses another span, before '> c}'"),
        ("a} b", "'}' closes nothing, or crosses another span, before '} b'"),
        ("a > b", "'>' closes nothing, or crosses another span, before '> b'"),
        ("{1 a b", "mention '1' is never closed in '{1 a b'"),
        (
            "x <Commerce_buy! a {2 b}",
            "target 'Commerce_buy' is never closed in 'x <Commerce_buy! a {2 b}'",
        ),
        ("<Buyer a", "element 'Buyer' is never closed in '<Buyer a'"),
        ("a {x b}", "expected '{1 …}', '<Element …>' or '<Frame! …>' at '{x b}'"),
        ("{1a}", "expected '{1 …}', '<Element …>' or '<Frame! …>' at '{1a}'"),
        ("a < b", "expected '{1 …}', '<Element …>' or '<Frame! …>' at '< b'"),
    ],
)
def test_crossing_unclosed_and_unknown_markup_is_an_error(marked, message):
    with pytest.raises(MarkupError) as caught:
        read_markup(marked)
    assert str(caught.value) == message
