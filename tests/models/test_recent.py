"""Today's architectures: their shapes, notes and replaced heads; maps are in ``test_parity.py``."""

import pytest
import torch

from headscope.models import Replacement, Shape, wrap
from tiny import (
    HEADS,
    HYBRIDS,
    RECENT,
    WIDTH,
    tiny_batch,
    tiny_model,
    tiny_network,
    tiny_tokenizer,
    views_of,
)


@pytest.mark.parametrize("kind", RECENT)
def test_shapes_are_those_of_the_configuration(kind):
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["gpt-oss", "llama", "bert"])
def test_a_learned_sink_is_noted_in_every_precision(kind, dtype):
    model = wrap(tiny_network(kind).to(dtype), tiny_tokenizer(kind))
    assert any("sum to less than 1" in note for note in model.notes) == (kind == "gpt-oss")


@pytest.mark.parametrize("kind", RECENT)
@pytest.mark.parametrize("way", ["zero", "uniform"])
def test_a_head_is_replaced_in_its_own_layer_alone(kind, way):
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
