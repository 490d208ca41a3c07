"""A planted two-layer induction model (Olsson et al. 2022), its weights set by hand.

A token's embedding is a sum of one-hot vectors, written as +1 in one half and -1 in the other, so
that LayerNorm only rescales (see planted.py). There is room for a third one: the previous token.

- Head 1-1 attends to the previous token and writes its word into that room.
- Head 2-3 looks for keys whose previous word is the query's own word, and copies the key's word.

All other heads have random weights that are too small to disturb the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from headscope.models import Model, wrap

WORDS = ("<s>", "ab", "cd", "ef", "gh", "ij", "kl", "mn")
HEADS, STRENGTH, NOISE = 4, 60.0, 1e-3
PREVIOUS, INDUCTION = "1-1", "2-3"


@dataclass(frozen=True)
class Layout:
    """The words, how many positions there are, and the width of the stream."""

    words: tuple[str, ...] = WORDS
    positions: int = 16
    size: int = 128

    @property
    def width(self) -> int:
        return self.size // HEADS

    @property
    def half(self) -> int:
        return self.size // 2

    @property
    def before(self) -> int:
        """Where the previous word begins in the first half; the word itself begins at 0."""
        return len(self.words)

    @property
    def position(self) -> int:
        return 2 * len(self.words)


def induction_model(layout: Layout | None = None) -> Model:
    """The planted model, with its language-model head. A size of 512 has room for 128 positions."""
    plan = layout or Layout()
    size, words = plan.size, len(plan.words)
    config = GPT2Config(
        vocab_size=words, n_embd=size, n_layer=2, n_head=HEADS, n_positions=plan.positions
    )
    network = GPT2LMHeadModel(config)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        body = network.transformer
        body.wte.weight.copy_(_one_hot(plan, 0, words))
        body.wpe.weight.copy_(_one_hot(plan, plan.position, plan.positions))
        body.ln_f.weight.fill_(1.0)
        for count, block in zip((2, 3), body.h, strict=True):  # one-hot vectors in the stream
            block.ln_1.weight.fill_(sqrt(2 * count / size))
            for weight in (block.attn.c_attn.weight, block.attn.c_proj.weight):
                weight.copy_(torch.randn(weight.shape, generator=generator) * NOISE)
        _plant_previous(plan, body.h[0].attn)
        _plant_induction(plan, body.h[1].attn)
    return wrap(network, _tokenizer(plan), name="planted-induction")


def _one_hot(plan: Layout, first: int, count: int) -> torch.Tensor:
    table = torch.zeros(count, plan.size)
    for index in range(count):
        table[index, first + index] = 1.0
        table[index, plan.half + first + index] = -1.0
    return table


def _clear(plan: Layout, attention: torch.nn.Module, head: int) -> tuple[torch.Tensor, ...]:
    """Views of a head's query, key, value (size, width) and output (width, size), set to 0."""
    joined, width = attention.c_attn.weight, plan.width
    views = [joined[:, part * plan.size + head * width :][:, :width] for part in range(3)]
    views.append(attention.c_proj.weight[head * width :][:width])
    for view in views:
        view.zero_()
    return tuple(views)


def _plant_previous(plan: Layout, attention: torch.nn.Module) -> None:
    query, key, value, output = _clear(plan, attention, 0)
    for position in range(plan.positions):
        key[plan.position + position, position] = STRENGTH * sqrt(plan.width)
        if position + 1 < plan.positions:
            query[plan.position + position + 1, position] = 1.0
    _copy(plan, value, output, plan.before)


def _plant_induction(plan: Layout, attention: torch.nn.Module) -> None:
    query, key, value, output = _clear(plan, attention, 2)
    for word in range(len(plan.words)):
        query[word, word] = 1.0
        key[plan.before + word, word] = STRENGTH * sqrt(plan.width)
    _copy(plan, value, output, 0)
    output *= 2  # so that the copied word outdoes the one that is there already


def _copy(plan: Layout, value: torch.Tensor, output: torch.Tensor, to: int) -> None:
    for word in range(len(plan.words)):
        value[word, word] = 1.0
        output[word, to + word] = 1.0
        output[word, plan.half + to + word] = -1.0


def _tokenizer(plan: Layout) -> PreTrainedTokenizerFast:
    vocabulary = {word: index for index, word in enumerate(plan.words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<s>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    roles = dict.fromkeys(("unk_token", "bos_token", "eos_token", "pad_token"), "<s>")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=plan.positions, **roles
    )
