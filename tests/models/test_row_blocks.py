"""Attention computed in blocks of rows is transformers' eager attention, bit for bit.

Where keys after a block are skipped (causal models), it is within 1e-6.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headscope.errors import ModelError
from headscope.models import LayerView, OutputListener, Replacement
from headscope.models import observe as door
from headscope.models.observe import (
    STEP,
    Call,
    block_height,
    can_be_cut,
    can_skip_keys,
    eager_function,
)
from tiny import (
    BOTH,
    DECODERS,
    KINDS,
    LAYERS,
    PRIVATE,
    RECENT,
    SPARSE,
    eager_run,
    tiny_batch,
    tiny_model,
)

LENGTHS = (50, 37, 44)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 16 rows, whatever the size of the maps; after each, memory is given back."""
    monkeypatch.setattr(door, "WEIGHTS", 1)
    monkeypatch.setattr(door, "BLOCKS", 0)
    monkeypatch.setattr(door, "GATHERED", -(2**40))
    monkeypatch.setattr(door, "_cut", {})
    monkeypatch.setattr(door, "_narrowed", {})


def assert_same(ours: Tensor, theirs: Tensor, kind: str) -> None:
    """Bit for bit; in causal models, where keys after a block are skipped, within 1e-6."""
    exact = kind == "eurobert" or (kind in KINDS and kind not in DECODERS)
    torch.testing.assert_close(ours, theirs, atol=0 if exact else 1e-6, rtol=0 if exact else 1e-6)


class Gather:
    """Keeps every block, and every layer's outputs."""

    whole_maps = False

    def __init__(self) -> None:
        self.blocks: dict[tuple[str, int], list[tuple[int, Tensor]]] = {}
        self.outputs: dict[tuple[str, int], Tensor] = {}

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        self.blocks.setdefault((view.stack, view.layer), []).append((first_row, block.clone()))
        with pytest.raises(ModelError, match="blocks of rows"):
            _ = view.weights
        with pytest.raises(ModelError, match="all rows"):
            _ = view.output

    def end(self, view: LayerView) -> None:
        self.outputs[view.stack, view.layer] = view.output.clone()

    def maps(self) -> dict[str, list[Tensor]]:
        """The blocks put together, by stack."""
        found: dict[str, list[Tensor]] = {}
        for (stack, _), blocks in self.blocks.items():
            rows = 0
            for first, block in blocks:
                assert first == rows
                rows += block.shape[2]
            found.setdefault(stack, []).append(torch.cat([block for _, block in blocks], 2))
        return found


