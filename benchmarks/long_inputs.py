"""A survey of long inputs against a bare SDPA forward pass: time and memory.

The model has 4 layers, 12 heads and 768 dimensions and random weights; the text is the built-in
corpus, over and over, so that words repeat as they do in English.
"""

from __future__ import annotations

import torch
from transformers import BertConfig, BertModel

import headscope as hs
from benchmarks.memory import peak_of, print_peak
from benchmarks.timing import best_times
from headscope.encode import Batch, collate
from headscope.measures import Context, Entropy, Position, Role, Special
from headscope.models import Model
from headscope.runs.forward import Pass

SIZES = {128: (16, 1.1), 512: (4, 1.2), 1024: (2, 1.35), 2048: (1, 1.5), 4096: (1, 1.8)}
"""Tokens, with the size of a batch and the bar."""
MEMORY_LENGTH, MEMORY_BAR = 4096, 300


def networks(length: int) -> tuple[BertModel, BertModel]:
    """Make two networks with the same weights, the first with SDPA attention."""
    torch.manual_seed(0)
    config = {"num_hidden_layers": 4, "max_position_embeddings": max(length, 512)}
    bare = BertModel(BertConfig(**config), add_pooling_layer=False).eval()
    bare.set_attn_implementation("sdpa")
    watched = BertModel(BertConfig(**config), add_pooling_layer=False)
    watched.load_state_dict(bare.state_dict())
    return bare, watched


def make(length: int, size: int) -> tuple[BertModel, Pass, Batch]:
    """Make a bare network, a survey's pass over the same network, and a batch."""
    bare, watched = networks(length)
    tokenizer = hs.load("demo").tokenizer
    tokenizer.model_max_length = length
    model = Model("random", watched, tokenizer)
    passages = [" ".join(example.texts) for example in hs.read("demo")]
    texts = [" ".join(passages[first:] + passages) for first in range(size)]
    encoder = model.encoder(max_length=length, long="truncate", stack="encoder")
    items = list(encoder.encode(hs.corpus.from_texts(texts)))
    assert {len(item) for item in items} == {length}
    context = Context(model.shape("encoder"))
    examples = [item.example for item in items]
    measures = [kind().bind(context, examples) for kind in (Position, Special, Entropy, Role)]
    return bare, Pass(model, measures, "encoder", context), collate(items)


def plain(network: BertModel, batch: Batch) -> None:
    """Run the bare network."""
    with torch.inference_mode():
        network(
            input_ids=torch.from_numpy(batch.ids),
            attention_mask=torch.from_numpy(batch.mask).long(),
        )


def ratio(length: int) -> dict[str, object]:
    """Time a survey of texts of one length."""
    size, bar = SIZES[length]
    bare, survey, batch = make(length, size)
    base, ours = best_times(
        lambda: plain(bare, batch), lambda: survey.run(batch), rounds=3 if length > 1024 else 5
    )
    return {
        "benchmark": f"survey (position, special, entropy, role) ÷ bare SDPA, {length} tokens",
        "base": f"{base:.2f} s",
        "ours": f"{ours:.2f} s",
        "ratio": round(ours / base, 3),
        "bar": f"≤ {bar}",
        "ok": ours / base <= bar,
    }


def child(what: str) -> None:
    """Run one pass and print the peak memory of this process in MiB."""
    bare, survey, batch = make(MEMORY_LENGTH, 1)
    if what == "bare":
        plain(bare, batch)
    else:
        survey.run(batch)
    print_peak()


def run() -> list[dict[str, object]]:
    """Return the rows of the benchmark table."""
    bare, ours = peak_of("long_inputs", "bare"), peak_of("long_inputs", "survey")
    memory: dict[str, object] = {
        "benchmark": f"memory of a survey beyond the bare pass, {MEMORY_LENGTH} tokens, MiB",
        "base": f"{bare:.0f} MiB",
        "ours": f"{ours:.0f} MiB",
        "ratio": round(ours - bare),
        "bar": f"≤ {MEMORY_BAR}",
        "ok": ours - bare <= MEMORY_BAR,
    }
    return [*(ratio(length) for length in SIZES), memory]
