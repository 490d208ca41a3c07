"""What may be given as a model: names, models, networks with tokenizers; the rest is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoModelForMaskedLM, PreTrainedTokenizer, ProcessorMixin

import headscope as hs
from headscope.errors import ModelError, UserError
from headscope.models import Model, as_model, load, using_model, wrap
from headscope.options import Loading
from refusals import refusal
from tiny import tiny_model, tiny_network, tiny_tokenizer


class SlowTokenizer(PreTrainedTokenizer):
    """A tokenizer in Python, one token per character."""

    vocab_size = 2

    def get_vocab(self) -> dict[str, int]:
        return {"a": 0, "b": 1}

    def _tokenize(self, text: str) -> list[str]:
        return list(text)

    def _convert_token_to_id(self, token: str) -> int:
        return self.get_vocab().get(token, 0)

    def _convert_id_to_token(self, index: int) -> str:
        return "ab"[index]


class TextProcessor(ProcessorMixin):
    """A processor that holds a tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer


@pytest.mark.parametrize(
    ("network", "message", "hint"),
    [
        (
            "bert-base-uncased",
            "a loaded transformers model; got the name 'bert-base-uncased' instead",
            "use headscope.load('bert-base-uncased') to load a model by its name",
        ),
        (
            None,
            "a transformers model; got NoneType instead",
            "load one with transformers.AutoModel.from_pretrained, or use headscope.load",
        ),
        (
            nn.Linear(2, 2),
            "a transformers model; got Linear instead, a torch module of another kind",
            "give the transformers model inside it, if it has one",
        ),
    ],
)
def test_a_wrong_network_is_refused(network, message, hint):
    error = refusal(ModelError, wrap, network, tiny_tokenizer("bert"))
    assert (error.message, error.hint) == (f"the network must be {message}", hint)


def test_a_model_or_a_tokenizer_in_place_of_the_network_is_refused():
    error = refusal(ModelError, wrap, tiny_model("bert"), tiny_tokenizer("bert"))
    message = "the network must be a transformers model; got a Model of Headscope's instead"
    assert error.message == message
    error = refusal(ModelError, wrap, tiny_tokenizer("bert"), tiny_network("bert"))
    assert str(error) == (
        "the network must be a transformers model; got a tokenizer (TokenizersBackend) instead\n"
        "next: give the network first: headscope.wrap(network, tokenizer)"
    )


def test_a_wrong_tokenizer_is_refused():
    network = tiny_network("bert")
    assert str(refusal(ModelError, wrap, network, "bert-base-uncased")) == (
        "the tokenizer must be a loaded tokenizer; got the name 'bert-base-uncased' instead\n"
        "next: load it: transformers.AutoTokenizer.from_pretrained('bert-base-uncased')"
    )
    assert str(refusal(ModelError, wrap, network, TextProcessor(tiny_tokenizer("bert")))) == (
        "the tokenizer must be a fast tokenizer of transformers; got TextProcessor instead\n"
        "next: give the tokenizer inside the processor: processor.tokenizer"
    )
    inner = tiny_tokenizer("bert").backend_tokenizer
    assert isinstance(inner, Tokenizer)
    assert str(refusal(ModelError, wrap, network, inner)) == (
        "the tokenizer must be a fast tokenizer of transformers; got Tokenizer instead\n"
        "next: wrap it: transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)"
    )
    assert str(refusal(ModelError, wrap, network, None)) == (
        "the tokenizer must be a fast tokenizer of transformers; got NoneType instead\n"
        "next: load one with transformers.AutoTokenizer.from_pretrained"
    )
    assert str(refusal(ModelError, wrap, network, SlowTokenizer())) == (
        "the tokenizer must be a fast one; SlowTokenizer gives no character offsets, which are "
        "needed to align words with tokens\n"
        "next: load it with transformers.AutoTokenizer, or convert it to a tokenizer.json"
    )
    assert network.config._attn_implementation == "eager"


def test_a_tokenizer_with_more_tokens_than_the_network_has_embeddings_is_refused():
    tokenizer = tiny_tokenizer("bert")
    network = tiny_network("bert", vocab_size=len(tokenizer) - 1)
    assert str(refusal(ModelError, wrap, network, tokenizer)) == (
        f"the tokenizer does not fit the network: its token ids go up to {len(tokenizer) - 1}, and "
        f"the network has embeddings for 0 to {len(tokenizer) - 2}\n"
        "next: give the tokenizer that belongs to the network, or call "
        "network.resize_token_embeddings(len(tokenizer)) if you added tokens"
    )
    network.resize_token_embeddings(len(tokenizer))
    assert wrap(network, tokenizer).encode(["the cat"]).shape == (1, 32)
    found = wrap(tiny_network("bert", vocab_size=500), tokenizer).encode(["the cat"]).shape
    assert found == (1, 32)


