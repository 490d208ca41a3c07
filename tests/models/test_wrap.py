"""What ``wrap`` changes in a network, it puts back; what it cannot use, it refuses at once."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import pytest
import torch
from torch import nn
from transformers import ViTConfig, ViTModel

from headscope.errors import ModelError
from headscope.models import Replacement, load, wrap
from refusals import refusal
from tiny import (
    KINDS,
    LAYERS,
    PRIVATE,
    eager_inputs,
    save_tiny,
    tiny_batch,
    tiny_model,
    tiny_network,
    tiny_tokenizer,
    views_of,
)


def outputs(network: Any, kind: str) -> torch.Tensor:
    with torch.no_grad():
        return network(**eager_inputs(kind, tiny_batch(kind))).last_hidden_state


def hooks(network: nn.Module) -> int:
    """How many hooks the modules of a network have."""
    return sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks) for module in network.modules()
    )


def implementations(network: nn.Module) -> set[str]:
    configs = [getattr(module, "config", None) for module in network.modules()]
    return {config._attn_implementation for config in configs if config is not None}


def trained(network: nn.Module) -> list[bool]:
    return [module.training for module in network.modules()]


@pytest.mark.parametrize(
    ("kind", "attention"),
    [
        *((kind, "eager") for kind in KINDS),
        *((kind, "sdpa") for kind in KINDS if kind not in PRIVATE),
    ],
)
def test_closing_puts_the_network_back_bit_for_bit(kind, attention):
    network, before = (tiny_network(kind, attention=attention) for _ in range(2))
    model = wrap(network, tiny_tokenizer(kind))
    assert implementations(network) == {"eager" if kind in PRIVATE else "headscope"}
    assert hooks(network) == (3 * LAYERS if kind in PRIVATE else 0)
    assert views_of(model, tiny_batch(kind))
    model.close()
    assert implementations(network) == {attention}
    assert hooks(network) == 0
    assert torch.equal(outputs(network, kind), outputs(before, kind))
    assert network.state_dict().keys() == before.state_dict().keys()


def test_the_training_mode_of_each_module_is_restored():
    network = tiny_network("bert").train()
    network.encoder.layer[0].eval()  # a frozen layer
    before = trained(network)
    assert len(set(before)) == 2
    with wrap(network, tiny_tokenizer("bert")):
        assert not any(trained(network))
    assert trained(network) == before


def test_hooks_of_others_stay():
    network = tiny_network("gpt")
    seen: list[nn.Module] = []
    network.h[0].attn.attn_dropout.register_forward_hook(lambda module, *_: seen.append(module))
    wrap(network, tiny_tokenizer("gpt")).close()
    seen.clear()
    outputs(network, "gpt")
    assert seen == [network.h[0].attn.attn_dropout]


def test_an_error_in_a_with_block_closes_the_model_and_passes_through():
    network = tiny_network("bert").train()
    with pytest.raises(RuntimeError, match="stop"), wrap(network, tiny_tokenizer("bert")):
        raise RuntimeError("stop")
    assert network.training
    assert implementations(network) == {"eager"}


@pytest.mark.parametrize("kind", ["bert", "gpt"])
def test_closing_twice_has_no_effect_and_a_closed_model_says_so(kind):
    network = tiny_network(kind)
    model = wrap(network, tiny_tokenizer(kind), name="mine")
    assert not model.closed
    model.close()
    assert model.closed
    network.train()
    model.close()
    assert network.training
    for use in (
        lambda: model.forward(tiny_batch(kind)),
        lambda: model.encode(["the cat"]),
        lambda: model.encode(["the cat"], heads="1-1"),
        model.__enter__,
    ):
        assert str(refusal(ModelError, use)) == (
            "mine is closed: its network is as it was before and is not observed\n"
            "next: load it again, or wrap the network again: "
            "headscope.wrap(model.network, model.tokenizer)"
        )
    assert views_of(wrap(network, tiny_tokenizer(kind)), tiny_batch(kind))


@pytest.mark.parametrize("kind", ["bert", "gpt"])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_shared_network_is_put_back_by_the_last_model(kind, order):
    network = tiny_network(kind).train()
    models = [wrap(network, tiny_tokenizer(kind)) for _ in range(2)]
    models[order[0]].close()
    assert len(views_of(models[order[1]], tiny_batch(kind))) == LAYERS
    assert not network.training
    models[order[1]].close()
    assert network.training
    assert (implementations(network), hooks(network)) == ({"eager"}, 0)


def test_a_model_that_was_dropped_without_closing_does_not_hold_the_network():
    network = tiny_network("bert").train()
    wrap(network, tiny_tokenizer("bert"))
    gc.collect()
    with wrap(network, tiny_tokenizer("bert")):
        pass
    assert network.training
    assert implementations(network) == {"eager"}


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["deepcopy", "pickle"],
)
@pytest.mark.parametrize("kind", ["bert", "gpt", "t5"])
def test_a_copy_is_closed_by_itself(kind, copied):
    model = wrap(tiny_network(kind).train(), tiny_tokenizer(kind))
    other = copied(model)
    other.close()
    assert other.network.training
    assert (implementations(other.network), hooks(other.network)) == ({"eager"}, 0)
    assert not model.network.training
    assert views_of(model, tiny_batch(kind))


def test_a_network_that_does_not_read_text_is_refused_and_not_changed():
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 8}
    config = ViTConfig(**sizes, intermediate_size=48, patch_size=4)
    network = ViTModel(config).train()
    before = implementations(network)
    error = refusal(ModelError, wrap, network, tiny_tokenizer("bert"), name="picture")
    assert error.message.startswith("picture cannot be run on text: ")
    message = "choose a text model; the docs list what is supported under 'Supported models'"
    assert error.hint == message
    assert network.training
    assert implementations(network) == before


def test_an_implementation_that_is_changed_behind_our_back_is_an_error_and_not_silence():
    model = tiny_model("bert")
    model.network.set_attn_implementation("sdpa")
    for options in ({"listeners": [print]}, {"replacement": Replacement("1-1")}):
        assert refusal(ModelError, model.forward, tiny_batch("bert"), **options).message == (
            "the attention of tiny-bert is no longer observed: its implementation was changed to "
            "'sdpa' after the model was made"
        )


def test_a_loaded_model_is_closed_like_any_other(tmp_path):
    with load(save_tiny("bert", tmp_path)) as model:
        assert implementations(model.network) == {"headscope"}
    assert model.closed
    assert implementations(model.network) == {"eager"}
