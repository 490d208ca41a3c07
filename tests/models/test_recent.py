"""Today's architectures: maps and outputs equal transformers' eager attention, bit for bit."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers import AutoModel, MiniMaxConfig

from headscope.models import LayerView, Replacement, Shape, observe, wrap
from headscope.models.cache import LayerCache
from tiny import (
    HEADS,
    HYBRIDS,
    RECENT,
    WIDTH,
    WINDOW,
    eager_run,
    maps_of,
    tiny_batch,
    tiny_model,
    tiny_network,
    tiny_tokenizer,
    views_of,
)

LENGTHS = (50, 37, 44)


def same(ours: dict[str, list[Tensor]], theirs: dict[str, tuple[Tensor, ...]]) -> bool:
    """Whether two sets of maps have the same stacks, layers and numbers."""
    assert {stack: len(maps) for stack, maps in ours.items()} == {
        stack: len(maps) for stack, maps in theirs.items()
    }
    return all(
        torch.equal(one, other)
        for stack in ours
        for one, other in zip(ours[stack], theirs[stack], strict=True)
    )


@pytest.mark.parametrize("kind", RECENT)
def test_maps_and_hidden_states_equal_eager(kind: str) -> None:
    batch = tiny_batch(kind)
    model = tiny_model(kind)
    with torch.no_grad():
        expected, maps = eager_run(kind, batch)
        output = model.forward(batch)
    assert same(maps_of(model, batch), maps)
    assert torch.equal(output.last_hidden_state, expected.last_hidden_state)


class Blocks:
    """Keeps the blocks of every layer."""

    whole_maps = False

    def __init__(self) -> None:
        self.blocks: dict[tuple[str, int], list[Tensor]] = {}

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        self.blocks.setdefault((view.stack, view.layer), []).append(block.clone())

    def end(self, view: LayerView) -> None:
        pass


def assert_same(ours: Tensor, theirs: Tensor, kind: str) -> None:
    """Bit for bit; in causal models, where keys after a block are skipped, within 1e-6."""
    exact = kind == "eurobert"
    torch.testing.assert_close(ours, theirs, atol=0 if exact else 1e-6, rtol=0 if exact else 1e-6)


@pytest.mark.parametrize("kind", RECENT)
def test_blocks_of_rows_equal_eager(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe, "WEIGHTS", 1)
    monkeypatch.setattr(observe, "_cut", {})
    monkeypatch.setattr(observe, "_narrowed", {})
    batch, blocks = tiny_batch(kind, LENGTHS), Blocks()
    with torch.no_grad():
        output = tiny_model(kind).forward(batch, listeners=[blocks])
        expected, maps = eager_run(kind, batch)
    (layers,) = maps.values()
    assert len(blocks.blocks) == len(layers)
    for found, eager in zip(blocks.blocks.values(), layers, strict=True):
        assert len(found) == 4
        for example, length in enumerate(LENGTHS):  # padded rows that see nothing may differ
            rows = torch.cat(found, 2)[example, :, :length]
            assert_same(rows, eager[example, :, :length], kind)
    real = torch.from_numpy(batch.mask).bool()
    assert_same(output.last_hidden_state[real], expected.last_hidden_state[real], kind)


@pytest.mark.parametrize("kind", RECENT)
def test_shapes_are_those_of_the_configuration(kind: str) -> None:
    (stack, shape), *others = tiny_model(kind).shapes.items()
    assert (stack, others) == ("encoder" if kind == "eurobert" else "decoder", [])
    config = tiny_model(kind).network.config
    kv_heads = (getattr(config, "num_key_value_heads", HEADS),) * shape.layers
    expected = Shape(2, HEADS, WIDTH, kv_heads=kv_heads)
    if kind == "gemma4":
        widths = (WIDTH, 2 * WIDTH) * 2
        expected = Shape(4, HEADS, 2 * WIDTH, widths=widths, kv_heads=kv_heads)
    elif kind == "gpt-oss":
        expected = Shape(2, HEADS, WIDTH, sink=True, kv_heads=kv_heads)
    elif kind in HYBRIDS:
        expected = Shape(2, HEADS, WIDTH, numbers=(1, 3), kv_heads=kv_heads)
    assert shape == expected


@pytest.mark.parametrize(
    ("kind", "layers", "window"),
    [
        ("gemma3", (0,), WINDOW + 1),
        ("gemma4", (0, 2), WINDOW + 1),
        ("gpt-oss", (0,), WINDOW + 1),
        ("olmo3", (0,), WINDOW + 1),
        ("mistral", (0, 1), WINDOW + 1),
        ("ministral", (0,), WINDOW + 1),
        ("modernbert-decoder", (0,), WINDOW),
    ],
)
def test_layers_with_a_sliding_window_attend_only_within_it(
    kind: str, layers: tuple[int, ...], window: int
) -> None:
    maps = maps_of(tiny_model(kind), tiny_batch(kind, (12,)))["decoder"]
    back = torch.arange(12)[:, None] - torch.arange(12)[None]
    for number, weights in enumerate(maps):
        visible = (back >= 0) & (back < (window if number in layers else 12))
        assert (weights[..., visible] > 0).all()
        assert not weights[..., ~visible].any()


@pytest.mark.parametrize("kind", RECENT)
def test_rows_sum_to_1_unless_there_is_a_learned_sink(kind: str) -> None:
    (maps,) = maps_of(tiny_model(kind), tiny_batch(kind, (12,))).values()
    sums = torch.stack([weights.sum(-1) for weights in maps])
    if kind == "gpt-oss":
        assert sums.min() > 0
        assert sums.max() < 1
    else:
        assert torch.allclose(sums, torch.ones(()), atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["gpt-oss", "llama", "bert"])
def test_a_learned_sink_is_noted_in_every_precision(kind: str, dtype: torch.dtype) -> None:
    model = wrap(tiny_network(kind).to(dtype), tiny_tokenizer(kind))
    assert any("sum to less than 1" in note for note in model.notes) == (kind == "gpt-oss")


@pytest.mark.parametrize("kind", RECENT)
@pytest.mark.parametrize("way", ["zero", "uniform"])
def test_a_head_is_replaced_in_its_own_layer_alone(kind: str, way: str) -> None:
    model, batch = tiny_model(kind), tiny_batch(kind)
    last = model.shape(model.main_stack()).labels[-1]
    before = views_of(model, batch)
    after = views_of(model, batch, replacement=Replacement(f"{last}-2", way))
    *below, top = range(len(before))
    for index in below:
        assert torch.equal(before[index].output, after[index].output)
    kept = [head for head in range(HEADS) if head != 1]
    assert torch.equal(before[top].output[:, :, kept], after[top].output[:, :, kept])
    assert not torch.equal(before[top].output[:, :, 1], after[top].output[:, :, 1])
    if way == "uniform":  # over the keys that a token sees, and without the sink
        seen = (before[top].weights[:, 1] > 0).float()
        real = torch.from_numpy(batch.mask)
        expected = seen / seen.sum(-1, keepdim=True).clamp_min(1)
        torch.testing.assert_close(after[top].weights[:, 1][real], expected[real])


@pytest.mark.parametrize("kind", RECENT)
def test_the_layer_cache_gives_what_a_full_pass_gives(kind: str) -> None:
    model, batch = tiny_model(kind), tiny_batch(kind)
    cache = LayerCache(model)
    with torch.inference_mode():
        cache.record(batch)
        for label in model.shape(model.main_stack()).labels:
            replacement = Replacement(f"{label}-1", "zero")
            full = model.forward(batch, replacement=replacement).last_hidden_state
            assert torch.equal(cache.forward(replacement).last_hidden_state, full)
    assert cache.skips == (kind != "gemma4")  # later layers of Gemma 4 need earlier keys


def test_minimax_shows_the_layers_that_have_attention() -> None:
    """Its linear layers return their state as if it were a map."""
    torch.manual_seed(0)
    config = MiniMaxConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        vocab_size=400,
        num_local_experts=2,
        num_experts_per_tok=1,
        layer_types=["linear_attention", "full_attention"] * 2,
        block_size=16,
    )
    network = AutoModel.from_config(config, attn_implementation="eager").eval()
    batch, views = tiny_batch("llama", (12,)), list[LayerView]()
    with torch.no_grad():
        expected = network(input_ids=torch.from_numpy(batch.ids), output_attentions=True)
        model = wrap(network, tiny_tokenizer("llama"), name="minimax")
        model.forward(batch, listeners=[views.append])
    assert [view.layer for view in views] == [1, 3]
    for view in views:
        assert torch.equal(view.attention, expected.attentions[view.layer])
