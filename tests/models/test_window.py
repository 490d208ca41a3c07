"""Heads that see only the first and the most recent tokens, as a cut cache leaves them.

The reference is transformers' own eager attention with a mask written out by a plain loop.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from headscope.encode import Batch
from headscope.errors import ModelError, UserError
from headscope.heads import Head
from headscope.models import Model, Replacement, observe, wrap
from headscope.models.cache import LayerCache
from headscope.models.replace import FittedReplacement
from tiny import HEADS, LAYERS, maps_of, tiny_batch, tiny_model, tiny_network, tiny_tokenizer

CUT = [1, 3]
"""The heads with a window, in every layer."""
SIZES = (2, 3)


def windowed(heads: str = "1-2,1-4,2-2,2-4", size: tuple[int, int] = SIZES) -> Replacement:
    return Replacement(heads, way="window", window=size)


def sees(row: int, key: int, causal: bool) -> bool:
    """Whether a head with a window sees a key."""
    first, recent = SIZES
    return (key < first or abs(row - key) < recent) and (key <= row or not causal)


def mask_of(batch: Batch, causal: bool) -> Tensor:
    """The additive mask that transformers gets, (example, head, row, key)."""
    examples, length = batch.ids.shape
    mask = torch.zeros(examples, HEADS, length, length)
    for example in range(examples):
        for head in range(HEADS):
            for row in range(length):
                for key in range(length):
                    seen = sees(row, key, causal) if head in CUT else key <= row or not causal
                    if not (seen and batch.mask[example, key]):
                        mask[example, head, row, key] = torch.finfo(torch.float32).min
    return mask


def states(model: Model, batch: Batch, replacement: Replacement | None) -> Tensor:
    with torch.inference_mode():
        found = model.forward(batch, replacement=replacement).last_hidden_state
    return found[torch.from_numpy(batch.mask)]


@pytest.mark.parametrize("kind", ["llama", "gpt2", "qwen3", "neox", "deepseek-v3", "bert"])
def test_outputs_are_those_of_eager_attention_with_the_mask_of_a_plain_loop(kind: str) -> None:
    batch, causal = tiny_batch(kind, (9, 5, 12)), kind != "bert"
    network = tiny_network(kind)
    inputs = {"input_ids": torch.from_numpy(batch.ids), "attention_mask": mask_of(batch, causal)}
    if kind == "bert":
        inputs["token_type_ids"] = torch.from_numpy(batch.types)
    with torch.inference_mode():
        expected = network(**inputs).last_hidden_state[torch.from_numpy(batch.mask)]
    with tiny_model(kind) as model:
        found, whole = states(model, batch, windowed()), states(model, batch, None)
    assert (found - expected).abs().max() < 2e-5
    assert (found - whole).abs().max() > 1e-2


@pytest.mark.parametrize("kind", ["llama", "gemma3", "gpt-oss", "bert", "t5"])
def test_only_the_named_heads_change_and_their_attention_is_spread_over_the_window(
    kind: str,
) -> None:
    """Gemma 3 has a sliding window of its own, GPT-OSS a learned sink, T5 a position bias."""
    batch = tiny_batch(kind, (9, 12))
    with tiny_model(kind) as model:
        stack = model.main_stack()
        before = maps_of(model, batch)[stack][0]
        off = Replacement("1-2", way="window", stack=stack, window=SIZES)
        after = maps_of(model, batch, replacement=off)[stack][0]
        causal = model.causal(stack)
    others = [head for head in range(HEADS) if head != 1]
    assert torch.equal(before[:, others], after[:, others])
    for example, length in enumerate(batch.mask.sum(1)):
        for row in range(length):
            old, new = (maps[example, 1, row].tolist() for maps in (before, after))
            sink = 1 - sum(old)
            left = sum(old[key] for key in range(length) if sees(row, key, causal)) + sink
            wanted = [weight * sees(row, key, causal) / left for key, weight in enumerate(old)]
            assert new == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "modernbert"])
def test_a_window_as_long_as_the_text_changes_nothing(kind: str) -> None:
    batch = tiny_batch(kind, (9, 12))
    with tiny_model(kind) as model:
        whole = states(model, batch, None)
        for size in ((0, 12), (12, 1)):
            assert torch.equal(states(model, batch, windowed(size=size)), whole)
        assert not torch.equal(states(model, batch, windowed(size=(0, 4))), whole)


def test_blocks_of_rows_give_the_same_as_whole_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = tiny_batch("llama", (50, 37))
    with tiny_model("llama") as model:
        whole = states(model, batch, windowed())
        monkeypatch.setattr(observe, "WEIGHTS", 1)
        heights: list[int] = []
        rows = observe.Call.rows
        monkeypatch.setattr(
            observe.Call,
            "rows",
            lambda call, first, last, **how: (
                heights.append(last - first) or rows(call, first, last, **how)
            ),
        )
        assert (states(model, batch, windowed()) - whole).abs().max() < 1e-5
    assert heights.count(observe.STEP) > 2 * LAYERS


@pytest.mark.parametrize("kind", ["llama", "gpt2", "qwen3", "neox", "deepseek-v3", "gemma3"])
@pytest.mark.parametrize("heads", ["1-2,1-4,2-2", "*"])
def test_heads_with_a_window_are_computed_apart_from_fewer_keys(
    kind: str, heads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, off = tiny_batch(kind, (50, 37)), windowed(heads.replace("*", "1-*,2-*"))
    with tiny_model(kind) as model:
        whole = states(model, batch, off)
        monkeypatch.setattr(observe, "WEIGHTS", 1)
        keys: list[int] = []
        narrowed = observe.narrowed_mask
        monkeypatch.setattr(
            observe, "narrowed_mask", lambda *given: keys.append(len(given[4])) or narrowed(*given)
        )
        assert (states(model, batch, off) - whole).abs().max() < 1e-5
        # Two first ones, and of 16 or of two rows those, and two before them.
        assert keys[-4:] == [16, 20, 20, 6]


def test_heads_with_a_sink_of_their_own_are_not_computed_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch = tiny_batch("gpt-oss", (50, 37))
    with tiny_model("gpt-oss") as model:
        whole = states(model, batch, windowed())
        monkeypatch.setattr(observe, "WEIGHTS", 1)
        monkeypatch.setattr(observe, "outputs_apart", None)
        assert (states(model, batch, windowed()) - whole).abs().max() < 1e-5


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_token_by_token_with_a_cache_gives_the_same_as_all_at_once(kind: str) -> None:
    """Gemma 3 caches only the last keys of a layer with a sliding window."""
    network = tiny_network(kind, auto=AutoModelForCausalLM)
    ids = np.random.default_rng(0).integers(5, 60, (1, 14))
    with wrap(network, tiny_tokenizer(kind)) as model, torch.inference_mode():
        batch = Batch(0, (), ids, np.zeros_like(ids), np.ones_like(ids, np.bool_))
        whole = model.forward(batch, replacement=windowed()).logits
        cache, steps = None, []
        for first, last in ((0, 6), *((at, at + 1) for at in range(6, 14))):
            part, zero = ids[:, first:last], np.zeros_like(ids[:, first:last])
            inputs = {} if cache is None else {"past_key_values": cache}
            seen = Batch(0, (), part, zero, np.ones((1, last), np.bool_))
            output = model.forward(seen, replacement=windowed(), use_cache=True, **inputs)
            cache = output.past_key_values
            steps.append(output.logits)
    assert (torch.cat(steps, 1) - whole).abs().max() < 1e-4


def test_several_windows_are_run_in_one_pass_over_copies() -> None:
    batch = tiny_batch("llama", (9, 12))
    sets = ("1-2", "2-1,2-2", "1-*")
    with tiny_model("llama") as model, torch.inference_mode():
        cache = LayerCache(model)
        cache.record(batch)
        offs: list[FittedReplacement] = [windowed(heads).fit(model) for heads in sets]
        together = cache.forward_stacked(offs).last_hidden_state.chunk(len(sets))
        for heads, part in zip(sets, together, strict=True):
            alone = model.forward(batch, replacement=windowed(heads)).last_hidden_state
            assert (part - alone).abs().max() < 1e-5
        wider = cache.forward(windowed("1-2", (2, 9)).fit(model)).last_hidden_state
        assert not torch.allclose(wider, together[0])


def test_cross_attention_and_attention_without_a_mask_to_change_are_refused() -> None:
    with tiny_model("t5") as model, pytest.raises(UserError, match="cross attention have no wind"):
        Replacement([Head(0, 0)], way="window").fit(model)
    with tiny_model("gpt") as model, pytest.raises(ModelError, match="only after the softmax"):
        model.forward(tiny_batch("gpt"), replacement=windowed())
