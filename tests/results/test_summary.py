"""What stands out: strongest heads and remarks, on results made by hand."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headscope.results import Atlas, heads_over, remarks, summary

CARE = "Read other statistics of these heads with care."


def grid(values: list[list[float]]) -> xr.DataArray:
    return xr.DataArray(
        values,
        dims=("layer", "head"),
        coords={"layer": range(1, len(values) + 1), "head": range(1, len(values[0]) + 1)},
    )


def test_heads_over_a_threshold_come_largest_first_and_equal_ones_in_the_order_of_the_model() -> (
    None
):
    assert heads_over(grid([[0.9, 0.5, 0.2], [0.9, 0.95, np.nan]]), 0.5) == ["2-2", "1-1", "2-1"]
    assert heads_over(grid([[0.9, 0.5], [np.nan, 0.1]]), 0.9) == []


def test_a_summary_has_a_row_for_each_label_with_its_strongest_head(make) -> None:
    values = np.full((3, 2, 3, 3), 0.1)
    values[:, 1, 0, 0] = [0.7, 0.8, 0.9]
    values[:, 0, 2, 0] = 0.6
    values[..., 2] = np.nan
    entropies = np.full((3, 2, 3, 3), 2.0)
    entropies[:, 0, 1, 0] = 3.0
    table = summary(make(position=values, entropy=entropies)).set_index(["measure", "label"])
    assert table.index.tolist() == [
        (name, label)
        for name, labels in (
            ("position", ("previous", "current")),  # next is defined for no head
            ("entropy", ("all", "cls", "uniform")),
        )
        for label in labels
    ]
    previous = table.loc["position", "previous"]
    assert (previous["strongest"], previous["over"], previous["n"], previous["heads"]) == (
        "2-1",
        2,
        3,
        6,
    )
    assert previous["value"] == pytest.approx(0.8)
    assert previous["low"] < 0.8 < previous["high"]
    assert previous["mean"] == pytest.approx((0.8 + 0.6 + 4 * 0.1) / 6)
    assert table.loc["position", "current"]["over"] == 0
    assert previous["statistic"] == "attention to the previous token"
    broad = table.loc["entropy", "all"]
    assert broad["strongest"] == "1-2"
    assert np.isnan(broad["over"])  # nats are no share: nothing to be over half of


def test_the_threshold_of_a_summary_can_be_chosen(make) -> None:
    results = make(position=np.full((2, 2, 3, 3), 0.4))
    assert summary(results)["over"].tolist() == [0, 0, 0]
    assert summary(results, threshold=0.3)["over"].tolist() == [6, 6, 6]


def special(make, cls: list[list[float]], **labels: float) -> Atlas:
    """Two layers of three heads with these shares on [CLS] from all rows, and 0.99 on it from [SEP]
    rows.
    """
    values = np.full((2, 2, 3, 3, 3), 0.05)
    values[..., 0, 0] = cls
    values[..., 0, 1] = 0.99
    for token, value in labels.items():
        values[..., ["cls", "sep", "punctuation"].index(token), 0] = value
    return make(special=values)


def test_a_third_of_the_heads_on_one_token_is_a_collapse_onto_a_sink(make) -> None:
    assert remarks(special(make, [[0.9, 0.85, 0.1], [0.0, 0.0, 0.0]])) == [
        "Collapsed onto a sink: 2 of 6 heads put more than 80% of their attention on the start "
        f"token ([CLS] or BOS). {CARE}"
    ]


def test_fewer_heads_on_one_token_are_named_instead(make) -> None:
    assert remarks(special(make, [[0.0, 0.9, 0.1], [0.0, 0.8, 0.0]])) == [
        "Head 1-2 puts more than 80% of the attention on the start token ([CLS] or BOS)."
    ]


def test_a_head_at_the_threshold_is_not_over_it_and_rows_of_separators_alone_are_not_remarked(
    make,
) -> None:
    assert remarks(special(make, [[0.8, 0.5, 0.1], [0.0, 0.2, 0.0]])) == []


def test_heads_without_such_a_token_do_not_count_among_those_that_could_collapse(make) -> None:
    said = remarks(special(make, [[0.0, np.nan, np.nan], [np.nan, np.nan, 0.9]]))
    assert said == [
        "Collapsed onto a sink: 1 of 2 heads put more than 80% of their attention on the start "
        f"token ([CLS] or BOS). {CARE}"
    ]


@pytest.mark.parametrize(
    ("token", "words"),
    [("sep", "the separator ([SEP] or EOS)"), ("punctuation", "full stops and commas")],
)
def test_the_other_sinks_have_their_own_words(make, token: str, words: str) -> None:
    assert remarks(special(make, [[0.0] * 3] * 2, **{token: 0.9})) == [
        f"Collapsed onto a sink: 6 of 6 heads put more than 80% of their attention on {words}. "
        f"{CARE}"
    ]


def test_heads_on_the_previous_and_next_token_are_named(make) -> None:
    values = np.zeros((2, 2, 3, 3))
    values[:, 0, 1, 0], values[:, 1, 1, 0], values[:, 1, 2, 2] = 0.6, 0.9, 0.51
    values[:, 0, 0, 1] = 0.99
    assert remarks(make(position=values)) == [
        "2 heads (2-2, 1-2) put more than half of the attention on the previous token.",
        "Head 2-3 puts more than half of the attention on the next token.",
    ]


def test_more_than_eight_heads_are_counted_and_the_first_eight_named(make) -> None:
    values = np.zeros((1, 2, 5, 3))
    values[..., 2] = np.linspace(0.99, 0.9, 10).reshape(2, 5)
    assert remarks(make(position=values)) == [
        "10 heads (1-1, 1-2, 1-3, 1-4, 1-5, 2-1, 2-2, 2-3 and 2 more) put more than half of the "
        "attention on the next token."
    ]


def test_heads_near_the_uniform_line_are_named(make) -> None:
    values = np.full((2, 2, 3, 3), 1.0)
    values[..., 2] = 4.0
    values[:, 1, 0, 0] = 3.7
    assert remarks(make(entropy=values)) == [
        "Head 2-1 attends almost uniformly (entropy over 90 % of the uniform line)."
    ]


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "1 example was skipped because of"), (3, "3 examples were skipped because of")],
)
def test_examples_left_out_are_remarked_with_one_of_them(make, count: int, words: str) -> None:
    results = make(
        position=np.zeros((1, 1, 1, 3)),
        counts={
            "nonfinite": count,
            "nonfinite_examples": ["7: attention is not finite in layer 2"],
        },
    )
    assert remarks(results) == [
        f"{words} attention that was not finite, e.g. 7: attention is not finite in layer 2."
    ]


def test_results_in_which_nothing_stands_out_get_no_remark(make) -> None:
    assert remarks(make(position=np.full((2, 2, 3, 3), 0.1))) == []
