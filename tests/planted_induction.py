"""A planted two-layer induction model (Olsson et al. 2022), its weights set by hand.

A token's embedding is a sum of one-hot vectors, written as +1 in one half and -1 in the other, so
that LayerNorm only rescales (see planted.py). There is room for a third one: the previous token.

- Head 1-1 attends to the previous token and writes its word into that room.
- Head 2-3 looks for keys whose previous word is the query's own word, and copies the key's word.

All other heads have random weights that are too small to disturb the two.
"""

from __future__ import annotations

from math import sqrt

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from headscope.models import Model, wrap

WORDS = ("<s>", "ab", "cd", "ef", "gh", "ij", "kl", "mn")
POSITIONS, SIZE, HEADS, STRENGTH, NOISE = 16, 128, 4, 60.0, 1e-3
WIDTH, HALF = SIZE // HEADS, SIZE // 2
WORD, BEFORE, POSITION = 0, len(WORDS), 2 * len(WORDS)
"""Where the word, the previous word and the position begin in the first half."""
PREVIOUS, INDUCTION = "1-1", "2-3"


def induction_model() -> Model:
    """The planted model, with its language-model head."""
    config = GPT2Config(
        vocab_size=len(WORDS), n_embd=SIZE, n_layer=2, n_head=HEADS, n_positions=POSITIONS
    )
    network = GPT2LMHeadModel(config)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        body = network.transformer
        body.wte.weight.copy_(_one_hot(WORD, len(WORDS)))
        body.wpe.weight.copy_(_one_hot(POSITION, POSITIONS))
        body.ln_f.weight.fill_(1.0)
        for count, block in zip((2, 3), body.h, strict=True):  # one-hot vectors in the stream
            block.ln_1.weight.fill_(sqrt(2 * count / SIZE))
            for weight in (block.attn.c_attn.weight, block.attn.c_proj.weight):
                weight.copy_(torch.randn(weight.shape, generator=generator) * NOISE)
        _plant_previous(body.h[0].attn)
        _plant_induction(body.h[1].attn)
    return wrap(network, _tokenizer(), name="planted-induction")


def _one_hot(first: int, count: int) -> torch.Tensor:
    table = torch.zeros(count, SIZE)
    for index in range(count):
        table[index, first + index] = 1.0
        table[index, HALF + first + index] = -1.0
    return table


def _clear(attention: torch.nn.Module, head: int) -> tuple[torch.Tensor, ...]:
    """Views of a head's query, key, value (SIZE, WIDTH) and output (WIDTH, SIZE), set to 0."""
    joined = attention.c_attn.weight
    views = [joined[:, part * SIZE + head * WIDTH :][:, :WIDTH] for part in range(3)]
    views.append(attention.c_proj.weight[head * WIDTH :][:WIDTH])
    for view in views:
        view.zero_()
    return tuple(views)


def _plant_previous(attention: torch.nn.Module) -> None:
    query, key, value, output = _clear(attention, 0)
    for position in range(POSITIONS):
        key[POSITION + position, position] = STRENGTH * sqrt(WIDTH)
        if position + 1 < POSITIONS:
            query[POSITION + position + 1, position] = 1.0
    _copy(value, output, BEFORE)


def _plant_induction(attention: torch.nn.Module) -> None:
    query, key, value, output = _clear(attention, 2)
    for word in range(len(WORDS)):
        query[WORD + word, word] = 1.0
        key[BEFORE + word, word] = STRENGTH * sqrt(WIDTH)
    _copy(value, output, WORD)
    output *= 2  # so that the copied word outdoes the one that is there already


def _copy(value: torch.Tensor, output: torch.Tensor, to: int) -> None:
    for word in range(len(WORDS)):
        value[WORD + word, word] = 1.0
        output[word, to + word] = 1.0
        output[word, HALF + to + word] = -1.0


def _tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(
        models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="<s>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<s>",
        bos_token="<s>",
        eos_token="<s>",
        pad_token="<s>",
        model_max_length=POSITIONS,
    )
