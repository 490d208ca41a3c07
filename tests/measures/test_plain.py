"""Measures of plain maps: against a survey of the same text, scipy, and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch

import headscope as hs
from headscope.corpus import from_texts
from headscope.measures import MEASURES, measured
from headscope.measures.plain import is_plain
from headscope.models import Model
from planted import planted_bert
from refusals import refusal
from tiny import tiny_network, tiny_tokenizer

TEXT = "the dog sat on the mat , the cat sat on the old mat ."
PLAIN = [name for name in MEASURES if is_plain(MEASURES[name])]
NEED_WORDS = {"alignment", "role"}
"""They have labels about whole words, which tokens alone do not tell."""


def softmaxed(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.asarray(torch.rand(*shape, generator=torch.Generator().manual_seed(seed)).softmax(-1))


def llama() -> Model:
    return hs.wrap(tiny_network("llama"), tiny_tokenizer("llama"), name="tiny-llama")


@pytest.mark.parametrize("make", [planted_bert, llama])
@pytest.mark.parametrize("name", PLAIN)
def test_a_measure_of_a_models_maps_is_what_a_survey_gives(make, name):
    model = make()
    causal = model.causal(model.main_stack())
    (text,) = hs.stream(model, [TEXT], max_length=20)
    ids = model.tokenizer(TEXT, truncation=True, max_length=20)["input_ids"]
    tokens = model.tokenizer.convert_ids_to_tokens(ids)
    survey = hs.survey(model, from_texts([TEXT]), measures=name, examples=0, max_length=20)
    for layer in (1, 2):
        maps = text.attention.maps.sel(layer=layer).values
        values = measured(name, maps, tokens=tokens, causal=causal)
        expected = survey.mean(name).sel(layer=layer).transpose("head", ...)
        assert values.dims == expected.dims
        known = ~np.isnan(values.values)
        if name not in NEED_WORDS:
            assert known.tolist() == (~np.isnan(expected.values)).tolist()
        np.testing.assert_allclose(values.values[known], expected.values[known], atol=2e-6)


def test_entropy_is_scipys_and_padding_changes_nothing():
    maps = softmaxed(2, 3, 6, 6)
    maps[1, :, :, 4:] = 0.0
    maps[1] /= maps[1].sum(-1, keepdims=True)
    maps[1, :, 4:] = np.nan  # rows of padding may hold anything
    mask = np.array([[1] * 6, [1] * 4 + [0] * 2])
    values = hs.measures.entropy(maps, mask).sel(row="all")
    for text, count in enumerate((6, 4)):
        rows = scipy.stats.entropy(maps[text, :, :count, :count], axis=-1)
        np.testing.assert_allclose(values[text], rows.mean(-1), rtol=1e-5)


def test_attention_to_the_token_before_is_what_a_loop_gives_for_a_tensor_and_an_array():
    maps = softmaxed(2, 5, 5)
    expected = [sum(head[row, row - 1] for row in range(1, 5)) / 4 for head in maps]
    for given in (maps, torch.from_numpy(maps), torch.from_numpy(maps).double(), maps.tolist()):
        values = hs.measures.position(given).sel(offset="previous")
        assert values.dims == ("head",)
        np.testing.assert_allclose(values, expected, rtol=1e-6)


def test_a_measure_with_options_is_given_as_an_object():
    maps = softmaxed(1, 6, 6)
    values = measured(hs.Streaming(first=1, recent=2), maps)
    rows = range(6)
    far = [
        [maps[0, row, key] for key in rows if key >= 1 and abs(row - key) >= 2]
        for row in rows
        if row >= 3 or 6 - row > 2
    ]
    expected = sum(map(sum, far)) / len(far)
    assert values.sel(where="distant").item() == pytest.approx(expected, rel=1e-5)


def test_special_tokens_may_have_other_names():
    maps = softmaxed(1, 3, 3)
    values = hs.measures.special(maps, tokens=["<go>", "a", "."], start=["<go>"])
    np.testing.assert_allclose(
        values.sel(token="cls", row="all"), maps[:, :, 0].mean(-1), rtol=1e-6
    )
    np.testing.assert_allclose(
        values.sel(token="punctuation", row="all"), maps[:, :, 2].mean(-1), rtol=1e-6
    )
    assert hs.measures.special(maps).isnull().all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"attention": np.ones((4, 4))}, "three or four dimensions; got the shape (4, 4)"),
        ({"attention": np.zeros((1, 2, 3))}, "got the shape (1, 2, 3)"),
        ({"attention": np.ones((1, 4, 4))}, "rows that sum to more than 1"),
        ({"attention": -softmaxed(1, 4, 4)}, "weights below 0"),
        ({"attention": np.full((1, 4, 4), np.nan)}, "NaN or infinity"),
        ({"attention": softmaxed(1, 4, 4), "causal": True}, "looks at later tokens"),
        ({"attention": softmaxed(1, 4, 4), "mask": [1, 1]}, "the shape (1, 4)"),
        (
            {"attention": softmaxed(1, 4, 4), "mask": [0, 1, 1, 1]},
            "padding must stand on the right",
        ),
        ({"attention": softmaxed(1, 4, 4), "tokens": ["a", "b"]}, "texts have [2] tokens"),
    ],
)
def test_what_is_not_attention_is_refused(given, words):
    error = refusal(hs.UserError, hs.measures.entropy, **{"attention": softmaxed(1, 4, 4)} | given)
    assert words in error.message
    assert error.hint


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("dependency", "needs more than maps and tokens: tree, words"),
        ("output_norm", "needs more than maps and tokens: the model"),
    ],
)
def test_a_measure_that_needs_more_is_refused(name, words):
    with pytest.raises(hs.UserError, match=words):
        measured(name, softmaxed(1, 4, 4))


def test_a_misspelt_function_is_an_attribute_error():
    with pytest.raises(AttributeError, match="entorpy"):
        hs.measures.entorpy  # type: ignore[attr-defined]  # noqa: B018
