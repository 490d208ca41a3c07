"""Ground truth for roles: on repeated random tokens, the role induction follows the field's score.

The standard score (Olsson et al. 2022) is the mean over the second copy of the attention from each
token to the one after its first occurrence. It is computed here by a plain loop over the maps that
transformers' eager attention returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import sqrt
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import GPT2Config, GPT2Model

from headscope.corpus import from_texts
from headscope.measures import Role
from headscope.models import Model, wrap
from headscope.runs.survey import survey
from planted import VOCABULARY, planted_tokenizer

WORDS = [word for word in VOCABULARY[8:] if not word.startswith("##")]


def repeated(words: list[str], count: int, sequences: int, seed: int) -> list[str]:
    """Texts of random words, drawn without replacement, and the same words again."""
    random = np.random.default_rng(seed)
    texts = []
    for _ in range(sequences):
        chosen = random.choice(words, count, replace=False).tolist()
        texts.append(" ".join(chosen + chosen))
    return texts


def induction_scores(network: Any, ids: list[list[int]], first: int, count: int) -> Any:
    """The standard score of every head, (layer, head), by a plain loop.

    ``first`` is the place of the first copy's first token.
    """
    total = None
    for sequence in ids:
        with torch.inference_mode():
            maps = network(input_ids=torch.tensor([sequence]), output_attentions=True).attentions
        found = np.zeros((len(maps), maps[0].shape[1]))
        for layer, weights in enumerate(maps):
            for head in range(weights.shape[1]):
                for place in range(first + count, first + 2 * count):
                    found[layer, head] += float(weights[0, head, place, place - count + 1]) / count
        total = found if total is None else total + found
    return total / len(ids)


def role_means(model: Model, texts: list[str], length: int) -> Any:
    """The mean of the role induction, (layer, head)."""
    role = Role(roles=["induction"])
    results = survey(model, from_texts(texts), measures=[role], batch_size=4, max_length=length)
    return results["role"]["mean"].sel(role="induction").values


@contextmanager
def eager(model: Model) -> Iterator[Any]:
    """The model's network with transformers' own eager attention."""
    used = model.network.config._attn_implementation
    model.network.set_attn_implementation("eager")
    try:
        yield model.network
    finally:
        model.network.set_attn_implementation(used)


@pytest.mark.slow
def test_the_ranking_of_a_real_language_model_is_that_of_the_standard_score(demo_llm):
    tokenizer, count = demo_llm.tokenizer, 24
    common = [
        token[1:]
        for token, number in tokenizer.get_vocab().items()
        if token.startswith("Ġ") and token[1:].isascii() and token[1:].islower() and number < 8000
    ]
    texts = [f" {text}" for text in repeated(sorted(common), count, sequences=4, seed=0)]
    ids = [tokenizer(text)["input_ids"] for text in texts]
    assert [len(sequence) for sequence in ids] == [2 * count] * 4  # one token per word, no BOS
    with eager(demo_llm) as network:
        expected = induction_scores(network, ids, 0, count)
    assert expected.max() > 0.5  # the model has induction heads
    found = role_means(demo_llm, texts, 2 * count)
    assert stats.spearmanr(found.ravel(), expected.ravel()).statistic >= 0.9
    assert found.argmax() == expected.argmax()


def hand_made() -> Model:
    """A causal model of two layers in which head 2-1 is an induction head.

    A token's vector has one-hot parts for its word, its place and, once layer 1 has run, the word
    before; each is written as +1 in one half and -1 in the other, so that means are 0. Head 1-1
    attends to the place before and copies its word into the third part. Head 2-1 looks for the
    token whose word before is its own word. All other heads have weights of 0: they attend
    uniformly, and copy nothing.
    """
    words, places = len(VOCABULARY), 40
    half = 2 * words + places
    config = GPT2Config(
        vocab_size=words,
        n_embd=2 * half,
        n_layer=2,
        n_head=2,
        n_positions=places,
        bos_token_id=2,
        eos_token_id=2,
    )
    network = GPT2Model(config)
    strength = 60.0 * sqrt(half)  # attention divides scores by the root of a head's width
    word, place, before = 0, words, words + places
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        for table, start in ((network.wte, word), (network.wpe, place)):
            for row in range(len(table.weight)):
                table.weight[row, start + row] = 1.0
                table.weight[row, half + start + row] = -1.0
        for block, parts in ((network.h[0], 2), (network.h[1], 3)):
            block.ln_1.weight.fill_(sqrt(2 * parts / (2 * half)))
        first, second = (block.attn for block in network.h)
        size = 2 * half
        for row in range(1, places):  # head 1-1: a place asks for the one before
            first.c_attn.weight[place + row, row - 1] = 1.0
            first.c_attn.weight[place + row - 1, size + row - 1] = strength
        for row in range(words):
            first.c_attn.weight[word + row, 2 * size + row] = 1.0  # its value: the word
            first.c_proj.weight[row, before + row] = 1.0
            first.c_proj.weight[row, half + before + row] = -1.0
            second.c_attn.weight[word + row, row] = 1.0  # head 2-1: a word asks
            second.c_attn.weight[before + row, size + row] = strength  # for what follows it
    network.eval()
    return wrap(network, planted_tokenizer(end=""), name="hand-made induction")


def test_the_induction_head_of_a_hand_made_model_has_the_score_that_it_must_have():
    model, count = hand_made(), 10
    texts = repeated(WORDS, count, sequences=5, seed=1)
    ids = [model.tokenizer(text)["input_ids"] for text in texts]
    assert [len(sequence) for sequence in ids] == [1 + 2 * count] * 5  # [CLS] is the start token
    with eager(model) as network:
        expected = induction_scores(network, ids, 1, count)
    assert expected[1, 0] == pytest.approx(1.0, abs=1e-3)
    assert np.delete(expected.ravel(), 2).max() < 0.15
    found = role_means(model, texts, 1 + 2 * count)
    # All attention on one token of the visible ones: their number, over the second copy.
    visible = [place + 1 for place in range(1 + count, 1 + 2 * count)]
    assert found[1, 0] == pytest.approx(np.mean(visible), rel=1e-3)
    assert found[[0, 1], [1, 1]] == pytest.approx([1.0, 1.0], rel=1e-5)  # uniform
    assert found.ravel().argmax() == expected.ravel().argmax() == 2
