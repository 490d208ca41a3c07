"""Exports for cache compression, read back as DuoAttention and HeadKV read their files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import headscope as hs
from headscope.errors import ResultsError, UserError
from page.samples import made_results
from refusals import refusal
from stats.heads.test_kv_heads import PLANTED, planted
from tiny import SENTENCES, tiny_model, tiny_network

FIRST, RECENT = 2, 3
BY = "position:previous"


def read_duoattention(folder: Path) -> tuple[NDArray[np.float64], int, int]:
    """The gates and the two sizes, as ``load_attn_pattern`` of DuoAttention reads them."""
    gates = np.loadtxt(folder / "full_attention_heads.tsv", dtype=float, delimiter="\t")
    config = json.loads((folder / "config.json").read_text())
    return np.clip(gates, 0, 1), config["sink_size"], config["recent_size"]


def read_headkv(path: Path, layers: int, heads: int) -> NDArray[np.float64]:
    """The shares of the cache, as HeadKV reads them: by the order of the keys, not their names."""
    with path.open() as file:
        scores = json.loads(file.readline())
        assert not file.read()
    means = np.array([np.mean(values) for values in scores.values()])
    return (means / means.sum()).reshape(layers, heads)


def distant(kind: str, text: str) -> NDArray[np.float64]:
    """Attention to distant tokens by head, from transformers' own maps with plain loops."""
    model, network = tiny_model(kind), tiny_network(kind)
    ids = torch.tensor([model.tokenizer(text)["input_ids"]])
    with torch.no_grad():
        maps = torch.stack(network(ids, output_attentions=True).attentions)[:, 0].numpy()
    rows = range(FIRST + RECENT, ids.shape[1])
    assert len(rows) > 3
    far = [maps[:, :, row, FIRST : row - RECENT + 1].sum(-1) for row in rows]
    return np.mean(far, 0)


