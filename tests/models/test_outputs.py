"""Head outputs are what the output projection reads, and gradients reach the maps."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from headscope.models import LayerView
from tiny import (
    ENCODERS,
    EVERY_STACK,
    HEADS,
    KINDS,
    LAYERS,
    WIDTH,
    eager_run,
    place,
    tiny_batch,
    tiny_model,
    tiny_network,
    views_of,
)

# Their blocks add the residual and normalise after projecting, so the output of the projection
# itself is compared.
NORMALISING = {"bert", "roberta", "xlmr", "electra", "albert"}


def project(projection: nn.Module, concatenated: Tensor) -> Tensor:
    """The projection by hand, with a bias if there is one.

    The weights are (output, input) in a Linear, (input, output) in GPT's Conv1D.
    """
    weight = projection.weight if isinstance(projection, nn.Linear) else projection.weight.T
    bias = projection.bias if projection.bias is not None else torch.zeros(())
    return concatenated @ weight.T + bias


@pytest.mark.parametrize(("kind", "stack"), EVERY_STACK)
def test_projected_head_outputs_are_the_output_of_the_attention_block(kind, stack):
    batch = tiny_batch(kind)
    eager = tiny_network(kind)
    given: list[Tensor] = []

    def keep(_module, _args, output):
        given.append(output if isinstance(output, Tensor) else output[0])

    places = [place(eager, kind, stack, layer) for layer in range(LAYERS)]
    for module in dict.fromkeys(
        projection if kind in NORMALISING else block for block, projection, _ in places
    ):
        module.register_forward_hook(keep)
    with torch.no_grad():
        eager_run(kind, batch, network=eager)
    views = [view for view in views_of(tiny_model(kind), batch) if view.stack == stack]
    assert len(views) == len(given) == LAYERS
    for view, (_, projection, _), expected in zip(views, places, given, strict=True):
        assert view.output.shape == (*batch.ids.shape, HEADS, WIDTH)
        assert torch.allclose(project(projection, view.output.flatten(-2)), expected, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_view_names_the_attention_module(kind):
    model = tiny_model(kind)
    for view in views_of(model, tiny_batch(kind)):
        block = place(model.network, kind, view.stack, view.layer)[0]
        assert view.module in set(block.modules())
        assert view.heads == HEADS


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_the_maps_equal_those_of_eager(kind):
    batch, model = tiny_batch(kind), tiny_model(kind)
    views: list[LayerView] = []

    def listen(view):
        view.weights.retain_grad()
        views.append(view)

    output = model.forward(batch, listeners=[listen]).last_hidden_state
    # With a cache of keys and values, which we never use, autograd adds in another order: a
    # difference of 6e-7 of the largest gradient in T5.
    expected, maps = eager_run(
        kind, batch, **({} if kind in {*ENCODERS, "gpt"} else {"use_cache": False})
    )
    for weights in (weights for layers in maps.values() for weights in layers):
        weights.retain_grad()
    # The plain sum of a normalised vector is constant, so its entries are weighted.
    scale = torch.linspace(-1, 1, output.shape[-1])
    (output * scale).sum().backward()
    (expected.last_hidden_state * scale).sum().backward()
    assert len(views) == sum(map(len, maps.values()))
    for view in views:
        gradient = maps[view.stack][view.layer].grad
        assert gradient.abs().max() > 1e-3
        assert torch.equal(view.weights.grad, gradient)


@pytest.mark.parametrize("kind", ["bert", "gpt", "mpnet", "llama"])
def test_gradients_reach_the_head_outputs(kind):
    batch, model = tiny_batch(kind), tiny_model(kind)
    seen: list[Tensor] = []

    def listen(view):
        view.output.retain_grad()
        seen.append(view.output)

    output = model.forward(batch, listeners=[listen]).last_hidden_state
    (output * torch.linspace(-1, 1, output.shape[-1])).sum().backward()
    assert [tensor.grad is not None and bool(tensor.grad.any()) for tensor in seen] == [True, True]
