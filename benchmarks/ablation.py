"""Disable heads of every layer of a BERT base in turn: layer-input cache against full forwards."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from transformers import BertConfig, BertModel

from benchmarks.timing import best_times
from headscope.encode import Batch
from headscope.heads import Head
from headscope.models import Model, Replacement
from headscope.models.cache import LayerCache

LENGTH, BATCH = 32, 1


class _Tokenizer:
    model_max_length = 512
    pad_token_id = 0
    bos_token_id = None


def run() -> list[dict[str, object]]:
    """Return the rows of the benchmark table."""
    torch.manual_seed(0)
    network = BertModel(BertConfig(vocab_size=1000), add_pooling_layer=False)
    model = Model("random", network, _Tokenizer())
    ids = np.random.default_rng(0).integers(5, 1000, (BATCH, LENGTH))
    batch = Batch(0, (), ids, np.zeros_like(ids), np.ones_like(ids, dtype=np.bool_))
    shape = model.shape("encoder")
    each = [
        Replacement(Head(layer, head))
        for layer in range(shape.layers)
        for head in range(shape.heads)
    ]
    cache = LayerCache(model)

    def full() -> list[Tensor]:
        with torch.inference_mode():
            return [model.forward(batch, replacement=one).last_hidden_state for one in each]

    def cached() -> list[Tensor]:
        with torch.inference_mode():
            cache.record(batch)
            return [cache.forward(one).last_hidden_state for one in each]

    def stacked() -> list[Tensor]:
        with torch.inference_mode():
            cache.record(batch)
            size = len(each) // shape.layers
            layers = [each[first : first + size] for first in range(0, len(each), size)]
            parts = [cache.forward_stacked(layer).last_hidden_state for layer in layers]
            return list(torch.tensor_split(torch.cat(parts), len(each)))

    base, ours, together = best_times(full, cached, stacked, rounds=3)
    expected = full()
    error = max(
        float((one - other).abs().max())
        for found in (cached(), stacked())
        for one, other in zip(expected, found, strict=True)
    )
    name = f"{len(each)} heads of {shape.layers} layers disabled in turn, {LENGTH} tokens"
    return [
        {
            "benchmark": f"{name}, those of a layer at once ÷ a full forward for each",
            "base": f"{base:.2f} s",
            "ours": f"{together:.2f} s",
            "ratio": round(together / base, 3),
            "bar": "≤ 0.55",
            "ok": together / base <= 0.55,
        },
        {
            "benchmark": f"{name}, one after the other ÷ a full forward for each",
            "base": f"{base:.2f} s",
            "ours": f"{ours:.2f} s",
            "ratio": round(ours / base, 3),
            "bar": "≤ 0.58",
            "ok": ours / base <= 0.58,
        },
        {
            "benchmark": f"{name}: largest difference",
            "base": "",
            "ours": "",
            "ratio": round(error, 8),
            "bar": "≤ 0.00001",
            "ok": error <= 1e-5,
        },
    ]
