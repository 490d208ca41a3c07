"""Replaced heads: uniform, zero and mean, against the same done by hand in eager attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headscope.encode import Batch
from headscope.errors import UserError
from headscope.heads import Head
from headscope.models import Model, Replacement
from refusals import refusal
from tiny import (
    BOTH,
    EVERY_STACK,
    HEADS,
    KINDS,
    LAYERS,
    STACKS,
    WIDTH,
    WINDOW,
    eager_run,
    last_state,
    place,
    same,
    split_values,
    tiny_batch,
    tiny_model,
    tiny_network,
    views_of,
)

HEADS_OFF = "1-2,1-4,2-3"
NUMBERS_OFF = {0: [1, 3], 1: [2]}
MEANS = {
    layer: torch.arange(HEADS * WIDTH, dtype=torch.float32).reshape(HEADS, WIDTH) / 20 - layer
    for layer in range(LAYERS)
}


def visible(kind: str, stack: str, layer: int, batch: Batch) -> Tensor:
    """Which keys each query may see, (batch, query, key), as the architecture defines it."""
    mask = torch.from_numpy(batch.mask)
    length = mask.shape[1]
    seen = mask[:, None].expand(-1, length, -1)
    gap = torch.arange(length)[:, None] - torch.arange(length)[None]
    if stack == "decoder":
        seen = seen & (gap >= 0)
    if kind == "modernbert" and layer == 1:
        seen = seen & (gap.abs() <= WINDOW)
    return seen


def by_hand(kind: str, stack: str, batch: Batch, fill: Callable[[int, Tensor], Tensor]) -> Tensor:
    """The last hidden states of the eager model with the outputs of HEADS_OFF replaced.

    ``fill(layer, values)`` gives the outputs before the projection.
    """
    network = tiny_network(kind)
    values: list[Tensor] = []
    calls: list[int] = []

    def keep(_module: nn.Module, _args: object, output: Tensor) -> None:
        values.append(split_values(kind, output))

    def change(_module: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
        layer = len(calls)
        calls.append(layer)
        heads = NUMBERS_OFF[layer]
        split = args[0].unflatten(-1, (HEADS, WIDTH)).clone()
        split[:, :, heads] = fill(layer, values[layer]).expand_as(split)[:, :, heads]
        return (split.flatten(-2),)

    places = [place(network, kind, stack, layer)[1:] for layer in range(LAYERS)]
    for projection, value in dict(places).items():
        value.register_forward_hook(keep)
        projection.register_forward_pre_hook(change)
    with torch.no_grad():
        output, _ = eager_run(kind, batch, network=network)
    assert len(calls) == len(values) == LAYERS
    return output.last_hidden_state


def fills(kind: str, stack: str, batch: Batch) -> dict[str, Callable[[int, Tensor], Tensor]]:
    """What replaces a head's output, for each way."""

    def uniform(layer: int, values: Tensor) -> Tensor:
        share = visible(kind, stack, layer, batch).float()
        return torch.einsum(
            "bqk,bkhw->bqhw", share / share.sum(-1, keepdim=True).clamp_min(1), values
        )

    return {
        "uniform": uniform,
        "zero": lambda _layer, _values: torch.zeros(()),
        "mean": lambda layer, _values: MEANS[layer],
    }


@pytest.mark.parametrize("way", ["uniform", "zero", "mean"])
@pytest.mark.parametrize(("kind", "stack"), EVERY_STACK)
def test_outputs_equal_those_of_an_eager_model_changed_by_hand(kind, stack, way):
    batch, model = tiny_batch(kind), tiny_model(kind)
    mask = torch.from_numpy(batch.mask)
    output = last_state(model, batch, replacement=Replacement(HEADS_OFF, way, stack, MEANS))
    untouched = last_state(model, batch)
    expected = by_hand(kind, stack, batch, fills(kind, stack, batch)[way])
    assert torch.allclose(output[mask], expected[mask], atol=1e-4)
    assert (output - untouched)[mask].abs().max() > 1e-2


@pytest.mark.parametrize(("kind", "stack"), EVERY_STACK)
def test_a_uniform_head_attends_equally_to_what_it_may_see_and_others_do_not_change(kind, stack):
    batch, model = tiny_batch(kind), tiny_model(kind)
    before, after = (
        [view for view in views_of(model, batch, replacement=off) if view.stack == stack]
        for off in (None, Replacement("1-2,1-4", stack=stack))
    )
    mask = torch.from_numpy(batch.mask)
    share = visible(kind, stack, 0, batch).float()
    expected = (share / share.sum(-1, keepdim=True))[mask]
    for head in (1, 3):
        assert torch.allclose(after[0].weights[:, head][mask], expected, atol=1e-7)
        assert not torch.allclose(before[0].weights[:, head][mask], expected, atol=1e-3)
    assert torch.equal(after[0].weights[:, [0, 2]], before[0].weights[:, [0, 2]])
    assert torch.equal(after[0].output[:, :, [0, 2]], before[0].output[:, :, [0, 2]])
    assert (after[1].weights - before[1].weights).transpose(1, 2)[mask].abs().max() > 1e-4, (
        "a later layer sees the change"
    )