def observe(kind: str, **options: Any) -> tuple[Gather, Any]:
    gather = Gather()
    with torch.no_grad():
        output = tiny_model(kind).forward(tiny_batch(kind, LENGTHS), listeners=[gather], **options)
    return gather, output


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", [*KINDS, *RECENT, *SPARSE])
def test_blocks_make_up_the_maps_of_eager_attention(kind):
    gather, output = observe(kind, output_hidden_states=kind in KINDS)
    batch = tiny_batch(kind, LENGTHS)
    with torch.no_grad():
        expected, maps = eager_run(kind, batch)
    found = gather.maps()
    eager = {name: [one for one in layers if one is not None] for name, layers in maps.items()}
    wanted = {name: len(layers) for name, layers in eager.items()}
    assert {name: len(layers) for name, layers in found.items()} == wanted
    # padded rows that see nothing may differ in others
    rows = torch.from_numpy(batch.mask | (kind in KINDS))
    for stack, layers in found.items():
        for ours, theirs in zip(layers, eager[stack], strict=True):
            assert_same(ours.transpose(1, 2)[rows], theirs.transpose(1, 2)[rows], kind)
    if kind not in SPARSE:  # rounding adds up through their experts
        assert_same(output.last_hidden_state[rows], expected.last_hidden_state[rows], kind)
    counts = {len(blocks) for blocks in gather.blocks.values()}
    # an argument of GLM 5's attention has rows, too
    assert counts == {1 if kind == "glm5-next" else -(-max(LENGTHS) // STEP)}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["uniform", "zero"])
def test_heads_are_replaced_in_blocks_as_in_whole_maps(kind, way):
    replacement = Replacement("1-2,2-*", way=way)
    gather, output = observe(kind, replacement=replacement)
    views: list[LayerView] = []
    with torch.no_grad():
        expected = tiny_model(kind).forward(
            tiny_batch(kind, LENGTHS), listeners=[views.append], replacement=replacement
        )
    assert_same(output.last_hidden_state, expected.last_hidden_state, kind)
    for view in views:
        assert_same(gather.outputs[view.stack, view.layer], view.output, kind)
        whole = gather.maps()[view.stack][view.layer]
        assert_same(whole, view.weights, kind)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", ["bert", "gpt2", "t5"])
def test_one_listener_that_needs_whole_maps_gives_them_to_all(kind):
    gather, views = Gather(), list[LayerView]()
    with torch.no_grad():
        tiny_model(kind).forward(tiny_batch(kind, LENGTHS), listeners=[gather, views.append])
    assert all(len(blocks) == 1 for blocks in gather.blocks.values())
    for view in views:
        assert torch.equal(gather.maps()[view.stack][view.layer], view.weights)


@pytest.mark.usefixtures("small_blocks")
def test_maps_that_the_network_is_asked_to_return_are_whole():
    gather, output = observe("bert", output_attentions=True)
    assert len(output.attentions) == LAYERS
    for ours, theirs in zip(gather.maps()["encoder"], output.attentions, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.usefixtures("small_blocks")
def test_listeners_to_outputs_need_no_maps():
    shapes: list[tuple[int, ...]] = []
    with torch.no_grad():
        tiny_model("bert").forward(
            tiny_batch("bert", LENGTHS),
            listeners=[OutputListener(lambda view: shapes.append(tuple(view.output.shape)))],
        )
    assert shapes == [(3, 50, 4, 8)] * LAYERS


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", [one for one in DECODERS if one not in (*BOTH, *PRIVATE)])
def test_rows_count_the_keys_of_earlier_calls(kind):
    """With a cache, a block's rows stand after the keys that are already known."""
    model, batch = tiny_model(kind), tiny_batch(kind, (40,))
    whole, gather = Gather(), Gather()
    ids = torch.from_numpy(batch.ids)
    with torch.no_grad():
        model.forward(batch, listeners=[whole])
        network = model.network
        before = network(input_ids=ids[:, :8], use_cache=True).past_key_values
        from headscope.models.observe import Watch, watching

        with watching(Watch(model._stacks, [gather], None, None)):
            network(input_ids=ids[:, 8:], past_key_values=before, use_cache=True)
    for name, blocks in gather.blocks.items():
        assert [first for first, _ in blocks] == [8, 24]
        rows = torch.cat([block for _, block in blocks], 2)
        expected = whole.maps()[name[0]][name[1]][:, :, 8:]
        torch.testing.assert_close(rows, expected, atol=1e-5, rtol=0)


class Odd(nn.Module):
    """A module for made-up attention functions."""


def call_of(function: Any, length: int = 48, **others: Any) -> Call:
    generator = torch.Generator().manual_seed(3)
    query, key, value = torch.randn(3, 2, 4, length, 8, generator=generator)
    return Call(function, Odd(), query, key, value, None, others)


def plain(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **_: Any) -> Any:
    weights = (query @ key.transpose(2, 3)).softmax(-1)
    return (weights @ value).transpose(1, 2), weights


def by_place(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **_: Any) -> Any:
    """Prefers near keys, with rows numbered by their place in the query that it is given."""
    away = torch.arange(query.shape[2])[:, None] - torch.arange(key.shape[2])
    weights = (query @ key.transpose(2, 3) - away.abs()).softmax(-1)
    return (weights @ value).transpose(1, 2), weights


def test_a_function_that_reads_a_row_s_number_from_its_place_is_not_cut():
    assert can_be_cut(call_of(plain))
    assert not can_be_cut(call_of(by_place))


def test_an_unknown_argument_with_a_value_for_every_row_is_not_cut():
    assert not can_be_cut(call_of(plain, bias=torch.zeros(1, 4, 48, 48)))
    assert not can_be_cut(call_of(plain, pair=(torch.zeros(48), 1)))
    assert can_be_cut(call_of(plain, position_ids=torch.arange(48)[None]))
    assert can_be_cut(call_of(plain, position_bias=torch.zeros(1, 4, 48, 48)))
    assert can_be_cut(call_of(plain, s_aux=torch.zeros(4)))


def masked(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **_: Any) -> Any:
    weights = (query @ key.transpose(2, 3) + mask).softmax(-1)
    return (weights @ value).transpose(1, 2), weights


def by_keys(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **_: Any) -> Any:
    """Divides scores by the number of keys that it is given."""
    weights = (query @ key.transpose(2, 3) / key.shape[2] + mask).softmax(-1)
    return (weights @ value).transpose(1, 2), weights


def hiding(seen: Tensor) -> Tensor:
    """The mask that lets each row see some keys."""
    return torch.where(seen, 0.0, torch.finfo(torch.float32).min)[None, None]


@pytest.mark.parametrize("cached", [0, 5])
def test_keys_after_a_block_of_a_causal_model_are_skipped(cached):
    sizes: list[int] = []

    def spy(module, query, key, *others, **more):
        sizes.append(key.shape[2])
        return masked(module, query, key, *others, **more)

    seen = torch.ones(48, 48 + cached, dtype=torch.bool).tril(cached)
    call = call_of(spy, 48 + cached)
    call = replace(call, query=call.query[:, :, cached:], mask=hiding(seen))
    outputs, maps = call.rows(0, 48)
    assert call.hides_later_keys()
    for first in (0, 16, 32):
        sizes.clear()
        output, block = call.rows(first, first + 16, causal=True)
        assert sizes == [first + 16 + cached]
        torch.testing.assert_close(output, outputs[:, first : first + 16], atol=1e-6, rtol=1e-6)
        torch.testing.assert_close(block, maps[:, :, first : first + 16], atol=1e-6, rtol=1e-6)


def test_keys_are_skipped_only_where_every_row_s_later_keys_are_hidden():
    causal = torch.ones(48, 48, dtype=torch.bool).tril()
    prefix = causal.clone()
    prefix[:, :20] = True  # the first twenty tokens see each other
    window = causal & ~torch.ones(48, 48, dtype=torch.bool).tril(-8)
    for seen, skipped in ((causal, True), (window, True), (prefix, False), (causal.T, False)):
        assert can_skip_keys(replace(call_of(masked), mask=hiding(seen))) is skipped
        assert replace(call_of(masked), mask=seen[None, None]).hides_later_keys() is skipped
    assert not can_skip_keys(call_of(plain))  # no mask
    assert not can_skip_keys(replace(call_of(by_keys), mask=hiding(causal)))


@pytest.mark.parametrize("batch", [1, 3, 16])
@pytest.mark.parametrize("length", [1, 15, 16, 17, 100, 513, 4096])
def test_blocks_are_multiples_of_16_rows_and_about_2_million_weights(batch, length):
    query = torch.empty(batch, 12, length, 1)
    height = block_height(query, query)
    assert height % STEP == 0
    assert height == STEP or batch * 12 * length * (height - STEP) < door.WEIGHTS
    assert height < length + STEP


def test_every_tiny_architecture_but_two_uses_a_function_that_can_be_cut():
    for kind in KINDS:
        if kind not in PRIVATE:
            modules = tiny_model(kind).network.modules()
            assert any(eager_function(module) is not None for module in modules), kind
