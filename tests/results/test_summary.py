"""What stands out: strongest heads, on results made by hand."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headscope.results import heads_over, summary


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
