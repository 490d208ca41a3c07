"""Passes do not depend on what stands beside a text, nor on the mode that a network was left in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
)

import headscope as hs
from headscope.encode import Batch
from headscope.errors import ModelError
from headscope.models import Model, Watch, watching, wrap
from headscope.models.forward import probe_length
from headscope.models.shape import PADDING_NOTE
from refusals import refusal
from tiny import (
    KINDS,
    RECENT,
    SENTENCES,
    SPARSE,
    tiny_batch,
    tiny_model,
    tiny_network,
    tiny_tokenizer,
    views_of,
)

MIXING = ("mobilebert", "sam3-lite-text")
"""Their embeddings or first layers mix neighbouring tokens, padding included."""
TEXTS = [" ".join(SENTENCES[number % 5].split()[: 3 + number]) for number in range(7)]


def eager_maps(kind: str, text: str) -> np.ndarray[Any, Any]:
    """(layer, head, query, key) of a text alone, by transformers' own eager attention."""
    coded = tiny_tokenizer(kind)(text, return_tensors="pt", truncation=True, max_length=40)
    with torch.no_grad():
        output = tiny_network(kind)(**coded, output_attentions=True)
    maps = [one for one in output.attentions if one is not None]
    return torch.cat(maps).double().numpy()


# ---- padding


@pytest.mark.parametrize("kind", MIXING)
def test_the_numbers_of_models_that_mix_neighbours_are_those_of_texts_alone(kind):
    model = tiny_model(kind)
    assert model.neutral_padding is False
    atlas = hs.survey(model, hs.read(TEXTS), measures=["reach"], batch_size=4, max_length=40)
    assert PADDING_NOTE in atlas.provenance["notes"]
    lengths = []
    for text in TEXTS:
        maps = eager_maps(kind, text)
        places = np.arange(maps.shape[-1])
        lengths.append((maps * np.abs(places[:, None] - places)).sum(-1).mean(-1))
    ours = atlas["reach"]["mean"]
    ours = ours.isel({dim: 0 for dim in ours.dims if dim not in ("layer", "head")}).values
    np.testing.assert_allclose(ours, np.mean(lengths, 0), rtol=1e-5)


@pytest.mark.parametrize("kind", MIXING)
def test_padding_would_change_the_numbers_of_models_that_mix_neighbours(kind):
    """Otherwise the test above could not fail."""
    model, batch = tiny_model(kind), tiny_batch(kind, (9, 6))
    alone = Batch(0, (), *(part[1:, :6] for part in (batch.ids, batch.types, batch.mask)))
    expected = views_of(model, alone)
    model.neutral_padding = True
    found = views_of(model, batch)
    gap = max(
        float((one.weights[1, :, :6, :6] - other.weights[0]).abs().max())
        for one, other in zip(found, expected, strict=True)
    )
    assert gap > 0.01


@pytest.mark.parametrize("kind", MIXING)
def test_a_padded_batch_of_a_model_that_mixes_neighbours_is_refused(kind):
    model = tiny_model(kind)
    error = refusal(ModelError, model.forward, tiny_batch(kind, (9, 6)))
    assert error.message == (
        f"the batch has texts of different lengths, and the numbers of tiny-{kind} change with "
        "padding"
    )
    assert error.hint.startswith("make batches of texts of equal length: model.batches(")
    model.forward(tiny_batch(kind, (6, 6)))


def test_vectors_and_probes_of_a_model_that_mixes_neighbours_do_not_depend_on_the_batch():
    model = tiny_model("mobilebert")
    together = model.encode(TEXTS, batch_size=7, max_length=40)
    alone = [model.encode([text], max_length=40)[0] for text in TEXTS]
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("kind", [*KINDS, *RECENT, *SPARSE])
def test_padding_is_neutral_for_other_models(kind):
    model = tiny_model(kind)
    assert model.neutral_padding
    assert PADDING_NOTE not in model.notes


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("kind", ["bert", "llama", "t5", "gemma3"])
def test_rounding_is_not_taken_for_mixing(kind, dtype):
    assert wrap(tiny_network(kind).to(dtype), tiny_tokenizer(kind)).neutral_padding


def test_a_classifier_without_a_padding_token_is_still_observed():
    """transformers runs only one text at a time through it."""
    network = tiny_network("gpt2", auto=AutoModelForSequenceClassification)
    network.config.pad_token_id = None
    with wrap(network, tiny_tokenizer("gpt2")) as model:
        assert model.shape("decoder").layers == 2
        assert len(views_of(model, tiny_batch("gpt2", (7,)))) == 2


# ---- keys that are not tokens


def test_a_model_whose_keys_are_not_the_tokens_is_refused_when_it_is_wrapped():
    assert refusal(ModelError, tiny_model, "deepseek-v4").message == (
        "tiny-deepseek-v4: layer 1 (DeepseekV4Attention) attends to 130 keys in a text of 129 "
        "tokens, so that its keys are not the tokens and its heads have no maps from token to token"
    )


