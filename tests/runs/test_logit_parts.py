"""Direct logit attribution: all parts add up to the logits that transformers computes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM

import headscope as hs
from headscope.errors import ModelError, UserError
from headscope.models import Model, wrap
from tiny import HEADS, SENTENCES, WIDTH, tiny_network, tiny_tokenizer

SUPPORTED = (
    *("gpt2", "llama", "neox", "opt", "gemma3", "olmo2", "gpt-oss", "jamba", "qwen3-moe"),
    *("qwen3.5", "qwen3-next"),
)
"""Biases and LayerNorm, grouped queries, parallel layers, no module for the MLP, norms after
attention (two kinds), learned sinks, layers without attention, experts, gates."""
TEXT = SENTENCES[0]


@cache
def network_of(kind: str) -> Any:
    return tiny_network(kind, auto=AutoModelForCausalLM)


@cache
def model_of(kind: str) -> Model:
    return wrap(network_of(kind), tiny_tokenizer(kind), name=f"tiny-{kind}")


def eager_logits(kind: str, text: str, **changes: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens, and the logits that transformers gives, without Headscope."""
    network = tiny_network(kind, auto=AutoModelForCausalLM, **changes)
    tokens = tiny_tokenizer(kind)(text, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        return tokens[0], network(input_ids=tokens).logits[0]


def centred(ids: torch.Tensor, logits: torch.Tensor) -> np.ndarray[Any, Any]:
    """The logit of each next token less the mean over the vocabulary."""
    rows = range(len(ids) - 1)
    return np.array([float(logits[row, ids[row + 1]] - logits[row].mean()) for row in rows])


@pytest.mark.parametrize("kind", SUPPORTED)
def test_all_parts_add_up_to_the_logit_of_the_next_token(kind):
    parts = hs.logit_parts(model_of(kind), TEXT)
    expected = centred(*eager_logits(kind, TEXT))
    np.testing.assert_allclose(parts.sum("part").values, expected, atol=2e-5)
    np.testing.assert_allclose(parts["logit"].values, expected, atol=2e-5)
    assert float(abs(parts.sel(part=parts["kind"] == "head")).max()) > 0.01


def test_all_parts_of_a_real_model_add_up(demo_llm):
    text = "The capital of France is the city of Paris, and that of Germany is Berlin."
    parts = hs.logit_parts(demo_llm, text)
    ids = torch.tensor(demo_llm.tokenizer(text)["input_ids"])
    with torch.no_grad():
        logits = demo_llm.network(input_ids=ids[None]).logits[0]
    np.testing.assert_allclose(parts.sum("part").values, centred(ids, logits), atol=1e-3)
    assert parts.sizes["part"] == 1 + 30 * (9 + 2) + 1


def test_soft_capped_logits_are_taken_apart_before_the_cap():
    capped = {"final_logit_softcapping": 2.0}
    network = tiny_network("gemma3", auto=AutoModelForCausalLM, **capped)
    parts = hs.logit_parts((network, tiny_tokenizer("gemma3")), TEXT)
    ids, logits = eager_logits("gemma3", TEXT, **capped)
    assert float(logits.abs().max()) < 2
    np.testing.assert_allclose(
        parts.sum("part").values, centred(ids, 2 * torch.atanh(logits.double() / 2)), atol=1e-4
    )


def by_hand(text: str) -> np.ndarray[Any, Any]:
    """The parts of GPT-2's heads by plain loops over its weights, (token, layer, head)."""
    network = tiny_network("gpt2", auto=AutoModelForCausalLM)
    inputs, streams = list[Any](), list[Any]()
    for block in network.transformer.h:
        block.attn.c_proj.register_forward_pre_hook(lambda _module, args: inputs.append(args[0][0]))
    network.transformer.ln_f.register_forward_pre_hook(
        lambda _module, args: streams.append(args[0][0])
    )
    ids = tiny_tokenizer("gpt2")(text)["input_ids"]
    with torch.no_grad():
        network(input_ids=torch.tensor([ids]))
    last = network.transformer.ln_f
    gain, unembedding = last.weight.detach().double(), network.lm_head.weight.detach().double()
    found = np.zeros((len(ids) - 1, 2, HEADS))
    for token in range(len(ids) - 1):
        stream = streams[0][token].double()
        sigma = ((stream - stream.mean()).square().mean() + last.eps).sqrt()
        score = unembedding[ids[token + 1]] - unembedding.mean(0)
        for layer in range(2):
            weight = network.transformer.h[layer].attn.c_proj.weight.detach().double()
            for head in range(HEADS):
                own = slice(head * WIDTH, (head + 1) * WIDTH)
                vector = inputs[layer][token, own].double() @ weight[own]
                found[token, layer, head] = ((vector - vector.mean()) / sigma * gain) @ score
    return found


def test_the_parts_of_heads_equal_plain_loops_over_the_weights():
    parts = hs.logit_parts(model_of("gpt2"), TEXT)
    heads = parts.sel(part=parts["kind"] == "head")
    expected = by_hand(TEXT)
    np.testing.assert_allclose(heads.values, expected.reshape(len(expected), -1), atol=1e-5)
    assert heads["part"].values.tolist()[:5] == ["1-1", "1-2", "1-3", "1-4", "2-1"]


@pytest.mark.parametrize("kind", ["gpt2", "olmo2", "jamba"])
def test_a_survey_gives_the_mean_over_tokens_of_the_parts_of_heads(kind):
    texts = [SENTENCES[1], TEXT, SENTENCES[2]]  # of different lengths: two are padded
    atlas = hs.survey(
        model_of(kind), texts, measures="logit_attribution", batch_size=3, max_length=48
    )
    means = []
    for text in texts:
        parts = hs.logit_parts(model_of(kind), text, max_length=48)
        means.append(parts.sel(part=parts["kind"] == "head").mean("token").values)
    found = atlas.mean("logit_attribution")
    np.testing.assert_allclose(found.values.ravel(), np.mean(means, 0), atol=1e-6)
    assert float(found.max()) > 0.005


def test_a_text_of_one_token_has_no_next_token():
    atlas = hs.survey(model_of("gpt2"), ["a", TEXT], measures="logit_attribution", max_length=48)
    assert (atlas["logit_attribution"]["n"] == 1).all()
    with pytest.raises(UserError, match="the text 'a' has one token, and no next one"):
        hs.logit_parts(model_of("gpt2"), "a")


def test_heads_can_be_found_by_their_attribution():
    atlas = hs.survey(model_of("llama"), [TEXT], measures="logit_attribution", max_length=48)
    values = atlas.mean("logit_attribution").values.ravel()
    threshold = float(np.sort(values)[-2:].mean())
    names = [f"{layer}-{head}" for layer in (1, 2) for head in range(1, HEADS + 1)]
    expected = [name for name, value in zip(names, values, strict=True) if value > threshold]
    assert [str(head) for head in atlas.find(f"logit_attribution > {threshold}")] == expected
    row = atlas.head(names[int(values.argmax())]).statistics.iloc[0]
    found = (row["statistic"], row["unit"], row["rank"])
    assert found == ("direct part in the logit of the next token", "logits", 1)


def test_the_pass_does_not_make_the_logits_of_all_tokens():
    network = tiny_network("llama", auto=AutoModelForCausalLM)
    shapes: list[tuple[int, ...]] = []
    network.lm_head.register_forward_hook(lambda _module, _args, made: shapes.append(made.shape))
    model = wrap(network, tiny_tokenizer("llama"), name="tiny")
    atlas = hs.survey(model, [TEXT], measures="logit_attribution", max_length=48)
    xr.testing.assert_equal(
        atlas.mean("logit_attribution"),
        hs.survey(model_of("llama"), [TEXT], measures="logit_attribution", max_length=48).mean(
            "logit_attribution"
        ),
    )
    assert shapes[-1][1] == 1


def refused(network: Any, kind: str, match: str) -> None:
    """Both the survey and the function refuse a model."""
    model = wrap(network, tiny_tokenizer(kind), name="mine")
    with pytest.raises(ModelError, match=match):
        hs.survey(model, [TEXT], measures="logit_attribution", max_length=48)
    with pytest.raises(ModelError, match=match):
        hs.logit_parts(model, TEXT)


def test_a_masked_language_model_is_refused():
    network = tiny_network("bert", auto=AutoModelForMaskedLM)
    refused(network, "bert", "mine is not a decoder-only language model")


def test_an_encoder_decoder_is_refused():
    network = tiny_network("t5", auto=AutoModelForSeq2SeqLM)
    model = wrap(network, tiny_tokenizer("t5"), name="mine")
    with pytest.raises(ModelError, match="mine is not a decoder-only language model"):
        hs.logit_parts(model, TEXT)


def test_a_model_without_its_head_is_refused():
    model = wrap(tiny_network("llama"), tiny_tokenizer("llama"), name="mine")
    with pytest.raises(UserError, match="needs a language-model head, which this model lacks"):
        hs.survey(model, [TEXT], measures="logit_attribution", max_length=48)
    with pytest.raises(ModelError, match="mine has no language-model head"):
        hs.logit_parts(model, TEXT)


def test_a_post_norm_model_is_refused():
    network = tiny_network("gpt", auto=AutoModelForCausalLM)
    refused(network, "gpt", r"layer 1 normalises the stream itself \(post-norm\)")
    before = tiny_network("opt", auto=AutoModelForCausalLM, do_layer_norm_before=False)
    refused(before, "opt", r"layer 1 normalises the stream itself \(post-norm\)")


def test_a_layer_that_scales_what_it_adds_is_refused():
    network = tiny_network("llama", auto=AutoModelForCausalLM)
    network.model.layers[1].self_attn.register_forward_hook(
        lambda _module, _args, made: (made[0] * 0.5, *made[1:])
    )
    refused(network, "llama", "layer 2 normalises .* or scales what it adds")


def test_norm_weighted_maps_are_refused() -> None:
    with pytest.raises(UserError, match="cannot be computed on norm-weighted maps"):
        hs.survey(
            model_of("gpt2"), [TEXT], measures="logit_attribution", maps="norm", max_length=48
        )
