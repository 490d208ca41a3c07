"""Disable heads of every layer of a BERT base in turn: layer-input cache against full forwards."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from transformers import BertConfig, BertModel

from benchmarks.networks import Tokenizer
from benchmarks.timing import Row, best_times, row, times_row
from headscope.encode import Batch
from headscope.heads import Head
from headscope.models import Model, Replacement
from headscope.models.cache import LayerCache

LENGTH, BATCH = 32, 1


def run() -> list[Row]:
    """Return the rows of the benchmark table."""
    torch.manual_seed(0)
    network = BertModel(BertConfig(vocab_size=1000), add_pooling_layer=False)
    model = Model("random", network, Tokenizer())
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
    each_alone = f"{name}, one after the other ÷ a full forward for each"
    at_once = f"{name}, those of a layer at once ÷ a full forward for each"
    return [
        times_row(at_once, base, together, 0.55),
        times_row(each_alone, base, ours, 0.58),
        row(f"{name}: largest difference", error, "≤ 0.00001", digits=8),
    ]