WRAP = "headscope.wrap(network, tokenizer)"


@pytest.mark.parametrize(
    ("given", "got", "hint"),
    [
        (None, "NoneType", f"use e.g. headscope.load('demo'), or {WRAP}"),
        (3, "int", f"use e.g. headscope.load('demo'), or {WRAP}"),
        (nn.Linear(2, 2), "Linear", f"use {WRAP} for a network in memory"),
        ((nn.Linear(2, 2), None), "a network and its tokenizer", f"use {WRAP}"),
    ],
)
def test_loading_something_else_than_a_name_is_refused(given, got, hint):
    error = refusal(ModelError, load, given)
    assert error.message == (
        "a model's name must be a hub id, a folder saved with save_pretrained, a .gguf file, "
        f"'demo' or 'demo-llm'; got {got} instead"
    )
    assert error.hint == hint


def test_loading_a_model_or_an_unknown_head_is_refused(tmp_path):
    with pytest.raises(ModelError, match="got Model instead") as error:
        load(tiny_model("bert"))  # type: ignore[arg-type]
    assert error.value.hint == "use the Model as it is: it is loaded already"
    message = "head must be None, 'lm', 'own' or a transformers auto class; got 'mlm' instead"
    assert refusal(ModelError, load, tmp_path, head="mlm").message == message


def test_as_model_takes_a_name_a_folder_a_model_or_a_network_with_its_tokenizer(tmp_path):
    network, tokenizer = tiny_network("bert", auto=AutoModelForMaskedLM), tiny_tokenizer("bert")
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    for name in (tmp_path, str(tmp_path)):
        assert as_model(name, Loading(dtype="bfloat16")).network.dtype == torch.bfloat16
    assert as_model(tmp_path, head="lm").capabilities == {"lm"}
    model = tiny_model("bert")
    assert as_model(model) is as_model(model, head="lm") is model
    assert as_model((network, tokenizer)).network is network


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("device", "cuda"), ("dtype", "float16"), ("revision", "main"), ("seed", 1)),
        *(("allow_pickle", True), ("trust_remote_code", True)),
    ],
)
def test_options_of_loading_are_refused_for_a_model_that_is_loaded(name, value):
    option = {name: value}
    given = option if name == "seed" else {"loading": Loading(**option)}
    for model in (tiny_model("bert"), (tiny_network("bert"), tiny_tokenizer("bert"))):
        assert str(refusal(UserError, as_model, model, **given)) == (
            f"{name}= applies only to a model given by its name, and this one is loaded already; "
            f"got {name}={value!r}\n"
            f"next: remove {name}=, or give the model's name instead of the model"
        )


@pytest.mark.parametrize("given", [None, 3, (), ("demo",), [nn.Linear(2, 2)]])
def test_as_model_refuses_anything_else_as_load_does(given):
    with pytest.raises(ModelError, match="a model's name must be"):
        as_model(given)


def test_using_a_model_closes_what_it_wrapped_and_leaves_a_given_model_open():
    network = tiny_network("bert").train()
    with using_model((network, tiny_tokenizer("bert"))) as model:
        assert isinstance(model, Model)
        assert not network.training
    assert network.training
    assert model.closed
    given = tiny_model("bert")
    with using_model(given) as model:
        assert model is given
    assert not given.closed


def test_a_survey_and_a_comparison_put_the_networks_that_they_are_given_back():
    first, second = tiny_network("bert").train(), tiny_network("bert", seed=1).train()
    tokenizer = tiny_tokenizer("bert")
    options: Any = {"measures": "entropy", "max_length": 16}
    assert hs.survey((first, tokenizer), ["the cat sat."], **options)
    assert hs.compare((first, tokenizer), (second, tokenizer), ["the cat sat."], **options)
    for network in (first, second):
        assert network.training
        assert network.config._attn_implementation == "eager"


def test_a_network_with_its_tokenizer_takes_options_of_encoding_only():
    pair = (tiny_network("gpt2"), tiny_tokenizer("gpt2"))
    with using_model(pair, Loading(bos="add")) as model:
        assert model.bos == "add"
    with pytest.raises(UserError, match="dtype= applies only to a model given by its name"):
        as_model(pair, Loading(dtype="float16"))
    with pytest.raises(UserError, match="bos= applies only to a model given by its name"):
        as_model(tiny_model("gpt2"), Loading(bos="add"))
    with pytest.raises(TypeError, match="unexpected keyword argument 'devcie'"):
        as_model(pair, Loading(devcie="cpu"))  # type: ignore[call-arg]
