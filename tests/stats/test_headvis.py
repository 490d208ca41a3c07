"""The export for HeadVis: the files that its front end asks for, with numbers from eager maps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import headscope as hs
from headscope.errors import UserError
from headscope.models.names import EMBEDDED
from page.samples import made_results

TEXTS = ["The dog that I saw barked at the cat.", "She gave him the keys, and he left early."]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    atlas = hs.survey("demo", TEXTS, measures=["position", "entropy"], examples=8)
    return atlas, atlas.export(tmp_path_factory.mktemp("headvis") / "site", format="headvis")


def load(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_all_files_of_the_front_end_are_there(exported):
    _, folder = exported
    config = load(folder, "config.json")
    assert (config["n_layers"], config["n_heads"]) == (6, 12)
    assert config["heads"][0] == [0, 0]
    assert config["heads"][-1] == [5, 11]
    for layer, head in config["heads"]:
        name = config["head_data_pattern"].format(layer=layer, head=head)
        assert (folder / "heads" / name).is_file()
    assert load(folder, "server_config.json") == load(folder, "attributions/manifest.json") == {}
    assert set(config["metrics"]) == set(config["metric_descriptions"])
    scatter = load(folder, "scatter_data.json")
    assert all(set(row) == {"layer", "head", *config["metrics"]} for row in scatter)
    assert len(scatter) == 72


def test_sparse_maps_are_those_of_eager_attention(exported):
    _, folder = exported
    place = EMBEDDED["demo"].find().parent
    tokenizer = AutoTokenizer.from_pretrained(place)
    network = AutoModel.from_pretrained(place, attn_implementation="eager").eval()
    found = load(folder, "heads/L2H8.json")
    one = next(one for one in found["sequences"] if one["sequence_id"] == 1)
    with torch.inference_mode():
        encoded = tokenizer(TEXTS[0], return_tensors="pt")
        maps = network(**encoded, output_attentions=True).attentions[2][0, 8].numpy()
    pieces = tokenizer.convert_ids_to_tokens(encoded["input_ids"][0])
    shown = [token if token.startswith("[") else token.lower() for token in one["tokens"]]
    assert shown == [piece.removeprefix("##") for piece in pieces]
    assert one["seq_len"] == len(maps)
    sparse = np.zeros_like(maps)
    for index, weight in zip(one["attention_indices"], one["attention_values"], strict=True):
        sparse[divmod(index, one["seq_len"])] = weight
    for row, kept in zip(maps, sparse, strict=True):
        largest = np.sort(row)[::-1][:8]
        expected = pytest.approx(largest[largest > 0.005], abs=2e-5)
        assert np.sort(kept)[::-1][: (largest > 0.005).sum()] == expected
    np.testing.assert_allclose(sparse[sparse > 0], maps[sparse > 0], atol=2e-5)
    assert one["max_activation"] == pytest.approx(maps[:, 1:].max(), abs=2e-5)


def test_intervals_go_from_the_strongest_to_the_weakest(exported):
    _, folder = exported
    config, found = load(folder, "config.json"), load(folder, "heads/L0H2.json")
    intervals = [one["interval"] for one in found["sequences"]]
    assert intervals == sorted(intervals)
    assert intervals[0] == 1
    assert max(intervals) <= config["n_intervals"]
    histogram = found["qk_distance_histogram"]
    assert len(histogram["bin_edges"]) == len(histogram["bin_values"]) + 1
    middle = np.mean([histogram["bin_edges"][:-1], histogram["bin_edges"][1:]], axis=0)
    assert middle[int(np.argmax(histogram["bin_values"]))] == 1  # the previous token


def test_what_was_not_measured_is_null(exported):
    _, folder = exported
    row = load(folder, "scatter_data.json")[2]
    assert row["prev_token_score"] > 0.9
    assert row["induction_score"] is None
    assert "NaN" not in (folder / "scatter_data.json").read_text()


def test_results_without_examples_are_refused(tmp_path):
    with pytest.raises(UserError, match="hold no examples"):
        made_results().export(tmp_path / "site", format="headvis")
