"""``hs.check`` passes healthy models and finds those whose attention is not eager's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

import headscope as hs
from headscope.errors import UserError
from headscope.models import observe
from headscope.runs import eager
from headscope.runs.eager import ALONE, LONG_TEXT, MAPS, OUTPUTS, PADDED, reach_of
from headscope.runs.looking import check
from tiny import BOTH, HYBRIDS, tiny_config, tiny_model, tiny_network, tiny_tokenizer

HEALTHY = ("bert", "mpnet", "gpt2", "t5", "gemma3", "gpt-oss", "qwen3.5", "deepseek-v3.2")


@pytest.mark.parametrize("kind", [*HEALTHY, "mobilebert", "sam3-lite-text"])
def test_a_healthy_model_passes_with_every_stack_and_layer_compared(kind):
    model = tiny_model(kind)
    found = check(model)
    assert found.passed, found
    assert found.verdict().startswith(f"PASS: tiny-{kind} agrees with eager attention ")
    for stack, shape in model.shapes.items():
        maps = [row for row in found.rows if (row.what, row.stack) == (MAPS, stack)]
        assert [row.text for row in maps] == [ALONE, PADDED, LONG_TEXT]
        assert [row.layers for row in maps] == [shape.layers] * 3
        outputs = [row for row in found.rows if (row.what, row.stack) == (OUTPUTS, stack)]
        assert len(outputs) == 3 * (stack != "cross")
        if kind not in (*HYBRIDS, "sam3-lite-text"):  # not all of their layers attend
            assert all(row.layers == model.network.config.num_hidden_layers for row in outputs)
    alone = [row for row in found.rows if row.text == ALONE]
    assert {row.digits for row in alone} == {"every bit"}


def test_a_model_is_as_it_was_afterwards():
    model = tiny_model("bert")
    model.network.train()
    before = model.config._attn_implementation
    check(model)
    assert model.config._attn_implementation is before
    assert model.network.training
    network = tiny_network("bert", attention="sdpa")
    assert check((network, tiny_tokenizer("bert"))).passed
    assert network.config._attn_implementation == "sdpa"


def test_a_model_in_training_mode_with_dropout_passes():
    model = tiny_model("bert", attention_probs_dropout_prob=0.5, hidden_dropout_prob=0.5)
    model.network.train()
    assert check(model).passed


# ---- planted faults


def broken(function: Callable[..., Any]) -> Callable[..., Any]:
    """Our door, with something else in place of the architecture's eager attention."""
    return lambda module: lambda *given, **others: function(attention_of(module), *given, **others)


attention_of = observe.eager_function


def without_mask(eager: Any, module: Any, q: Any, k: Any, v: Any, mask: Any, **others: Any) -> Any:
    return eager(module, q, k, v, None, **others)


def without_scale(eager: Any, module: Any, q: Any, k: Any, v: Any, mask: Any, **others: Any) -> Any:
    return eager(module, q, k, v, mask, **(others | {"scaling": 1.0}))


def other_maps(eager: Any, *given: Any, **others: Any) -> Any:
    output, maps = eager(*given, **others)
    return output, maps.flip(1)


def not_a_number(eager: Any, *given: Any, **others: Any) -> Any:
    output, maps = eager(*given, **others)
    return output, maps * torch.nan


def too_long(eager: Any, module: Any, q: Any, *given: Any, **others: Any) -> Any:
    if q.shape[2] > 50:
        raise RuntimeError("CUDA out of memory")
    return eager(module, q, *given, **others)


@pytest.mark.parametrize(
    ("kind", "fault", "wrong"),
    [
        ("bert", without_mask, {(PADDED, MAPS), (PADDED, OUTPUTS)}),
        (
            "llama",
            without_mask,
            {(a, b) for a in (ALONE, PADDED, LONG_TEXT) for b in (MAPS, OUTPUTS)},
        ),
        (
            "llama",
            without_scale,
            {(a, b) for a in (ALONE, PADDED, LONG_TEXT) for b in (MAPS, OUTPUTS)},
        ),
        ("gpt2", other_maps, {(ALONE, MAPS), (PADDED, MAPS), (LONG_TEXT, MAPS)}),
        ("gpt2", not_a_number, {(ALONE, MAPS), (PADDED, MAPS), (LONG_TEXT, MAPS)}),
        ("bert", too_long, {(LONG_TEXT, "maps and outputs")}),
    ],
)
def test_broken_attention_fails_where_it_is_broken(kind, fault, wrong, monkeypatch):
    model = tiny_model(kind)
    monkeypatch.setattr(observe, "eager_function", broken(fault))
    found = check(model)
    assert not found.passed
    assert {(row.text, row.what) for row in found.rows if not row.agrees} == wrong
    assert found.verdict().startswith(f"FAIL: tiny-{kind} does not agree with eager attention: ")


