"""The jobs that are measured: each makes what it needs and returns a function that does the work.

Weights are random, with the shape of BERT base (12 layers, 12 heads, 768 wide) or, for ``wide_*``,
of two layers of a model with 32 heads, 2048 wide. Sequences are made: 128 tokens with words, a tree
and mentions, so that every measure has something to measure.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
)

import headscope as hs
from benchmarks import networks
from benchmarks.networks import offered, plain, random_batch
from headscope.heads import Head
from headscope.models import Model, Replacement
from headscope.models.cache import LayerCache
from headscope.runs.probe.vectors import make_head_outputs

Work = Callable[[], object]
SURFACE = ("position", "special", "entropy", "role")
BASE = BertConfig()
WIDE = BertConfig(
    num_hidden_layers=2, num_attention_heads=32, hidden_size=2048, intermediate_size=8192
)
STEP = 4
"""Of the heads that are disabled in turn, every fourth is measured: those of a layer cost the
same."""


def make_model(kind: type[torch.nn.Module] = BertModel, config: BertConfig = BASE) -> Model:
    """Make a model with random weights and the tokenizer of ``demo``."""
    torch.manual_seed(0)
    return Model("random", kind(config).eval(), hs.load("demo").tokenizer)


def make_texts(count: int) -> list[tuple[str, ...]]:
    """Make texts of more than 128 tokens out of the built-in corpus."""
    passages = [" ".join(example.texts) for example in hs.read("demo")]
    return [(" ".join(passages[first : first + 3]),) for first in range(count)]


def bare(size: int, config: BertConfig = BASE) -> Work:
    """A forward pass with SDPA attention, which computes no maps."""
    torch.manual_seed(0)
    network = BertModel(config, add_pooling_layer=False).eval()
    network.set_attn_implementation("sdpa")
    return plain(network, random_batch(size))


def survey(names: Sequence[str], size: int, model: Model | None = None) -> Work:
    """One pass of a survey."""
    batch = random_batch(size)
    watched = networks.survey(model or make_model(), batch, names)
    return lambda: watched.run(batch)


def gradient(size: int) -> Work:
    """The gradient of a masked language model's loss by every weight of every map."""
    return survey(["gradient"], size, make_model(BertForMaskedLM))


def vectors(size: int) -> Work:
    """The vectors of every head and layer for probing, written to a folder."""
    model, texts = make_model(), make_texts(size)

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            make_head_outputs(model, texts, Path(folder), batch_size=size)

    return work


def ablation(size: int) -> Work:
    """Every fourth head of every layer disabled in turn, from the recorded inputs of layers."""
    model, batch = make_model(), random_batch(size)
    shape, cache = model.shape("encoder"), LayerCache(model)
    each = [
        Replacement(Head(layer, head))
        for layer in range(shape.layers)
        for head in range(0, shape.heads, STEP)
    ]

    def work() -> None:
        with torch.inference_mode():
            cache.record(batch)
            for one in each:
                cache.forward(one)

    return work


def tuning(size: int) -> Work:
    """One step of fine-tuning a classifier with AdamW."""
    torch.manual_seed(0)
    network = BertForSequenceClassification(BASE).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-5)
    batch = random_batch(size)
    ids, labels = torch.from_numpy(batch.ids), torch.zeros(size, dtype=torch.int64)

    def work() -> None:
        network(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return work


def comparison(size: int) -> Work:
    """Two models on the same texts."""
    first, second = make_model(), make_model()
    texts = hs.corpus.from_texts(make_texts(size))
    return lambda: hs.compare(first, second, texts, batch_size=size)


JOBS: dict[str, tuple[str, int, float, Callable[[int], Work]]] = {
    "bare": ("bare forward pass (SDPA)", 16, 1, bare),
    "surface": ("survey: " + ", ".join(SURFACE), 16, 1, lambda size: survey(SURFACE, size)),
    "offered": ("survey: everything offered", 16, 1, lambda size: survey(offered(), size)),
    "distance": ("survey: head distances", 16, 1, lambda size: survey(["distance"], size)),
    "pattern": ("survey: pattern classes", 16, 1, lambda size: survey(["pattern"], size)),
    "gradient-1": ("survey: gradients", 1, 1, gradient),
    "gradient-4": ("survey: gradients", 4, 1, gradient),
    "gradient-16": ("survey: gradients", 16, 1, gradient),
    "vectors": ("probe: vectors of all heads", 16, 1, vectors),
    "ablation": ("ablate: 144 heads, each in turn", 1, STEP, ablation),
    "tuning": ("tune: one step", 16, 1, tuning),
    "comparison": ("compare: two models", 16, 1, comparison),
    "wide": ("bare forward pass, 2 layers of 32 heads", 4, 1, lambda size: bare(size, WIDE)),
}
"""Jobs by name: what is done, sequences at once, what the time is multiplied by, and the maker."""
