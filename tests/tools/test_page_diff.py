"""Rows of pages agree if some numbers could be shown as both."""

import pytest
from freeze.pages import Page, compare_pages, compare_prose, rows_agree


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["0.389", "0.349", "0.431"], ["38.9", "[34.9, 43.1]"]),
        (["2.6e-09", "1.4e-05"], ["<0.001", "<0.001"]),
        (["0.000"], ["<0.001"]),
        (["-0.001"], ["-0.00061"]),
        (["-1.4e-04"], ["-0.00014"]),
        (["1728", "85.0"], ["1,728", "85"]),
        (["14.6 … 44.7"], ["(14.6–44.7)"]),
        (["layer with most attention", "0.485"], ["largest attention (share, 0–1)", "0.485"]),
        (["−4", "+4.4"], ["-4", "4.4"]),
        (["0.278", "1"], ["+1", "0.278"]),
        (["1.000"], [">0.999"]),
        (["minilm-l6", "24"], ["models/minilm-l6", "24"]),
    ],
)
def test_numbers_may_be_shown_in_another_way(old, new):
    assert rows_agree(old, new)
    assert rows_agree(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["0.389"], ["38.8"]),
        (["0.002"], ["<0.001"]),
        (["24"], ["25"]),
        (["0.998"], [">0.999"]),
        (["1.035", "1"], ["1.000", "1"]),
        (["0.2", "0.3"], ["0.2", "0.2"]),
        (["3-9"], ["3-8"]),
        (["0.25"], ["-0.25"]),
        (["6.3e-100"], ["6.4e-100"]),
        (["0.389", "24"], ["0.389"]),
        (["–"], ["0.0"]),
    ],
)
def test_other_numbers_do_not_agree(old, new):
    assert not rows_agree(old, new)
    assert not rows_agree(new, old)


def test_tables_are_found_wherever_they_moved():
    first, second = [["a", "0.1"], ["b", "0.2"]], [["a", "7"], ["b", "8"]]
    found = compare_pages(Page([first, second]), Page([second, [["new", "1"]], first]))
    assert not found.moved
    assert found.rows == 4
    assert found.added == ["new | 1"]


def test_rows_that_were_dropped_do_not_hide_the_others():
    old = Page([[["next", "–", "0"], ["previous", "0.2", "24"], ["current", "0.3", "24"]]])
    found = compare_pages(old, Page([[["to previous", "0.2", "24"], ["to current", "0.3", "24"]]]))
    assert found.moved == ["next | – | 0"]
    assert not found.added


def test_rows_that_moved_vanished_or_were_reworded_are_told_apart():
    old = Page([[["a", "0.1"], ["b", "0.2"], ["c", "0.3"]]])
    found = compare_pages(old, Page([[["alpha", "0.1"], ["b", "0.9"]]]))
    assert found.moved == ["b | 0.2", "c | 0.3"]
    assert found.added == ["b | 0.9"]
    assert dict(found.reworded) == {"a → alpha": 1}


def test_numbers_gone_from_the_text_are_named_with_their_words():
    old = "The mean is 3.13 of 24 heads"
    assert compare_prose(old, "The mean is 3.131 times uniform, of 24 heads") == []
    assert compare_prose(f"{old}; 0 minutes", f"{old}; 2.5 minutes") == []
    expected = ["… The mean is 3.13 of 24 heads …"]
    assert compare_prose(old, "The mean is 3.2, of 24 heads") == expected
