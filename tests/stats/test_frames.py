"""Heads that stand out at frame links: those over the percentile, the largest first."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headscope.errors import UserError
from headscope.heads import Head
from headscope.stats import frame_table, outstanding
from stats.sampled import random_values, sampled


def grid(values: list[list[float]]) -> xr.DataArray:
    array = np.array(values)
    return xr.DataArray(
        array,
        dims=("layer", "head"),
        coords={"layer": np.arange(1, len(array) + 1), "head": np.arange(1, array.shape[1] + 1)},
    )


@pytest.mark.parametrize(("layers", "heads", "over"), [(12, 12, 2), (6, 12, 1), (24, 16, 4)])
def test_as_many_heads_are_over_the_99th_percentile_as_in_the_paper(
    layers: int, heads: int, over: int
) -> None:
    values = np.random.default_rng(1).permutation(layers * heads).reshape(layers, heads) / 1000
    threshold, found = outstanding(grid(values.tolist()))
    # The values are 0, 0.001, 0.002 …: interpolated, 99 % of the way from the first to the last.
    assert threshold == pytest.approx(0.99 * (layers * heads - 1) / 1000)
    assert len(found) == over  # BERT base: 2 of 144
    order = np.argsort(-values, axis=None)[:over]
    assert found == [(place // heads, place % heads) for place in order]


def test_undefined_heads_are_skipped_and_nothing_stands_out_where_all_are() -> None:
    assert outstanding(grid([[np.nan, 0.1], [0.2, 0.9]]), 50)[1] == [Head(1, 1)]
    threshold, heads = outstanding(grid([[np.nan, np.nan]]))
    assert np.isnan(threshold)
    assert heads == []


@pytest.mark.parametrize("percentile", [-1, 100.5, float("nan")])
def test_a_percentile_beyond_0_to_100_is_refused(percentile: float) -> None:
    with pytest.raises(UserError, match=r"^the percentile must be between 0 and 100, got"):
        outstanding(grid([[0.1]]), percentile)


def test_the_table_has_the_strongest_heads_with_each_direction() -> None:
    values = random_values("frame", layers=3, heads=4)
    table = frame_table(
        sampled({"frame": values}), direction="element to target", percentile=80, top=5
    )
    means = values.mean(0)
    order = np.argsort(-means[..., 2], axis=None)[:5]
    places = [np.unravel_index(place, (3, 4)) for place in order]
    assert table["head"].tolist() == [f"{layer + 1}-{head + 1}" for layer, head in places]
    assert table["mean"].tolist() == pytest.approx(
        [means[layer, head, 2] for layer, head in places]
    )
    assert table["target to element"].tolist() == pytest.approx(
        [means[layer, head, 1] for layer, head in places]
    )
    assert table["both"].tolist() == pytest.approx(
        [means[layer, head, 0] for layer, head in places]
    )
    # Of twelve heads, the 80th percentile is between the third and the fourth from the top.
    assert table["over"].tolist() == [True, True, True, False, False]
    third, fourth = (means[..., 2][places[place]] for place in (2, 3))
    assert fourth < table["percentile"][0] < third
    assert (table["sentences"] == 12).all()
    assert ((table["low"] < table["mean"]) & (table["mean"] < table["high"])).all()


def test_an_unknown_direction_gets_the_nearest() -> None:
    with pytest.raises(
        UserError,
        match=r"^the direction must be one of both, element to target, target to element; "
        r"got 'bth' instead\. Did you mean 'both'\?",
    ):
        frame_table(sampled({"frame": random_values("frame")}), direction="bth")
