"""What is measured: networks with random weights, random batches and a survey's pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertModel

from headscope.corpus import ROOT, Example, Mention, Word
from headscope.encode import Batch, Encoded, collate
from headscope.measures import MEASURES, Context, Measure
from headscope.measures.sieves import SYNTACTIC
from headscope.models import Model
from headscope.runs.forward import Pass

LENGTH, SPLIT = 128, 60
RELATIONS, MENTIONS = 40, 20


class Tokenizer:
    """All that a model with random weights asks of its tokenizer."""

    model_max_length = 512
    pad_token_id = 0
    bos_token_id = None

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        """Any names will do."""
        return [str(token) for token in ids]


def networks(tokenizer: Any = None, **config: int) -> tuple[BertModel, Model]:
    """A bare network with SDPA attention, and a model with the same weights to be watched."""
    torch.manual_seed(0)
    bare = BertModel(BertConfig(**config), add_pooling_layer=False).eval()
    bare.set_attn_implementation("sdpa")
    watched = BertModel(BertConfig(**config), add_pooling_layer=False)
    watched.load_state_dict(bare.state_dict())
    return bare, Model("random", watched, tokenizer or Tokenizer())


def plain(network: BertModel, batch: Batch) -> Callable[[], object]:
    """A forward pass of the bare network."""
    inputs = {
        "input_ids": torch.from_numpy(batch.ids),
        "attention_mask": torch.from_numpy(batch.mask).long(),
        "token_type_ids": torch.from_numpy(batch.types),
    }

    def work() -> None:
        with torch.inference_mode():
            network(**inputs)

    return work


def offered() -> list[str]:
    """The names of all measures that a survey computes unless told otherwise."""
    return [name for name in MEASURES if MEASURES[name].offered]


def bound(model: Model, batch: Batch, names: Iterable[str]) -> list[Measure]:
    """Measures of the examples of a batch."""
    context, examples = Context(model.shape("encoder")), [item.example for item in batch.items]
    return [MEASURES[name]().bind(context, examples) for name in names]


def survey(model: Model, batch: Batch, names: Iterable[str]) -> Pass:
    """A survey's pass that measures these."""
    context = Context(model.shape("encoder"))
    return Pass(model, bound(model, batch, names), "encoder", context)


def random_batch(size: int) -> Batch:
    """Random sequences of 128 tokens."""
    generator = np.random.default_rng(0)
    return collate([random_item(generator) for _ in range(size)])


def random_item(generator: np.random.Generator) -> Encoded:
    """Make a pair of 128 tokens with [CLS], two [SEP]s, some full stops, a tree and mentions."""
    kind = np.zeros(LENGTH, np.int8)
    segment = np.where(np.arange(LENGTH) < SPLIT, 0, 1).astype(np.int8)
    kind[0], kind[SPLIT], kind[-1] = 1, 2, 2
    segment[kind > 0] = -1
    # About one piece in twelve continues a word.
    starts = (generator.random(LENGTH) > 0.08) & (kind == 0)
    starts[1] = True
    word = np.where(kind == 0, np.cumsum(starts) - 1, -1)
    count = int(word.max()) + 1
    labels = [*SYNTACTIC, *(f"r{number}" for number in range(RELATIONS))]
    words = tuple(
        Word(
            f"w{index}",
            head=int(generator.integers(count)) if index else ROOT,
            relation=labels[generator.integers(RELATIONS)],
            upos="NOUN",
            xpos="NN",
        )
        for index in range(count)
    )
    mentions = tuple(
        Mention(place, place, place, str(generator.integers(5)), "nominal")
        for place in sorted(generator.choice(count, MENTIONS, replace=False).tolist())
    )
    example = Example("random", ("", ""), words, mentions)
    return Encoded(
        example,
        generator.integers(5, 1000, LENGTH),
        (np.arange(LENGTH) > SPLIT).astype(np.int64),
        kind,
        segment,
        word,
        generator.random(LENGTH) < 0.08,
        ("",) * LENGTH,
        word,
        np.zeros(LENGTH, np.bool_),
    )
