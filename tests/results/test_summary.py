"""What stands out: strongest heads, on results made by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest
import xarray as xr

from headscope.corpus import read
from headscope.results import heads_over, summary
from headscope.runs.survey import survey
from tiny import tiny_model


def grid(values: list[list[float]]) -> xr.DataArray:
    return xr.DataArray(
        values,
        dims=("layer", "head"),
        coords={"layer": range(1, len(values) + 1), "head": range(1, len(values[0]) + 1)},
    )


def test_heads_over_a_threshold_come_largest_first_and_equal_ones_in_the_order_of_the_model():
    assert heads_over(grid([[0.9, 0.5, 0.2], [0.9, 0.95, np.nan]]), 0.5) == ["2-2", "1-1", "2-1"]
    assert heads_over(grid([[0.9, 0.5], [np.nan, 0.1]]), 0.9) == []


def test_a_summary_has_a_row_for_each_label_with_its_strongest_head(make):
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
    expected = ("2-1", 2, 3, 6)
    assert (previous["strongest"], previous["over"], previous["n"], previous["heads"]) == expected
    assert previous["value"] == pytest.approx(0.8)
    assert previous["low"] < 0.8 < previous["high"]
    assert previous["mean"] == pytest.approx((0.8 + 0.6 + 4 * 0.1) / 6)
    assert table.loc["position", "current"]["over"] == 0
    assert previous["statistic"] == "attention to the previous token"
    broad = table.loc["entropy", "all"]
    assert broad["strongest"] == "1-2"
    assert np.isnan(broad["over"])  # nats are no share: nothing to be over half of


def test_the_threshold_of_a_summary_can_be_chosen(make):
    results = make(position=np.full((2, 2, 3, 3), 0.4))
    assert summary(results)["over"].tolist() == [0, 0, 0]
    assert summary(results, threshold=0.3)["over"].tolist() == [6, 6, 6]


def test_tables_of_a_causal_model_are_silent_about_tokens_that_it_does_not_have():
    """No start token, no separator, and no token sees the next one."""
    results = survey(tiny_model("gpt2"), read("demo").first(3), max_length=64, batch_size=3)
    shown = {
        "summary": summary(results)["statistic"],
        "head": results.head("1-1").statistics["statistic"],
    }
    odd = re.compile(r"\[CLS\]|\[SEP\]|<.*>|next|start token|separator|end token")
    for table, texts in shown.items():
        assert [text for text in texts if odd.search(text)] == [], table
        assert "attention that rests on the first token or other special tokens" in list(texts)
        assert "attention to the first of 64 tokens" in list(texts)
        assert "largest attention from the last token to a noun" in list(texts)
    assert summary(results)["mean"].notna().all()
    assert results.head("1-1").statistics["mean"].notna().all()
