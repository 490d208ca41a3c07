"""The norm of heads' outputs: against plain loops, and what the model itself adds to the stream."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from headscope.corpus import from_texts
from headscope.encode import Encoder, collate
from headscope.errors import ModelError
from headscope.labels import label_text
from headscope.models import LayerView, Model, wrap
from headscope.models.projections import matrix, output_projections
from headscope.runs.survey import survey
from tiny import tiny_network, tiny_tokenizer

TEXTS = ["The dog barks at the old cat.", "It saw who sat."]
KINDS = ("bert", "gpt2", "llama")


def model_of(kind: str) -> Model:
    return wrap(tiny_network(kind), tiny_tokenizer(kind), name=f"tiny-{kind}")


def written(model: Model, text: str) -> list[list[list[list[float]]]]:
    """What each head of each layer writes at each token of a text alone, checked against the
    model: the heads together, plus the bias, are what the module adds to the stream.
    """
    stack, views, added = model.main_stack(), list[LayerView](), list[torch.Tensor]()
    projections = output_projections(model, stack)
    hooks = [
        output.register_forward_hook(lambda module, args, result: added.append(result.clone()))
        for output in projections.values()
    ]
    batch = collate(Encoder(model.tokenizer).encode(from_texts([text])))
    with torch.inference_mode():
        model.forward(batch, listeners=[views.append], stack=stack)
        found = []
        for view, whole in zip(views, added, strict=True):
            output = projections[view.module]
            weights = matrix(output)
            bias = getattr(output, "bias", None)
            outputs, width = view.output[0], view.output.shape[-1]
            layer = [
                [
                    outputs[token, head] @ weights[head * width :][:width]
                    for token in range(len(outputs))
                ]
                for head in range(view.heads)
            ]
            total = torch.stack([torch.stack(head) for head in layer]).sum(0)
            torch.testing.assert_close(total if bias is None else total + bias, whole[0])
            found.append([[vector.tolist() for vector in head] for head in layer])
    for hook in hooks:
        hook.remove()
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_norm_of_outputs_is_what_plain_loops_give(kind):
    model = model_of(kind)
    mean = survey(model, from_texts(TEXTS), measures="output_norm", max_length=24).mean(
        "output_norm"
    )
    expected = np.zeros(mean.shape)
    for text in TEXTS:
        for layer, heads in enumerate(written(model, text)):
            norms = [
                sum(math.sqrt(sum(one * one for one in vector)) for vector in head) / len(head)
                for head in heads
            ]
            for head, norm in enumerate(norms):
                expected[layer, head] += norm / (sum(norms) / len(norms)) / len(TEXTS)
    np.testing.assert_allclose(mean.values, expected, rtol=1e-5)


def test_a_head_that_writes_nothing_has_norm_0_and_the_others_more():
    model = model_of("bert")
    (first, *_) = output_projections(model, "encoder").values()
    width = model.network.config.hidden_size // model.shape("encoder").heads
    with torch.no_grad():
        first.weight[:, :width] = 0.0
    atlas = survey(model, from_texts(TEXTS), measures="output_norm", max_length=24)
    mean = atlas.mean("output_norm").sel(layer=1).values
    assert mean[0] == 0.0
    np.testing.assert_allclose(mean.mean(), 1.0, rtol=1e-6)
    message = "norm of the head's output over the layer's mean"
    assert label_text("output_norm", {}, atlas["output_norm"].attrs) == message


def test_a_model_whose_projections_cannot_be_read_is_refused(monkeypatch):
    monkeypatch.setattr("headscope.models.projections.find_output", lambda module, parent: None)
    with pytest.raises(ModelError, match="output projections of single heads cannot be read"):
        survey(model_of("bert"), from_texts(TEXTS), measures="output_norm", max_length=24)
