"""Surveys of norm-weighted maps, checked against transformers' eager attention and plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from numpy.typing import NDArray
from transformers import AutoModelForMaskedLM

import headscope as hs
from headscope.errors import UserError
from headscope.measures import Measure
from headscope.models import Model, observe, wrap
from headscope.results import Atlas, merge
from tiny import HEADS, LAYERS, SENTENCES, WIDTH, tiny_model, tiny_network, tiny_tokenizer

TEXTS = list(SENTENCES)
LENGTH = 48
SIMPLE = ("position", "entropy", "confidence")


def run(model: Model, texts: list[str], **options: Any) -> Atlas:
    return hs.survey(model, texts, max_length=LENGTH, **options)


def eager_norm_maps(text: str) -> NDArray[np.float64]:
    """The norm-weighted maps of tiny BERT on a text, (layer, head, query, key), by plain loops."""
    network, tokenizer = tiny_network("bert"), tiny_tokenizer("bert")
    with torch.no_grad():
        found = network(
            **tokenizer(text, return_tensors="pt"),
            output_attentions=True,
            output_hidden_states=True,
        )
    maps = []
    for layer, attention in enumerate(found.attentions):
        block = network.encoder.layer[layer].attention
        hidden = found.hidden_states[layer][0].numpy().astype(float)
        value = hidden @ block.self.value.weight.detach().numpy().T.astype(float)
        value = value + block.self.value.bias.detach().numpy()
        output = block.output.dense.weight.detach().numpy().T.astype(float)
        weights = attention[0].numpy().astype(float)
        for head in range(HEADS):
            own = slice(head * WIDTH, (head + 1) * WIDTH)
            for key in range(weights.shape[-1]):
                weights[head, :, key] *= np.linalg.norm(value[key, own] @ output[own])
        maps.append(weights / weights.sum(-1, keepdims=True))
    return np.array(maps)


def test_measures_on_norm_weighted_maps_equal_plain_loops():
    atlas = run(tiny_model("bert"), TEXTS, measures=SIMPLE[:2], maps="both", batch_size=2)
    previous, entropy = [], []
    for text in TEXTS:
        maps = eager_norm_maps(text)
        rows = range(1, maps.shape[-1])
        previous.append(np.mean([maps[:, :, row, row - 1] for row in rows], axis=0))
        entropy.append(-(maps * np.log(maps)).sum(-1).mean(-1))
    found = atlas.mean("norm_position").sel(offset="previous").values
    np.testing.assert_allclose(found, np.mean(previous, axis=0), rtol=1e-4)
    found = atlas.mean("norm_entropy").sel(row="all").values
    np.testing.assert_allclose(found, np.mean(entropy, axis=0), rtol=1e-4)


def test_the_measures_of_attention_stay_as_they_are():
    alone = run(tiny_model("bert"), TEXTS, measures=SIMPLE)
    both = run(tiny_model("bert"), TEXTS, measures=SIMPLE, maps="both")
    only = run(tiny_model("bert"), TEXTS, measures=SIMPLE, maps="norm")
    assert both.measures == (*SIMPLE, *(f"norm_{name}" for name in SIMPLE))
    assert only.measures == tuple(f"norm_{name}" for name in SIMPLE)
    for name in SIMPLE:
        xr.testing.assert_identical(both[name], alone[name])
        xr.testing.assert_identical(both[f"norm_{name}"], only[f"norm_{name}"])


@pytest.mark.parametrize("kind", ["llama", "gpt-oss", "mpnet"])
def test_blocks_of_rows_equal_whole_maps(kind, monkeypatch):
    long = [" ".join(TEXTS)]
    measures = [*SIMPLE, "role", "sink"]
    whole = run(tiny_model(kind), long, measures=measures, maps="norm")
    monkeypatch.setattr(observe, "WEIGHTS", 1)
    blocks = run(tiny_model(kind), long, measures=measures, maps="norm")
    for name in whole:
        np.testing.assert_allclose(
            blocks.mean(name).values, whole.mean(name).values, rtol=1e-4, atol=1e-6
        )


def test_a_key_without_a_value_gets_no_norm_weighted_attention():
    """Full stops of a planted model send nothing, however much attention they get."""
    model = tiny_model("bert")
    stop, ids = model.tokenizer.convert_tokens_to_ids("."), list[torch.Tensor]()
    model.network.register_forward_pre_hook(
        lambda _module, _args, kwargs: ids.append(kwargs["input_ids"]), with_kwargs=True
    )
    for layer in model.network.encoder.layer:
        layer.attention.self.value.register_forward_hook(
            lambda _module, _args, output: output * (ids[-1] != stop)[..., None]
        )
    texts = ["a cat sat.", "the dog sat. the cat sat."]
    atlas = run(model, texts, measures="special", maps="both")
    raw, norm = (
        atlas.mean(name).sel(token="punctuation", row="all").values
        for name in ("special", "norm_special")
    )
    assert (raw > 0.005).all()
    assert (norm == 0).all()


def test_a_learned_sink_carries_nothing():
    class Total(Measure):
        """The mean sum of a row."""

        name, title, unit, source = "total", "Sum of a row", "share of attention", "here"
        dims = {"of": ("row",)}

        def prepare(self, batch: Any, device: Any) -> Any:
            return torch.from_numpy(batch.mask)

        def layer(self, view: Any, attention: Any, prepared: Any) -> Any:
            rows = attention.sum(-1) * prepared[:, None]
            return (rows.sum(-1) / prepared.sum(-1)[:, None])[..., None]

    atlas = run(tiny_model("gpt-oss"), TEXTS, measures=Total, maps="both")
    assert (atlas.mean("total") < 0.95).any()
    np.testing.assert_allclose(atlas.mean("norm_total").values, 1, rtol=1e-5)


def test_shards_merge_to_the_whole(tmp_path):
    options: dict[str, Any] = {"measures": ["role", "entropy"], "maps": "both", "batch_size": 1}
    whole = run(tiny_model("bert"), TEXTS, **options)
    parts = [run(tiny_model("bert"), TEXTS, shard=(n, 2), **options) for n in (1, 2)]
    merged = merge(parts)
    assert merged.provenance["maps"] == "both"
    for name in whole:
        xr.testing.assert_identical(merged[name]["mean"], whole[name]["mean"])


def test_provenance_says_which_maps():
    model = masked_model()
    plain = run(model, TEXTS[:1], measures="entropy")
    assert "maps" not in plain.provenance
    both = run(model, TEXTS[:1], measures=["entropy", "gradient"], maps="both")
    assert both.provenance["maps"] == "both"
    assert both.provenance["measures"] == ["entropy", "gradient", "norm_entropy"]
    assert "gradient is not computed on norm-weighted maps" in both.provenance["notes"]
    assert both["norm_entropy"].attrs["maps"] == "norm"
    assert both["norm_entropy"].attrs["title"] == "Entropy of attention, norm-weighted"


def masked_model() -> Model:
    network = tiny_network("bert", auto=AutoModelForMaskedLM)
    return wrap(network, tiny_tokenizer("bert"), name="tiny-bert")


def test_an_example_whose_values_are_not_finite_is_dropped():
    model = tiny_model("bert")

    def spoil(_module: Any, _args: Any, output: torch.Tensor) -> torch.Tensor:
        output = output.clone()
        output[0, 2] = float("inf")
        return output

    last = model.network.encoder.layer[LAYERS - 1].attention.self.value
    last.register_forward_hook(spoil)
    atlas = run(model, TEXTS[:2], measures="entropy", maps="norm", batch_size=2)
    assert atlas.provenance["counts"]["nonfinite"] == 1
    assert np.isfinite(atlas.mean("norm_entropy").values).all()


@pytest.mark.parametrize("name", ["gradient", "pattern"])
def test_measures_of_something_else_are_refused(name):
    with pytest.raises(UserError, match=f"the measure '{name}' cannot be computed on norm-weight"):
        run(masked_model(), TEXTS, measures=["entropy", name], maps="norm")


def test_a_name_that_begins_with_norm_is_refused():
    class Mine(Measure):
        name, title, unit, source = "norm_mine", "Mine", "share", "here"
        dims = {"of": ("map",)}

    with pytest.raises(UserError, match="the name of the measure 'norm_mine' begins with 'norm_'"):
        run(tiny_model("bert"), TEXTS, measures=Mine, maps="both")


def test_unknown_maps_are_refused():
    message = "kind of maps must be one of attention, both, norm; got 'raw'"
    with pytest.raises(UserError, match=message):
        run(tiny_model("bert"), TEXTS, maps="raw")