def test_what_cannot_be_run_is_reported(monkeypatch):
    model = tiny_model("bert")
    monkeypatch.setattr(observe, "eager_function", broken(too_long))
    verdict = check(model).verdict()
    assert verdict.endswith(
        "maps and outputs of a long text could not be compared: RuntimeError: CUDA out of memory"
    )


def test_a_sparse_model_that_is_dense_fails_on_every_text_beyond_its_index():
    """As under a name that the modelling code does not know."""
    model = tiny_model("deepseek-v3.2")
    model.config._attn_implementation_internal = "headscope"  # a plain string
    found = check(model)
    assert not found.passed
    assert all(row.difference > 0.05 for row in found.rows if row.what == MAPS)


def test_padding_that_changes_numbers_fails_in_the_batch_alone():
    model = tiny_model("mobilebert")
    model.neutral_padding = True  # as if it had not been noticed
    found = check(model)
    assert {row.text for row in found.rows if not row.agrees} == {PADDED}


def test_layers_that_are_not_observed_fail():
    model = tiny_model("llama")
    layer = model.network.layers[1].self_attn
    layer.config = type(layer.config)(**layer.config.to_dict())
    layer.config._attn_implementation = "eager"  # bypasses the door
    found = check(model)
    assert "1 layers are observed and eager attention has 2" in found.verdict()


# ---- the long text


def test_the_long_text_goes_beyond_windows_and_indices():
    assert reach_of(tiny_config("mistral", sliding_window=40)) == 40
    assert reach_of(tiny_config("deepseek-v3.2", index_topk=50)) == 50
    assert reach_of(tiny_config("minimax-m3")) == 2 * 3
    assert reach_of(tiny_config("modernbert", local_attention=20)) == 20
    assert reach_of(tiny_config("bert")) == 0
    model = tiny_model("mistral", sliding_window=1500, max_position_embeddings=10_000)
    length, notes = eager.long_length(model, None)
    assert (length, notes) == (1500 + 187, [])
    model = tiny_model("mistral", sliding_window=5000, max_position_embeddings=10_000)
    length, (note,) = eager.long_length(model, None)
    assert length == 4096
    assert note.startswith("attention may change beyond 5000 tokens (a window or index of the ")
    assert eager.long_length(model, 6000) == (6000, [])


def test_a_text_longer_than_the_model_takes_is_refused():
    with pytest.raises(UserError) as error:
        check(tiny_model("bert"), max_length=65)
    assert error.value.message == (
        "the maximum length must be 5 to 64 for tiny-bert, got 65 instead"
    )


def test_where_maps_take_too_much_memory_only_outputs_are_compared(monkeypatch):
    monkeypatch.setattr(eager, "MEMORY", 2 * 4 * 60**2 * 4)
    found = check(tiny_model("bert"))
    assert found.passed
    assert [row.what for row in found.rows if row.text == LONG_TEXT] == [OUTPUTS]
    assert "only the outputs of the layers were compared there" in found.notes[-1]


def test_a_check_prints_a_table_and_its_verdict():
    found = hs.check(tiny_model("gpt2", auto=AutoModelForCausalLM), max_length=30)
    lines = str(found).splitlines()
    assert re.split(r"  +", lines[0].strip())[:3] == ["text", "tokens", "compared"]
    assert lines[0].endswith("layers  largest difference agrees to  allowed verdict")
    assert lines[-1] == found.verdict()
    assert list(found.frame()["verdict"]) == ["ok"] * 6


def test_both_models_of_an_encoder_decoder_are_compared():
    for kind in BOTH:
        stacks = {(row.what, row.stack) for row in check(tiny_model(kind)).rows}
        assert stacks == {
            *((what, stack) for what in (MAPS, OUTPUTS) for stack in ("encoder", "decoder")),
            (MAPS, "cross"),
        }
