"""Planted models: weights set by hand, so that what each head attends to is known exactly.

An embedding is a sum of three one-hot vectors (word, position, type), each written as +1 in one
half and -1 in the other. The embeddings of all tokens then have mean 0 and the same length, so
LayerNorm only rescales, and its gain undoes that. Values, output projections and feed-forward
weights are 0: each layer sees the embeddings themselves. A head's query and key matrices select
what should match, times a factor after which softmax leaves about e^-60 for the rest. Where nothing
matches, all scores are 0 and the head attends uniformly.

``expected_map`` computes, in plain loops, what each planted head does.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model, PreTrainedTokenizerFast

from headscope.encode import Encoded
from headscope.models import Model, wrap

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [
    *(*SPECIALS, ".", ",", "!", "the", "a", "dog", "cat", "bark", "##s", "##ing"),
    *("sat", "on", "mat", "who", "saw", "old", "it"),
]
POSITIONS = 24
TYPES = 2
WORD = "dog"
PIECE = "##s"
STRENGTH = 60.0
LAYERS = (
    ("previous", "next", "current", "cls", "sep"),
    ("stop", "segment", "word", "piece", "uniform"),
)
"""The heads of each layer."""
HEADS = {
    name: (layer, head)
    for layer, names in enumerate(LAYERS, 1)
    for head, name in enumerate(names, 1)
}
"""Where each head is, both counted from 1."""

WIDTH = 24  # of a head: room for every position, and for every word
SIZE = WIDTH * len(LAYERS[0])
HALF = len(VOCABULARY) + POSITIONS + TYPES
FIRST = {"word": 0, "position": len(VOCABULARY), "type": len(VOCABULARY) + POSITIONS}


def planted_tokenizer(start: str = "[CLS]", end: str = "[SEP]") -> PreTrainedTokenizerFast:
    """WordPiece with a vocabulary of a few words.

    With ``end=""`` a text has only the start token, as in a language model.
    """
    places = {token: place for place, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(places, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder = (
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
        decoders.WordPiece(),
    )
    one, two = (
        (f"{start}:0 $A:0 {end}:0", f" $B:1 {end}:1") if end else (f"{start}:0 $A:0", " $B:0")
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=one, pair=one + two, special_tokens=[(token, places[token]) for token in SPECIALS]
    )
    roles = {"cls_token": start, "sep_token": end} if end else {"bos_token": start}
    roles |= {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=POSITIONS, **roles)


def planted_bert() -> Model:
    """Two layers of five heads; see LAYERS."""
    config = BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=SIZE,
        num_hidden_layers=len(LAYERS),
        num_attention_heads=len(LAYERS[0]),
        intermediate_size=4,
        max_position_embeddings=POSITIONS,
    )
    network = BertModel(config, add_pooling_layer=False)
    gain = sqrt(6 / SIZE + config.layer_norm_eps)  # an embedding's variance: three times +1 and -1
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        embeddings = network.embeddings
        for table, kind in (
            (embeddings.word_embeddings, "word"),
            (embeddings.position_embeddings, "position"),
            (embeddings.token_type_embeddings, "type"),
        ):
            table.weight.copy_(_one_hot(kind, len(table.weight)))
        for module in network.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.weight.fill_(gain)
        for layer, names in zip(network.encoder.layer, LAYERS, strict=True):
            attention = layer.attention.self
            query, query_bias, key = _heads(names)
            attention.query.weight.copy_(query)
            attention.query.bias.copy_(query_bias)
            attention.key.weight.copy_(key)
    return wrap(network, planted_tokenizer(), name="planted-bert")


def planted_gpt2() -> Model:
    """The same heads in a causal model without token types.

    Its texts begin with [CLS] as BOS and have no end token.
    """
    config = GPT2Config(
        vocab_size=len(VOCABULARY),
        n_embd=SIZE,
        n_layer=len(LAYERS),
        n_head=len(LAYERS[0]),
        n_positions=POSITIONS,
        bos_token_id=2,
        eos_token_id=2,
    )
    network = GPT2Model(config)
    gain = sqrt(4 / SIZE + config.layer_norm_epsilon)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        network.wte.weight.copy_(_one_hot("word", len(VOCABULARY)))
        network.wpe.weight.copy_(_one_hot("position", POSITIONS))
        for block, names in zip(network.h, LAYERS, strict=True):
            block.ln_1.weight.fill_(gain)
            query, query_bias, key = _heads(names)
            block.attn.c_attn.weight[:, :SIZE] = query.T
            block.attn.c_attn.bias[:SIZE] = query_bias
            block.attn.c_attn.weight[:, SIZE : 2 * SIZE] = key.T
    return wrap(network, planted_tokenizer(end=""), name="planted-gpt2")


def _one_hot(kind: str, count: int) -> Tensor:
    table = torch.zeros(count, SIZE)
    for index in range(count):
        table[index, FIRST[kind] + index] = 1.0
        table[index, HALF + FIRST[kind] + index] = -1.0
    return table


def _heads(names: tuple[str, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Query weights (out, in), query bias, and key weights of a layer of heads."""
    query, bias, key = torch.zeros(SIZE, SIZE), torch.zeros(SIZE), torch.zeros(SIZE, SIZE)
    factor = STRENGTH * sqrt(WIDTH)  # attention divides scores by the root of the width
    for head, name in enumerate(names):
        first = head * WIDTH
        if name in {"previous", "current", "next"}:
            step = {"previous": -1, "current": 0, "next": 1}[name]
            for position in range(POSITIONS):
                key[first + position, FIRST["position"] + position] = factor
                if 0 <= position - step < POSITIONS:  # the query that looks for this position
                    query[first + position, FIRST["position"] + position - step] = 1.0
        elif name == "segment":
            for kind in range(TYPES):
                query[first + kind, FIRST["type"] + kind] = 1.0
                key[first + kind, FIRST["type"] + kind] = factor
        elif name != "uniform":  # every query looks for one word
            bias[first] = 1.0
            key[first, FIRST["word"] + VOCABULARY.index(TARGETS[name])] = factor
    return query, bias, key


TARGETS = {"cls": "[CLS]", "sep": "[SEP]", "stop": ".", "word": WORD, "piece": PIECE}


def expected_map(name: str, item: Encoded, *, causal: bool = False) -> list[list[float]]:
    """The map of a planted head for one example, (query, key), by the definition of the head."""
    length = len(item)
    steps = {"previous": -1, "current": 0, "next": 1}
    rows = []
    for query in range(length):
        seen = range(query + 1) if causal else range(length)
        if name in steps:
            wanted = [key for key in seen if key == query + steps[name]]
        elif name == "segment":
            wanted = [key for key in seen if causal or item.types[key] == item.types[query]]
        elif name == "uniform":
            wanted = []
        else:
            wanted = [key for key in seen if VOCABULARY[item.ids[key]] == TARGETS[name]]
        chosen = wanted or list(seen)
        rows.append([1.0 / len(chosen) if key in chosen else 0.0 for key in range(length)])
    return rows


def tokens(item: Encoded) -> list[str]:
    """What stands in each place, for reading a failure."""
    return [VOCABULARY[token] for token in item.ids.tolist()]


def place(name: str) -> dict[str, Any]:
    """Where to select a planted head in results."""
    layer, head = HEADS[name]
    return {"layer": layer, "head": head}