def test_only_a_long_text_shows_that_deepseek_v4_compresses_keys():
    """One key stands for up to 128 tokens, so the text that is tried must be longer."""
    model = tiny_model("deepseek-v3")
    model.network.config.compress_rates = {"csa": 4, "hca": 128}
    assert probe_length(model) == 129
    network = tiny_network("deepseek-v4")
    short = network(input_ids=torch.zeros(1, 100, dtype=torch.long), output_attentions=True)
    assert short.attentions[0].shape[-2:] == (100, 100)


def test_keys_that_are_not_tokens_are_refused_in_any_pass():
    """Whatever a probe has not shown."""
    model = tiny_model("bert")
    attention = model.network.encoder.layer[0].attention.self
    watch = Watch({}, [], None, torch.ones(1, 4, dtype=torch.bool))
    query, longer = torch.zeros(1, 4, 4, 8), torch.zeros(1, 4, 5, 8)
    from headscope.models.observe import observed_attention

    with watching(watch), pytest.raises(ModelError, match="attends to 5 keys in a text of 4"):
        observed_attention(attention, query, longer, longer, None, scaling=1.0)


# ---- training mode


def training(network: Any) -> list[bool]:
    return [module.training for module in network.modules()]


def trained(kind: str, **changes: Any) -> Model:
    """A model whose network was put into training mode behind its back, with strong dropout."""
    model = tiny_model(kind, **changes)
    model.network.train()
    assert all(training(model.network))
    return model


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("bert", {"attention_probs_dropout_prob": 0.5, "hidden_dropout_prob": 0.5}),
        ("gpt2", {"attn_pdrop": 0.5, "resid_pdrop": 0.5, "embd_pdrop": 0.5}),
        ("mpnet", {"attention_probs_dropout_prob": 0.5, "hidden_dropout_prob": 0.5}),
        ("t5", {"dropout_rate": 0.5}),
    ],
)
def test_a_survey_is_without_dropout_after_network_train(kind, changes):
    texts = hs.read(TEXTS)
    options: dict[str, Any] = {"measures": ["entropy", "position"], "max_length": 40}
    expected = hs.survey(tiny_model(kind, **changes), texts, **options)
    model = trained(kind, **changes)
    found = hs.survey(model, texts, **options)
    for name in ("entropy", "position"):
        assert np.array_equal(expected[name]["mean"], found[name]["mean"], equal_nan=True)
    assert all(training(model.network)), "the mode is put back"


def test_gradients_vectors_and_losses_are_without_dropout_after_network_train():
    changes = {"attention_probs_dropout_prob": 0.5, "hidden_dropout_prob": 0.5}
    changes["auto"] = AutoModelForMaskedLM  # type: ignore[assignment]
    plain, model = tiny_model("bert", **changes), trained("bert", **changes)
    assert np.array_equal(plain.encode(TEXTS, max_length=40), model.encode(TEXTS, max_length=40))
    options: dict[str, Any] = {"measures": ["gradient"], "max_length": 40}
    first, second = (hs.survey(one, hs.read(TEXTS), **options) for one in (plain, model))
    assert np.array_equal(first["gradient"]["mean"], second["gradient"]["mean"], equal_nan=True)


def test_only_the_modules_that_were_training_are_put_back():
    model = tiny_model("bert")
    model.network.encoder.layer[1].train()
    before = training(model.network)
    assert any(before)
    assert not all(before)
    model.forward(tiny_batch("bert"))
    assert training(model.network) == before


def test_the_mode_is_put_back_after_an_error():
    model = trained("bert")
    with pytest.raises(RuntimeError, match="stop"):
        model.forward(tiny_batch("bert"), listeners=[stop])
    assert all(training(model.network))


def stop(_: Any) -> None:
    raise RuntimeError("stop")


# ---- gradients


@pytest.mark.parametrize("kind", ["bert", "gpt", "gpt2", "mpnet", "gemma3", "qwen3.5"])
def test_gradients_of_frozen_networks_are_those_of_others(kind):
    """Adapters and quantised weights ask for no gradients of their own."""
    causal = kind not in ("bert", "mpnet")
    auto = AutoModelForCausalLM if causal else AutoModelForMaskedLM
    options: dict[str, Any] = {"measures": ["gradient"], "max_length": 40}
    plain, frozen = (tiny_model(kind, auto=auto) for _ in range(2))
    frozen.network.requires_grad_(False)
    expected, found = (hs.survey(one, hs.read(TEXTS), **options) for one in (plain, frozen))
    np.testing.assert_array_equal(expected["gradient"]["mean"], found["gradient"]["mean"])
    assert float(found["gradient"]["mean"].max()) > 0
