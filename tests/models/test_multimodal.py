"""Models that see or hear, too: what reads text is observed, and is a decoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoModel, AutoModelForImageTextToText

import headscope as hs
from headscope.models import LayerView, Model, Shape, wrap
from tiny import HEADS, SENTENCES, WIDTH, tiny_batch, tiny_config, tiny_tokenizer

_WIDTHS = {"hidden_size": 32, "intermediate_size": 48}
_VISION: dict[str, Any] = _WIDTHS | {"num_hidden_layers": 3, "num_attention_heads": 2}
# Configuration, the tiny text model inside, and what sees.
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gemma3": ("Gemma3Config", "gemma3", _VISION | {"image_size": 28, "patch_size": 14}),
    "gemma4": ("Gemma4Config", "gemma4", _VISION | {"head_dim": 16, "num_key_value_heads": 2}),
    "qwen3.5": (
        "Qwen3_5Config",
        "qwen3.5",
        _WIDTHS | {"depth": 3, "num_heads": 2, "out_hidden_size": 32},
    ),
    "mistral3": ("Mistral3Config", "mistral", _VISION | {"model_type": "pixtral", "head_dim": 16}),
}


def network_of(kind: str, auto: Any = AutoModel) -> Any:
    name, text, vision = KINDS[kind]
    config = getattr(transformers, name)(
        text_config=tiny_config(text).to_dict(), vision_config=vision
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = auto.from_config(config, attn_implementation="eager").eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.2)
    return network


def model_of(kind: str, auto: Any = AutoModel) -> Model:
    return wrap(network_of(kind, auto), tiny_tokenizer(KINDS[kind][1]), name=f"tiny-{kind}")


@pytest.mark.parametrize("kind", KINDS)
def test_maps_equal_eager_and_are_those_of_a_decoder(kind):
    batch, views = tiny_batch(KINDS[kind][1]), list[LayerView]()
    model = model_of(kind)
    ids, mask = torch.from_numpy(batch.ids), torch.from_numpy(batch.mask).long()
    with torch.no_grad():
        output = model.forward(batch, listeners=[views.append])
        expected = network_of(kind)(input_ids=ids, attention_mask=mask, output_attentions=True)
    assert torch.equal(output.last_hidden_state, expected.last_hidden_state)
    assert {view.stack for view in views} == {"decoder"}
    for view, eager in zip(views, expected.attentions, strict=True):
        assert torch.equal(view.weights, eager)
        real = view.weights.triu(1).transpose(1, 2)[mask.bool()]  # rows of real tokens
        assert not real.any()


@pytest.mark.parametrize("kind", KINDS)
def test_shape_and_limits_are_those_of_what_reads_text(kind):
    model = model_of(kind)
    shared = model.network.config.get_text_config().num_key_value_heads
    expected = {
        "gemma4": Shape(4, HEADS, 2 * WIDTH, widths=(WIDTH, 2 * WIDTH) * 2, kv_heads=(shared,) * 4),
        "qwen3.5": Shape(2, HEADS, WIDTH, numbers=(1, 3), kv_heads=(shared,) * 2),
    }
    usual = Shape(2, HEADS, WIDTH, kv_heads=(shared,) * 2)
    assert model.shapes == {"decoder": expected.get(kind, usual)}
    assert (model.longest, model.hidden_size, model.main_stack()) == (64, 32, "decoder")
    assert model.encode([SENTENCES[0]]).shape == (1, 32)


@pytest.mark.parametrize("kind", KINDS)
def test_a_language_model_head_is_found(kind):
    plain, lm = model_of(kind), model_of(kind, AutoModelForImageTextToText)
    assert (plain.capabilities, lm.capabilities) == (frozenset(), frozenset({"lm"}))
    found = hs.survey(lm, [SENTENCES[0]], measures=["gradient", "position"], max_length=64)
    assert np.isfinite(found.mean("gradient").sel(token="other").values).all()
    assert np.isnan(found.mean("position").sel(offset="next").values).all()
