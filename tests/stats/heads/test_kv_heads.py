"""Statistics per KV head: hand-computed groups, and groups found by changing one key head."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray

import headscope as hs
from headscope.errors import UserError
from headscope.results import Atlas
from page.samples import made_results
from refusals import refusal
from tiny import HEADS, tiny_model, tiny_network

PLANTED = np.array([[0.1, 0.5, 0.2, 0.4], [0.9, 0.7, 0.3, 0.3]])
"""Attention to the previous token, (layer, query head)."""


def planted(values: NDArray[np.float64] = PLANTED, **model: Any) -> Atlas:
    """Results in which ``position:previous`` has these values; ``model`` is added to provenance."""
    position = np.stack([values, np.zeros_like(values), np.zeros_like(values)], -1)
    layers, heads = values.shape
    made = made_results(layers, heads, values={"position": position})
    about = made.provenance
    return made.described(about | {"model": about["model"] | model})


def test_a_kv_head_has_the_mean_and_the_maximum_of_the_query_heads_that_share_it():
    table = planted(kv_heads=2).kv_heads("position:previous")
    expected = pd.DataFrame(
        {
            "layer": [1, 1, 2, 2],
            "kv_head": [1, 2, 1, 2],
            "mean": [0.3, 0.3, 0.8, 0.3],
            "max": [0.5, 0.4, 0.9, 0.3],
            "heads": ["1-1, 1-2", "1-3, 1-4", "2-1, 2-2", "2-3, 2-4"],
        }
    )
    pd.testing.assert_frame_equal(table, expected)


def test_without_groups_every_query_head_is_its_own_kv_head():
    table = planted().kv_heads("position:previous")
    np.testing.assert_allclose(table["mean"], PLANTED.ravel())
    np.testing.assert_array_equal(table["mean"], table["max"])
    assert table["heads"].tolist() == ["1-1", "1-2", "1-3", "1-4", "2-1", "2-2", "2-3", "2-4"]


def test_layers_may_differ_in_their_kv_heads():
    table = planted(kv_heads=[1, 2]).kv_heads("position:previous")
    assert table["heads"].tolist() == ["1-1, 1-2, 1-3, 1-4", "2-1, 2-2", "2-3, 2-4"]
    np.testing.assert_allclose(table["max"], [0.5, 0.9, 0.3])


def test_a_group_with_an_undefined_head_is_undefined():
    values = PLANTED.copy()
    values[0, 1] = np.nan
    table = planted(values, kv_heads=2).kv_heads("position:previous")
    assert table["mean"].isna().tolist() == [True, False, False, False]
    assert table["max"].isna().tolist() == [True, False, False, False]


@pytest.mark.parametrize("wrong", ["2 and none", 3, 0, [2], [2, 2, 2]])
def test_results_that_do_not_say_how_heads_are_grouped_are_refused(wrong):
    assert refusal(UserError, planted(kv_heads=wrong).kv_heads, "position:previous").message == (
        "these results do not say which of the 4 heads of a layer share keys and values: "
        f"kv_heads is {wrong!r}"
    )


def test_a_value_must_be_named():
    with pytest.raises(UserError, match="name the value to show per KV head"):
        planted().kv_heads(" ")


def test_the_heads_of_a_group_are_those_whose_maps_change_with_the_key_head():
    network = tiny_network("llama")
    ids = torch.arange(5, 17)[None]
    with torch.no_grad():
        before = network(ids, output_attentions=True).attentions[0][0]
        width = network.config.head_dim
        network.layers[0].self_attn.k_proj.weight[width : 2 * width] *= -1  # the second KV head
        after = network(ids, output_attentions=True).attentions[0][0]
    changed = [f"1-{head + 1}" for head in range(HEADS) if not before[head].equal(after[head])]
    atlas = hs.survey(tiny_model("llama"), ["the cat"], measures="position", max_length=64)
    table = atlas.kv_heads("position:previous").set_index(["layer", "kv_head"])
    assert table.loc[(1, 2), "heads"] == ", ".join(changed)
