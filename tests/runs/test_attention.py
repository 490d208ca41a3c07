"""``attention``: the maps of one text are transformers' own, labelled; words are made as told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import headscope as hs
from headscope.corpus import Example, Word
from headscope.encode import collate
from headscope.errors import UserError
from headscope.heads import Head
from headscope.measures import word_map
from headscope.models import Model, load
from headscope.runs.looking import attention
from planted import HEADS, planted_bert
from tiny import tiny_model, tiny_network, tiny_tokenizer

TEXT = "The dogs that I saw barked loudly."


@pytest.fixture(scope="module")
def model():
    return planted_bert()


@pytest.fixture(scope="module")
def demo():
    return load("demo")


def eager(model: Model, *texts: str) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Tokens and maps, (layer, head, query, key), as transformers' own eager attention has them."""
    folder = model.network.config._name_or_path
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    inputs = tokenizer(*texts, return_tensors="pt")
    with torch.inference_mode():
        maps = network(**inputs, output_attentions=True).attentions
    tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())
    return tokens, torch.stack(maps)[:, 0].numpy()


@pytest.mark.parametrize("texts", [(TEXT,), ("Who barked?", "The dog did.")])
def test_the_maps_of_the_embedded_model_are_those_of_transformers(demo, texts):
    tokens, maps = eager(demo, *texts)
    found = attention(demo, *texts)
    assert len(found.tokens) == len(tokens)
    assert [token for token in tokens if token.startswith("[")] == [
        token for token in found.tokens if token.startswith("[")
    ]
    assert found.maps.dims == ("layer", "head", "query", "key")
    assert found.maps["layer"].values.tolist() == [1, 2, 3, 4, 5, 6]
    np.testing.assert_allclose(found.maps.values, maps, atol=1e-6)


def test_a_causal_model_sees_nothing_of_what_follows():
    found = attention(tiny_model("gpt2"), "the cat sat on the mat")
    later = np.triu(np.ones((len(found.tokens),) * 2, dtype=bool), 1)
    assert np.all(found.maps.values[..., later] == 0)
    np.testing.assert_allclose(found.maps.sum("key").values, 1, atol=1e-5)


def test_a_pair_may_be_given_as_two_arguments_or_as_one_tuple(demo):
    two, one = attention(demo, "Who?", "The dog."), attention(demo, ("Who?", "The dog."))
    assert two.tokens == one.tokens == ("[CLS]", "Who", "?", "[SEP]", "The", "dog", ".", "[SEP]")
    np.testing.assert_array_equal(two.maps.values, one.maps.values)


def test_planted_heads_are_found_under_both_names(model):
    layer, number = HEADS["previous"]
    found = attention(model, "the dogs sat")
    assert found.tokens == ("[CLS]", "the", "dog", "s", "sat", "[SEP]")
    head = Head(layer - 1, number - 1)
    for name in (f"{layer}-{number}", head.zero_based, head):
        np.testing.assert_allclose(found.head(name).values[1:], np.eye(6)[:-1], atol=1e-5)


def test_words_are_summed_over_attended_pieces_and_averaged_over_attending_ones(demo):
    text = "Unbelievable hippopotamuses, obviously."
    tokens, words = attention(demo, text), attention(demo, text, words=True)
    assert words.units == "words"
    expected = ("[CLS]", "Unbelievable", "hippopotamuses", ",", "obviously", ".", "[SEP]")
    assert words.tokens == expected
    pieces = [[0], [1], [2, 3, 4, 5, 6], [7], [8], [9], [10]]
    assert len(tokens.tokens) == 11
    for head in ("1-3", "4-7"):
        one, other = tokens.head(head).values, words.head(head).values
        for row, sources in enumerate(pieces):
            for column, targets in enumerate(pieces):
                weight = np.mean([sum(one[i, j] for j in targets) for i in sources])
                assert other[row, column] == pytest.approx(weight, abs=1e-6)
    np.testing.assert_allclose(words.maps.sum("key").values, 1, atol=1e-5)


def test_word_maps_are_those_that_the_measures_read(demo):
    texts = ("Unbelievable", "hippopotamuses", "barked")
    example = Example("1", (" ".join(texts),), tuple(Word(text) for text in texts))
    encoder = demo.encoder(max_length=32, long="truncate", stack="encoder")
    batch = collate(encoder.encode([example]), pad=demo.pad)
    words, maps = word_map(batch, demo.device), list[torch.Tensor]()
    with torch.inference_mode():
        demo.forward(batch, listeners=[lambda view: maps.append(words.apply(view.attention)[0])])
    found = attention(demo, " ".join(texts), words=True)
    assert words.words[0].tolist() == [0, 1, 2]
    expected = torch.stack(maps)[..., : words.most].numpy()
    np.testing.assert_allclose(found.maps.values[:, :, 1:-1, 1:-1], expected, atol=1e-6)


def test_only_the_chosen_heads_are_kept(demo):
    whole, found = attention(demo, TEXT), attention(demo, TEXT, heads="3-9,5-1")
    assert found.heads == (Head(2, 8), Head(4, 0))
    assert dict(found.maps.sizes) == dict(whole.maps.sizes) | {"layer": 2, "head": 2}
    np.testing.assert_array_equal(found.head("3-9").values, whole.head("3-9").values)
    assert bool(found.maps.sel(layer=3, head=1).isnull().all())
    with pytest.raises(UserError) as caught:
        found.head("3-1")
    assert caught.value.message == "head 3-1 was not kept; the heads here are 3-9, 5-1"


def test_a_network_with_its_tokenizer_is_enough():
    found = attention((tiny_network("bert"), tiny_tokenizer("bert")), "the cat sat")
    assert found.maps.sizes["layer"] == 2
    assert found.tokens[0] == "[CLS]"


def test_it_is_a_public_function(model):
    assert hs.attention is attention
    assert "attention" in hs.__all__


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((" ",), {}, "the text ' ' is empty"),
        (("the dog", ""), {}, "the text '' is empty"),
        ((["the dog", "sat"],), {}, "text must be a string or a pair of strings; got list instead"),
        (("the dog", 3), {}, "the pair must be text, got 3 instead"),
        (
            ("the dog",),
            {"heads": "3-1"},
            "the model has no head 3-1 (L2H0); its heads run from 1-1 to 2-5 (L0H0 to L1H4)",
        ),
        (
            ("the dog " * 30,),
            {},
            "the text has more than 24 tokens, the most that planted-bert takes",
        ),
    ],
)
def test_what_cannot_be_looked_at_is_refused_with_its_reason(model, arguments, options, message):
    with pytest.raises(UserError) as caught:
        attention(model, *arguments, **options)
    assert caught.value.message == message
    assert caught.value.hint


def test_a_long_text_is_cut_only_if_asked(model):
    found = attention(model, "the dog " * 30, max_length=10)
    assert len(found.tokens) == 10
    assert found.tokens[-1] == "[SEP]"


def test_cross_attention_is_refused():
    with pytest.raises(UserError, match="cross attention"):
        attention(tiny_model("t5"), "the cat sat", stack="cross")
    assert attention(tiny_model("t5"), "the cat sat", stack="decoder").maps.sizes["layer"] == 2
