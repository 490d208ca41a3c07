"""Maps and outputs of heads, text by text: against transformers' eager attention."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.models.projections import matrix, output_projections
from tiny import tiny_network, tiny_tokenizer

TEXTS = ["The dog barks at the old cat.", "It saw.", "Who sat on the mat?"]


@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama", "mobilebert"])
def test_maps_are_eager_ones_in_the_order_of_the_corpus(kind: str) -> None:
    network, tokenizer = tiny_network(kind).eval(), tiny_tokenizer(kind)
    network.set_attn_implementation("eager")
    expected = []
    for text in TEXTS:
        with torch.inference_mode():
            output = network(**tokenizer(text, return_tensors="pt"), output_attentions=True)
        expected.append(torch.stack(output.attentions)[:, 0].numpy())
    texts = list(hs.stream((network, tokenizer), TEXTS, batch_size=2, max_length=32))
    assert [text.example.texts[0] for text in texts] == TEXTS
    for text, maps in zip(texts, expected, strict=True):
        np.testing.assert_allclose(text.attention.maps, maps, atol=1e-5)
        assert text.outputs is None


def test_chosen_layers_and_their_outputs_sum_to_what_the_layer_adds() -> None:
    model = hs.wrap(tiny_network("bert"), tiny_tokenizer("bert"))
    (output,) = list(output_projections(model, "encoder").values())[1:2]
    added: list[torch.Tensor] = []
    output.register_forward_hook(lambda module, args, result: added.append(result[0].clone()))
    texts = hs.stream(model, TEXTS[:2], layers=[2], outputs=True, batch_size=1, max_length=32)
    for text in texts:
        assert text.outputs is not None
        assert text.outputs["layer"].values.tolist() == [2]
        assert text.attention.maps["layer"].values.tolist() == [2]
        vectors = text.outputs.values[0].transpose(1, 0, 2).reshape(text.outputs.sizes["token"], -1)
        with torch.inference_mode():
            whole = torch.from_numpy(vectors) @ matrix(output) + output.bias
        np.testing.assert_allclose(whole, added[-1], atol=1e-5)


def test_one_batch_at_a_time_is_run() -> None:
    model, batches = hs.wrap(tiny_network("bert"), tiny_tokenizer("bert")), 0

    def count(module: object, inputs: object) -> None:
        nonlocal batches
        batches += 1

    model.network.register_forward_pre_hook(count)
    texts = hs.stream(model, TEXTS, batch_size=2, max_length=32)
    assert batches == 0
    next(texts)
    assert batches == 1


def test_a_layer_that_is_not_there_and_cross_attention_are_refused() -> None:
    model = hs.wrap(tiny_network("bert"), tiny_tokenizer("bert"))
    with pytest.raises(hs.UserError, match="the layer must be one of 1, 2; got '3' instead"):
        next(hs.stream(model, TEXTS, layers=[3], max_length=32))
    with pytest.raises(hs.UserError, match="rows and columns of cross attention"):
        hs.stream(model, TEXTS, stack="cross")
