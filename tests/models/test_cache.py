"""The layer cache: a pass that skips the lower layers gives what a full pass gives."""

import pytest
import torch

from headscope.errors import UserError
from headscope.models import LayerView, Replacement
from headscope.models.cache import LayerCache, layer_blocks
from tiny import (
    BOTH,
    EVERY_STACK,
    HEADS,
    KINDS,
    LAYERS,
    RECENT,
    WIDTH,
    last_state,
    tiny_batch,
    tiny_model,
)

MEANS = {
    layer: torch.arange(HEADS * WIDTH, dtype=torch.float32).reshape(HEADS, WIDTH) / 20 - layer
    for layer in range(LAYERS)
}


@pytest.mark.parametrize("way", ["uniform", "zero", "mean"])
@pytest.mark.parametrize(("kind", "stack"), EVERY_STACK)
def test_passes_that_skip_layers_one_or_several_at_once_give_what_full_passes_give(
    kind, stack, way
):
    model, batch = tiny_model(kind), tiny_batch(kind)
    cache = LayerCache(model)
    off = [
        Replacement(heads, way, stack, MEANS)
        for heads in ("2-1", "2-4", "2-*", "1-2", "1-1,2-3", "1-4")
    ]
    with torch.inference_mode():
        plain = cache.record(batch).last_hidden_state
        assert cache.skips
        assert torch.equal(plain, last_state(model, batch))
        together = [
            part
            for three in (off[:3], off[3:])
            for part in cache.forward_stacked(three).last_hidden_state.split(len(batch.ids))
        ]
        for replacement, part in zip(off, together, strict=True):
            full = last_state(model, batch, replacement=replacement)
            assert torch.allclose(cache.forward(replacement).last_hidden_state, full, atol=1e-5)
            assert torch.allclose(part, full, atol=1e-5)
            assert (full - plain).abs().max() > 1e-3
        assert torch.equal(cache.forward().last_hidden_state, plain)


@pytest.mark.parametrize("kind", KINDS)
def test_only_layers_from_the_changed_one_up_are_computed_and_keep_their_numbers(kind):
    model, batch = tiny_model(kind), tiny_batch(kind)
    stack = model.main_stack()
    cache, seen, whole = LayerCache(model), list[LayerView](), list[LayerView]()
    with torch.inference_mode():
        cache.record(batch)
        off = Replacement("2-3", "zero", stack)
        cache.forward(off, listeners=[seen.append])
        model.forward(batch, replacement=off, listeners=[whole.append])
    assert [(view.stack, view.layer) for view in seen] == [
        (view.stack, view.layer) for view in whole if (view.stack, view.layer) != (stack, 0)
    ]
    assert all(
        torch.allclose(one.weights, other.weights, atol=1e-6)
        for one, other in zip(seen, whole[1:], strict=True)
    )
    assert not seen[0].output[:, :, 2].any()
    assert seen[0].output[:, :, 1].any()


@pytest.mark.parametrize("kind", ["bert", "albert", "gpt2", "t5"])
def test_only_what_differs_from_the_recorded_replacement_is_computed(kind):
    model, batch = tiny_model(kind), tiny_batch(kind)
    stack = model.main_stack()
    base, more = (Replacement("1-2", "zero", stack), Replacement("1-2,2-4", "zero", stack))
    cache, seen = LayerCache(model), list[LayerView]()
    with torch.inference_mode():
        cache.record(batch, replacement=base)
        for other in (more, None, Replacement(more.heads, "uniform", stack)):
            output = cache.forward(other, listeners=[seen.append]).last_hidden_state
            full = last_state(model, batch, replacement=other)
            assert torch.allclose(output, full, atol=1e-5)
    assert (seen[0].stack, seen[0].layer) == (stack, 1)


@pytest.mark.parametrize("kind", BOTH)
def test_a_change_in_the_decoder_skips_the_whole_encoder(kind):
    model, seen = tiny_model(kind), list[LayerView]()
    cache = LayerCache(model)
    with torch.inference_mode():
        cache.record(tiny_batch(kind))
        cache.forward(Replacement("2-1", "zero", "cross"), listeners=[seen.append])
    assert [(view.stack, view.layer) for view in seen] == [("decoder", 1), ("cross", 1)]


def test_different_means_of_a_head_count_as_a_change():
    model, batch = tiny_model("bert"), tiny_batch("bert")
    one, other = (Replacement("2-1", "mean", means={1: MEANS[1] * factor}) for factor in (1, 2))
    cache = LayerCache(model)
    with torch.inference_mode():
        cache.record(batch, replacement=one)
        assert cache.start(one) == LAYERS
        full = last_state(model, batch, replacement=other)
        assert torch.allclose(cache.forward(other).last_hidden_state, full, atol=1e-5)


def test_the_network_is_restored_even_after_an_error():
    model, batch = tiny_model("bert"), tiny_batch("bert")
    cache = LayerCache(model)
    mine = cache.blocks[1].forward
    vars(cache.blocks[1])["forward"] = mine  # as accelerate would

    def fail(_view):
        raise RuntimeError("stop")

    with torch.inference_mode():
        cache.record(batch)
        for listeners in ([], [fail]):
            try:
                cache.forward(Replacement("2-1", "zero"), listeners=listeners)
            except RuntimeError:
                assert listeners
            assert "forward" not in vars(cache.blocks[0])
            assert vars(cache.blocks[1])["forward"] is mine


def test_with_attention_outside_the_list_of_layers_every_pass_is_a_full_one():
    model, batch = tiny_model("bert"), tiny_batch("bert")
    cache = LayerCache(model)
    cache.blocks = cache.blocks[1:]
    replacement, seen = Replacement("2-1", "zero"), list[LayerView]()
    with torch.inference_mode():
        cache.record(batch)
        output = cache.forward(replacement, listeners=[seen.append]).last_hidden_state
        assert torch.equal(output, last_state(model, batch, replacement=replacement))
    assert not cache.skips
    assert [view.layer for view in seen] == [0, 1]


@pytest.mark.parametrize("kind", RECENT)
def test_passes_of_recent_models_that_skip_layers_give_what_full_passes_give(kind):
    model, batch = tiny_model(kind), tiny_batch(kind)
    cache = LayerCache(model)
    with torch.inference_mode():
        cache.record(batch)
        for label in model.shape(model.main_stack()).labels:
            replacement = Replacement(f"{label}-1", "zero")
            full = last_state(model, batch, replacement=replacement)
            assert torch.equal(cache.forward(replacement).last_hidden_state, full)
    assert cache.skips == (kind != "gemma4")  # later layers of Gemma 4 need earlier keys


def test_the_layers_of_t5_are_its_blocks_and_not_their_parts():
    blocks = layer_blocks(tiny_model("t5").network)
    assert [type(block).__name__ for block in blocks] == ["T5Block"] * 2 * LAYERS


def test_a_pass_before_anything_is_recorded_is_an_error():
    with pytest.raises(UserError, match="no batch has been recorded"):
        LayerCache(tiny_model("bert")).forward()