@pytest.mark.parametrize(("kind", "groups"), [("llama", 2), ("gpt2", 1)])
def test_both_files_hold_the_distant_attention_of_eager_maps(kind, groups, tmp_path):
    measure = hs.Streaming(first=FIRST, recent=RECENT)
    atlas = hs.survey(tiny_model(kind), [SENTENCES[1]], measures=measure, max_length=64)
    expected = distant(kind, SENTENCES[1])
    layers, heads = expected.shape
    folder = atlas.export(tmp_path / "pattern", format="duoattention")
    gates, sink, recent = read_duoattention(folder)
    shared = expected.reshape(layers, heads // groups, groups).max(-1)
    np.testing.assert_allclose(gates, shared, rtol=1e-4)
    assert (sink, recent) == (FIRST, RECENT)
    path = atlas.export(tmp_path / "scores.json", format="headkv")
    shares = read_headkv(path, layers, heads)
    np.testing.assert_allclose(shares, expected / expected.sum(), rtol=1e-4)


def test_values_between_0_and_1_are_written_to_the_last_bit(tmp_path):
    atlas = planted(kv_heads=4)
    exact = atlas.mean("position").sel(offset="previous").values
    folder = atlas.export(tmp_path / "new" / "pattern", format="duoattention", by=BY)
    gates, sink, recent = read_duoattention(folder)
    np.testing.assert_array_equal(gates, exact)
    assert (sink, recent) == (128, 256)
    expected = ["config.json", "full_attention_heads.tsv"]
    assert sorted(file.name for file in folder.iterdir()) == expected
    about = json.loads((folder / "config.json").read_text())["headscope"]
    assert about == {
        "value": BY,
        "over_query_heads": "maximum",
        "scaling": "",
        "sizes": "those of DuoAttention's released patterns",
    }


def test_other_values_are_scaled_and_the_config_says_so(tmp_path):
    values = np.array([[-1.0, 0.0, 2.0, 1.0], [3.0, 1.0, 0.5, 0.0]])
    folder = planted(values, kv_heads=2).export(tmp_path / "p", format="duoattention", by=BY)
    gates, *_ = read_duoattention(folder)
    np.testing.assert_allclose(gates, [[0.0, 2 / 3], [1.0, 0.5 / 3]], atol=1e-12)
    note = json.loads((folder / "config.json").read_text())["headscope"]["scaling"]
    assert note == f"{BY} is not between 0 and 1, so it was scaled: 0 became 0 and 3 1"


def test_headkv_has_all_query_heads_layer_by_layer_from_0(tmp_path):
    path = planted(kv_heads=2).export(tmp_path / "scores.json", format="headkv", by=BY)
    scores = json.loads(path.read_text())
    assert list(scores) == ["0-0", "0-1", "0-2", "0-3", "1-0", "1-1", "1-2", "1-3"]
    np.testing.assert_allclose([value for (value,) in scores.values()], PLANTED.ravel())


@pytest.mark.parametrize("format", ["duoattention", "headkv"])
def test_heads_without_a_value_are_named_and_nothing_is_written(format, tmp_path):
    values = PLANTED.copy()
    values[0, 1] = values[1, 3] = np.nan
    with pytest.raises(UserError, match=f"{BY} is not defined for 1-2, 2-4\n") as caught:
        planted(values, kv_heads=2).export(tmp_path / "out", format=format, by=BY)
    assert caught.value.hint == "choose another value, or survey more texts"
    assert not list(tmp_path.iterdir())


def test_texts_too_short_for_distant_tokens_are_an_error_that_says_how_long(tmp_path):
    atlas = hs.survey(tiny_model("llama"), ["the cat sat"], measures="streaming", max_length=64)
    error = refusal(UserError, atlas.export, tmp_path / "out", format="duoattention")
    assert error.message.endswith("is not defined for 1-1, 1-2, 1-3, 1-4, 2-1, 2-2 and 2 more")
    assert error.hint == "survey texts of more than 68 tokens"


def test_without_the_default_measure_the_error_says_which_to_survey(tmp_path):
    with pytest.raises(UserError, match="these results lack the measure streaming") as caught:
        planted().export(tmp_path / "out.json", format="headkv")
    assert "hs.survey('made', 'some/texts.txt', measures=" in caught.value.hint


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (PLANTED - 0.35, f"needs scores of 0 or more; {BY} is negative for 1-1, 1-3, 2-3, 2-4\n"),
        (PLANTED * 0, f"{BY} is 0 for all heads"),
    ],
)
def test_headkv_refuses_scores_that_are_no_shares(values, message, tmp_path):
    with pytest.raises(UserError, match=message):
        planted(values).export(tmp_path / "out.json", format="headkv", by=BY)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"causal": False}, "made reads whole texts and has none"),
        ({"layer_numbers": [2, 4]}, "made has it in layers 2, 4 only"),
        ({"kv_heads": [2, 4]}, r"as many KV heads in every layer; these have \(2, 4\)"),
    ],
)
def test_models_whose_cache_has_another_shape_are_refused(model, message, tmp_path):
    with pytest.raises(UserError, match=message):
        planted(**model).export(tmp_path / "out", format="duoattention", by=BY)
    assert not list(tmp_path.iterdir())


def test_equal_values_beyond_1_cannot_be_scaled(tmp_path):
    with pytest.raises(UserError, match=f"{BY} is 3 for all KV heads"):
        planted(PLANTED * 0 + 3).export(tmp_path / "out", format="duoattention", by=BY)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(ResultsError, match="taken is a file, not a folder"):
        planted().export(tmp_path / "taken", format="duoattention", by=BY)


def test_by_and_measure_are_each_for_their_own_formats(tmp_path):
    with pytest.raises(UserError, match="by is for the formats duoattention and headkv"):
        made_results().export(tmp_path / "table.csv", by=BY)
    with pytest.raises(UserError, match="the format headkv has one value per head") as caught:
        made_results().export(tmp_path / "out.json", format="headkv", measure="position")
    assert caught.value.hint == "name the value: by='position'"
