"""Value vectors and the lengths of what they send: checked by what the attention module adds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from headscope.errors import ModelError
from headscope.models import LayerView, projections
from headscope.models.projections import ValueNorms, norm_weighted
from tiny import (
    HEADS,
    PLACES,
    WIDTH,
    eager_inputs,
    place,
    tiny_batch,
    tiny_model,
    tiny_network,
    views_of,
)

BY_HAND = ("bert", "gpt2", "llama", "mpnet", "gpt")


def output_module(kind: str, network: Any, layer: int) -> Any:
    return place(network, kind, *PLACES[kind], layer)[1]


def output_weight(kind: str, network: Any, layer: int) -> Tensor:
    """W_O of every head for row vectors, (head, width, hidden)."""
    weight = output_module(kind, network, layer).weight.detach()
    return (weight if kind in ("gpt", "gpt2") else weight.T).reshape(HEADS, WIDTH, -1)


def sent(view: LayerView, weight: Tensor) -> Tensor:
    """v_j W_O of every key and head, (batch, head, key, hidden)."""
    assert view.values is not None
    groups = HEADS // view.values.shape[1]
    return torch.einsum("bhkw,hwd->bhkd", view.values.repeat_interleave(groups, 1), weight)


@pytest.mark.parametrize("kind", BY_HAND)
def test_what_keys_send_sums_to_what_the_attention_module_adds(kind):
    network, batch, added = tiny_network(kind), tiny_batch(kind), list[Tensor]()
    for layer in range(2):
        output_module(kind, network, layer).register_forward_hook(
            lambda _module, _args, output: added.append(output)
        )
    with torch.no_grad():
        network(**eager_inputs(kind, batch))  # before Headscope observes it
    views = views_of(tiny_model(kind), batch)
    assert len(views) == len(added) == 2
    for layer, (view, expected) in enumerate(zip(views, added, strict=True)):
        vectors = sent(view, output_weight(kind, network, layer))
        total = torch.einsum("bhqk,bhkd->bqd", view.attention, vectors)
        bias = output_module(kind, network, layer).bias
        if bias is not None:
            total = total + bias.detach()
        real = torch.from_numpy(batch.mask)
        torch.testing.assert_close(total[real], expected[real], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", BY_HAND)
def test_lengths_equal_those_of_the_vectors_themselves(kind):
    model, batch = tiny_model(kind), tiny_batch(kind)
    norms = ValueNorms(model, model.main_stack())
    for layer, view in enumerate(views_of(model, batch)):
        vectors = sent(view, output_weight(kind, model.network, layer))
        torch.testing.assert_close(norms.of(view), vectors.norm(dim=-1), atol=1e-5, rtol=1e-5)


def test_norm_weighted_maps_equal_a_plain_loop():
    generator = torch.Generator().manual_seed(0)
    block = torch.rand(2, 3, 4, 5, generator=generator).softmax(-1)
    lengths = torch.rand(2, 3, 5, generator=generator)
    found = norm_weighted(block, lengths)
    for example, head, row in np.ndindex(2, 3, 4):
        weights = [
            float(block[example, head, row, key] * lengths[example, head, key]) for key in range(5)
        ]
        expected = torch.tensor([weight / sum(weights) for weight in weights])
        torch.testing.assert_close(found[example, head, row], expected)


def test_a_row_that_sends_nothing_is_zero():
    found = norm_weighted(torch.full((1, 1, 2, 2), 0.5), torch.zeros(1, 1, 2))
    assert torch.equal(found, torch.zeros(1, 1, 2, 2))


@pytest.mark.parametrize(("kind", "stack"), [("t5", "cross"), ("bart", "cross"), ("gemma4", "")])
def test_cross_attention_and_heads_of_two_widths_have_lengths(kind, stack):
    model, batch = tiny_model(kind), tiny_batch(kind)
    stack = stack or model.main_stack()
    norms = ValueNorms(model, stack)
    for view in views_of(model, batch):
        if view.stack == stack:
            assert norms.of(view).shape == (3, HEADS, batch.mask.shape[1])


def test_a_norm_before_the_output_projection_is_an_error():
    model = tiny_model("llama")
    first = model.network.layers[0].self_attn.o_proj
    first.register_forward_pre_hook(lambda _module, args: (args[0] / 2,), prepend=True)
    with pytest.raises(ModelError, match="pass through something else"):
        ValueNorms(model, "decoder")


def test_an_unknown_output_projection_is_an_error(monkeypatch):
    monkeypatch.setattr(projections, "OUTPUTS", ())
    with pytest.raises(ModelError, match=r"cannot be read from tiny-llama .*; supported are BERT"):
        ValueNorms(tiny_model("llama"), "decoder")
