"""Gradient importance: the gradients are those of finite differences and of transformers' own
losses; what is masked; what is refused.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

import twins
from headscope.corpus import Corpus, Example, from_examples, from_texts, read
from headscope.encode import TEXT, Batch, collate
from headscope.errors import ModelError, UserError
from headscope.measures import Context, Gradient
from headscope.measures.gradients import map_gradients, masked_positions
from headscope.models import Model, wrap
from headscope.runs.forward import Pass
from headscope.runs.survey import survey
from refusals import refusal
from tiny import HEADS, LAYERS, SENTENCES, tiny_model, tiny_network, tiny_tokenizer

SEED = 3
AUTO = {"bert": AutoModelForMaskedLM, "gpt2": AutoModelForCausalLM}
TEXTS = [SENTENCES[0], "a small bird sang.", "the cat, the dog"]


@cache
def model_of(kind: str) -> Model:
    """A tiny language model in double precision, so that differences can be small."""
    return wrap(
        tiny_network(kind, auto=AUTO[kind]).double(), tiny_tokenizer(kind), name=f"tiny-{kind}"
    )


def batch_of(model: Model, texts: list[str] | None = None) -> Batch:
    encoder = model.encoder(max_length=60, long="truncate", stack=model.main_stack())
    return collate(encoder.encode(from_texts(texts or TEXTS)), pad=model.pad)


def gradients_of(kind: str, batch: Batch, seed: int = SEED) -> torch.Tensor:
    """(layer, batch, head, query, key)."""
    model = model_of(kind)
    return torch.stack(
        [gradient for _, gradient in map_gradients(model, batch, model.main_stack(), seed)]
    )


def asked_of(kind: str, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """What the network is given, and at each place the token that it must find (-100: none)."""
    ids = torch.from_numpy(batch.ids)
    labels = ids.masked_fill(~torch.from_numpy(batch.mask), -100)
    if kind == "gpt2":
        return ids, labels
    given = ids.clone()
    for row, item in enumerate(batch.items):
        for place, hidden in enumerate(masked_positions(item, SEED)):
            if hidden:
                given[row, place] = model_of(kind).tokenizer.mask_token_id
            else:
                labels[row, place] = -100
    return given, labels


@pytest.mark.parametrize("kind", AUTO)
def test_gradients_are_those_of_transformers_own_loss_and_maps(kind):
    network = tiny_network(kind, auto=AUTO[kind]).double()
    for text in TEXTS:
        batch = batch_of(model_of(kind), [text])
        given, labels = asked_of(kind, batch)
        output = network(
            input_ids=given,
            attention_mask=torch.from_numpy(batch.mask).long(),
            labels=labels,
            output_attentions=True,
        )
        expected = torch.stack(torch.autograd.grad(output.loss, output.attentions))
        if kind == "gpt2":
            torch.testing.assert_close(
                network(input_ids=given, labels=given).loss, output.loss
            )  # the causal loss is that of labels=input_ids
        torch.testing.assert_close(
            gradients_of(kind, batch).double(), expected, rtol=1e-4, atol=1e-7
        )


@pytest.mark.parametrize("kind", AUTO)
def test_the_measure_is_the_mean_size_of_the_gradient_by_kind_of_key(kind):
    model, batch = model_of(kind), batch_of(model_of(kind))
    causal = kind == "gpt2"
    context = Context(model.shape(model.main_stack()), causal, SEED)
    measure = Gradient().bind(context, [])
    values = Pass(model, [measure], model.main_stack(), context).run(batch).values["gradient"]
    slopes = gradients_of(kind, batch)
    for row, item in enumerate(batch.items):
        for layer in range(LAYERS):
            for head in range(HEADS):
                twin = twins.gradient(
                    slopes[layer, row, head, : len(item), : len(item)].tolist(),
                    item.kind.tolist(),
                    item.stop.tolist(),
                    causal=causal,
                )
                assert values[row, layer, head].tolist() == pytest.approx(
                    [twin[token] for token in measure.dims["token"]], rel=1e-5, nan_ok=True
                )


@pytest.mark.parametrize("kind", AUTO)
def test_an_example_has_the_same_gradients_in_any_batch(kind):
    together = gradients_of(kind, batch_of(model_of(kind)))
    for row, text in enumerate(TEXTS):
        alone = collate([batch_of(model_of(kind)).items[row]], pad=model_of(kind).pad)
        size = alone.width
        found = gradients_of(kind, alone)[:, 0]
        expected = together[:, row, :, :size, :size]
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-8, msg=text)


@pytest.mark.parametrize("kind", AUTO)
def test_a_batch_goes_through_a_few_examples_at_a_time(kind, monkeypatch):
    model, batch = model_of(kind), batch_of(model_of(kind))
    context = Context(model.shape(model.main_stack()), kind == "gpt2", SEED)
    sizes = []

    def watched(model, part, stack, seed):
        sizes.append(len(part))
        return map_gradients(model, part, stack, seed)

    def values():
        measure = Gradient().bind(context, [])
        return Pass(model, [measure], model.main_stack(), context).run(batch).values["gradient"]

    monkeypatch.setattr("headscope.measures.gradients.map_gradients", watched)
    whole = values()
    assert sizes == [3]
    two = 2 * LAYERS * HEADS * batch.width**2
    monkeypatch.setattr("headscope.measures.gradients.AT_ONCE", two)
    torch.testing.assert_close(values(), whole, rtol=1e-6, atol=1e-12, equal_nan=True)
    assert sizes == [3, 2, 1]


def test_fifteen_percent_of_the_pieces_are_masked_at_least_one_and_only_text():
    encoder = tiny_model("bert", max_position_embeddings=512).encoder(
        max_length=512, long="truncate", stack="encoder"
    )
    for item in [
        *encoder.encode(read("demo", limit=4)),
        *encoder.encode(from_texts(["a", "the cat", " ".join(SENTENCES)])),
    ]:
        pieces = item.kind == TEXT
        for seed in range(5):
            masked = masked_positions(item, seed)
            assert masked.shape == item.ids.shape
            assert abs(masked.sum() - 0.15 * pieces.sum()) <= 0.5 or masked.sum() == 1
            assert masked.any()
            assert not masked[~pieces].any()


def test_a_seed_and_an_example_always_give_the_same_masked_pieces_and_others_give_others():
    encoder = tiny_model("bert").encoder(max_length=60, long="truncate", stack="encoder")
    one, other = encoder.encode([Example("1", (SENTENCES[1],)), Example("2", (SENTENCES[1],))])
    chosen = masked_positions(one, 0).tolist()
    assert masked_positions(one, 0).tolist() == chosen
    assert any(masked_positions(one, seed).tolist() != chosen for seed in range(1, 5))
    assert any(
        masked_positions(other, seed).tolist() != masked_positions(one, seed).tolist()
        for seed in range(5)
    )


def test_every_piece_is_masked_about_equally_often():
    (item,) = (
        tiny_model("bert")
        .encoder(max_length=60, long="truncate", stack="encoder")
        .encode(from_texts([SENTENCES[1]]))
    )
    shares = np.mean([masked_positions(item, seed) for seed in range(400)], axis=0)[
        item.kind == TEXT
    ]
    assert shares.mean() == pytest.approx(0.15, abs=0.02)
    assert shares.min() > 0.05
    assert shares.max() < 0.3


def run(kind: str, corpus: Corpus, **options: Any) -> Any:
    return survey(model_of(kind), corpus, measures=["gradient"], max_length=60, **options)[
        "gradient"
    ]


def test_without_separators_their_importance_is_not_defined():
    data = run("gpt2", from_texts(["the cat sat, the dog", "a bird"]))
    assert data["mean"].sel(token="sep").isnull().all()
    assert (data["n"].sel(token="sep") == 0).all()
    assert (data["n"].sel(token="other") == 2).all()
    assert (data["n"].sel(token="punctuation") == 1).all()  # only one text has a comma


def test_a_causal_text_of_one_token_has_no_next_token_to_lose_and_counts_nowhere():
    (item,) = (
        model_of("gpt2")
        .encoder(max_length=60, long="truncate", stack="decoder")
        .encode(from_texts(["a"]))
    )
    assert len(item) == 1
    data = run("gpt2", from_texts(["a", "the cat"]))
    assert (data["n"].sel(token="other") == 1).all()
    assert (
        data["mean"]
        .sel(token="other")
        .equals(run("gpt2", from_examples([Example("2", ("the cat",))]))["mean"].sel(token="other"))
    )


def test_a_seed_changes_what_is_masked_and_so_the_numbers():
    first, again, other = (run("bert", from_texts(TEXTS), seed=seed)["mean"] for seed in (0, 0, 1))
    assert first.equals(again)
    assert not first.equals(other)


def test_a_model_without_a_language_model_head_is_refused_by_name():
    options = {"measures": ["gradient"], "max_length": 60}
    error = refusal(UserError, survey, tiny_model("bert"), from_texts(TEXTS), **options)
    message = "the measure 'gradient' needs a language-model head, which this model lacks"
    assert error.message == message
    assert "head='lm'" in error.hint


def test_a_masked_language_model_whose_tokenizer_has_no_mask_is_refused_by_name():
    tokenizer = tiny_tokenizer("bert")
    tokenizer.mask_token = None
    model = wrap(tiny_network("bert", auto=AutoModelForMaskedLM), tokenizer, name="maskless")
    message = "the tokenizer of maskless has no mask token, which gradient importance needs"
    with pytest.raises(ModelError, match=message):
        survey(model, from_texts(TEXTS), measures=["gradient"], max_length=60)