@pytest.mark.parametrize("way", ["zero", "mean"])
@pytest.mark.parametrize(("kind", "stack"), EVERY_STACK)
def test_a_zero_or_mean_head_keeps_its_map_and_has_a_constant_output(kind, stack, way):
    batch, model = tiny_batch(kind), tiny_model(kind)
    before, after = (
        [view for view in views_of(model, batch, replacement=off) if view.stack == stack]
        for off in (None, Replacement("1-3", way, stack, MEANS))
    )
    constant = torch.zeros(WIDTH) if way == "zero" else MEANS[0][2]
    assert torch.equal(after[0].output[:, :, 2], constant.expand_as(after[0].output[:, :, 2]))
    assert torch.equal(after[0].output[:, :, [0, 1, 3]], before[0].output[:, :, [0, 1, 3]])
    assert torch.equal(after[0].weights, before[0].weights)
    assert not torch.equal(after[1].weights, before[1].weights)


def seen(model: Model, batch: Batch, **options: Any) -> list[list[Tensor]]:
    return [[view.weights, view.output] for view in views_of(model, batch, **options)]


@pytest.mark.parametrize("way", ["uniform", "zero", "mean"])
@pytest.mark.parametrize("kind", KINDS)
def test_replacing_nothing_changes_nothing_bit_for_bit(kind, way):
    batch, model = tiny_batch(kind), tiny_model(kind)
    replacement = Replacement((), way)
    before = seen(model, batch)
    assert same(seen(model, batch, replacement=replacement), before)
    last = last_state(model, batch, replacement=replacement)
    assert torch.equal(last_state(model, batch), last)
    views_of(model, batch, replacement=Replacement(HEADS_OFF, way, means=MEANS))
    assert same(seen(model, batch), before), "a replacement lasts for one pass only"


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("stack", "changed"), [("decoder", ["decoder"]), ("", ["encoder", "decoder", "cross"])]
)
def test_heads_are_replaced_in_the_given_stack_or_else_in_all_stacks(kind, stack, changed):
    batch, model = tiny_batch(kind), tiny_model(kind)
    before = {(view.stack, view.layer): view.output for view in views_of(model, batch)}
    views = views_of(model, batch, replacement=Replacement("1-3", "zero", stack))
    after = {(view.stack, view.layer): view.output for view in views}
    assert [name for name in STACKS[kind] if not after[name, 0][:, :, 2].any()] == changed
    if stack:
        for layer in range(LAYERS):
            assert torch.equal(after["encoder", layer], before["encoder", layer])


@pytest.mark.parametrize(
    "heads", ["1-2,2-*", "L0H1, L1H*", ["1-2", "2-*"], [Head(0, 1), "2-*"], ("2-*", "1-2", "2-3")]
)
def test_heads_are_given_in_every_form(heads):
    views = views_of(tiny_model("bert"), tiny_batch("bert"), replacement=Replacement(heads, "zero"))
    off = [[head for head in range(HEADS) if not view.output[:, :, head].any()] for view in views]
    assert off == [[1], [0, 1, 2, 3]]


def test_one_head_is_given_by_itself():
    for head in (Head(1, 2), "2-3", "L1H2"):
        view = views_of(tiny_model("bert"), tiny_batch("bert"), replacement=Replacement(head))[1]
        assert (view.weights[2, 2] == 1 / 12).all()


def test_stacks_of_different_shapes_replace_the_heads_that_they_have():
    model = tiny_model("bart", encoder_layers=3, encoder_attention_heads=2)
    views = views_of(model, tiny_batch("bart"), replacement=Replacement("1-*,2-4,3-1", "zero"))
    off = {
        (view.stack, view.layer): [
            head for head in range(view.heads) if not view.output[:, :, head].any()
        ]
        for view in views
    }
    assert off == {
        ("encoder", 0): [0, 1],
        ("encoder", 1): [],
        ("encoder", 2): [0],
        **{(stack, 0): [0, 1, 2, 3] for stack in ("decoder", "cross")},
        **{(stack, 1): [3] for stack in ("decoder", "cross")},
    }
    with pytest.raises(UserError, match="the model has no head 3-3"):
        views_of(model, tiny_batch("bart"), replacement=Replacement("3-3"))


def test_an_unknown_way_is_refused_with_a_list_of_ways():
    assert str(refusal(UserError, Replacement, "1-1", "uniforn")) == (
        "the way to replace a head must be one of mean, uniform, window, zero; got 'uniforn' "
        "instead. Did you mean 'uniform'?"
    )
