"""Tiny models and labelled sentences for ablations."""

from __future__ import annotations

from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
)

from headscope.corpus import Corpus, Example, from_examples, from_texts
from headscope.encode import Batch, batches
from headscope.heads import Head, parse_heads
from headscope.models import Model, wrap
from headscope.tasks import Task
from tiny import HEADS, LAYERS, SENTENCES, WIDTH, place, tiny_network, tiny_tokenizer

TASK = Task("made", "Made", "classification", ("no", "yes"), ("accuracy", "f1"))
NUMBER = Task("number", "Number", "regression", (), ("pearson", "spearman"))
RUN: dict[str, Any] = {"batch_size": 2, "max_length": 24, "resamples": 50}


def classifier(
    kind: str = "bert", task: Task = TASK, *, only: tuple[int, int] | None = None
) -> Model:
    """A random classifier; with ``only``, no other head's output reaches the rest of the model."""
    names = dict(enumerate(task.labels or ("score",)))
    network = tiny_network(
        kind,
        auto=AutoModelForSequenceClassification,
        num_labels=task.outputs,
        id2label=names,
        label2id={name: index for index, name in names.items()},
    )
    tokenizer = tiny_tokenizer(kind)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
        network.config.pad_token_id = tokenizer.pad_token_id
    if only is not None:
        with torch.no_grad():
            for layer in range(LAYERS):
                weight = place(network.base_model, kind, "encoder", layer)[1].weight
                for head in range(HEADS):
                    if (layer, head) != only:
                        weight[:, head * WIDTH : (head + 1) * WIDTH] = 0.0
    return wrap(network, tokenizer, name=f"tiny-{kind}")


def language_model(kind: str) -> Model:
    """A random language model with its head."""
    auto = AutoModelForCausalLM if kind in {"gpt2", "llama"} else AutoModelForMaskedLM
    return wrap(tiny_network(kind, auto=auto), tiny_tokenizer(kind), name=f"tiny-{kind}")


def labelled(task: Task = TASK) -> Corpus:
    """Five sentences with labels no, yes, no …, or with numbers for a regression."""
    rows = []
    for index, text in enumerate(SENTENCES):
        label = task.labels[index % 2] if task.labels else str(index / 2)
        rows.append(Example(f"s{index}", (text,), label=label))
    return from_examples(rows, name="made.tsv")


def stream(model: Model, corpus: Corpus, size: int) -> list[Batch]:
    """A corpus in batches."""
    encoder = model.encoder(max_length=24, long="truncate", stack="")
    return list(batches(encoder.encode(corpus), size=size, pad=model.pad))


def one_by_one(model: Model, text: str) -> Batch:
    """A batch of one text."""
    return stream(model, from_texts([text]), 1)[0]


def disabled_heads(name: str) -> list[Head]:
    """The heads that are disabled in a pass, from its name."""
    if name.startswith("layer"):
        return [Head(int(name.split()[1]) - 1, head) for head in range(HEADS)]
    return [] if name == "none" else list(parse_heads(name))
