"""Objectives: the loss that transformers computes, masked pieces, functions of the output."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from headscope.corpus import Example, from_texts
from headscope.encode import Batch
from headscope.heads import Head
from headscope.models import Replacement, wrap
from headscope.runs.ablate import CustomObjective, LanguageModelObjective, ablate
from runs.ablate.made import RUN, labelled, language_model, one_by_one
from tiny import SENTENCES, tiny_network, tiny_tokenizer


def renamed(batch: Batch, name: str) -> Batch:
    """A batch of one text under another name: which pieces are masked depends on it."""
    item = batch.items[0]
    item = replace(item, example=Example(name, item.example.texts))
    return replace(batch, items=(item,))


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "albert", "gpt2", "llama"])
def test_a_language_models_loss_is_the_one_that_transformers_computes(kind: str) -> None:
    model = language_model(kind)
    objective = LanguageModelObjective(model, seed=3)
    corpus = from_texts(SENTENCES)
    data = ablate(model, corpus=corpus, seed=3, layers=False, way="zero", **RUN)["ablation"]
    off = Replacement([Head(1, 2)], "zero")
    for example, text in enumerate(SENTENCES, 1):
        batch = one_by_one(model, text)
        question = objective.ask(renamed(batch, str(example)))
        ids = torch.from_numpy(batch.ids)
        assert question.asked is not None
        labels = ids if objective.causal else ids.masked_fill(~question.asked, -100)
        with torch.inference_mode():
            plain = model.network(torch.from_numpy(question.batch.ids), labels=labels).loss
            without = model.forward(question.batch, replacement=off, labels=labels).loss
        found = data["outputs"].sel(example=str(example))
        assert found.sel(run="none").item() == pytest.approx(plain.item(), abs=1e-5)
        assert found.sel(run="2-3").item() == pytest.approx(without.item(), abs=1e-5)
    assert (data.attrs["metric"], data.attrs["better"]) == ("loss", "lower")


def test_a_masked_piece_is_masked_in_every_pass_and_others_are_visible() -> None:
    model = language_model("bert")
    batch = one_by_one(model, SENTENCES[0])
    question = LanguageModelObjective(model, seed=0).ask(batch)
    changed = question.batch.ids != batch.ids
    assert changed.any()
    assert (question.batch.ids[changed] == model.tokenizer.mask_token_id).all()
    assert question.asked is not None
    assert np.array_equal(changed, question.asked.numpy())
    other = LanguageModelObjective(model, seed=1).ask(batch)
    assert not np.array_equal(other.batch.ids, question.batch.ids)


def test_a_function_of_the_models_output_is_averaged() -> None:
    model = wrap(tiny_network("bert"), tiny_tokenizer("bert"), name="tiny")

    def first(output, batch):  # type: ignore[no-untyped-def]
        return output.last_hidden_state[:, 0, 0]

    data = ablate(model, corpus=list(SENTENCES), objective=first, layers=False, **RUN)["ablation"]
    off = Replacement([Head(0, 3)])
    with torch.inference_mode():
        output = model.forward(one_by_one(model, SENTENCES[2]), replacement=off)
    expected = output.last_hidden_state[0, 0, 0].item()
    assert data["outputs"].sel(run="1-4", example="3").item() == pytest.approx(expected, abs=1e-5)
    baseline = data.sel(run="none")
    mean = baseline["outputs"].mean().item()
    assert baseline["mean"].item() == pytest.approx(-mean, abs=1e-5)  # a loss: more is better
    lower = ablate(
        model, corpus=list(SENTENCES), objective=first, metric="loss", layers=False, **RUN
    )
    assert lower["head_off"].attrs["better"] == "lower"
    assert lower["ablation"]["mean"].sel(run="none").item() == pytest.approx(mean, abs=1e-5)


def test_a_custom_objective_may_have_right_answers() -> None:
    model = wrap(tiny_network("bert"), tiny_tokenizer("bert"), name="tiny")
    objective = CustomObjective(
        "two",
        lambda output, batch: output.last_hidden_state[:, 0, :2],
        metric="accuracy",
        gold=lambda example: float(example.label == "yes"),
    )
    atlas = ablate(model, corpus=labelled(), objective=objective, layers=False, **RUN)
    data = atlas["ablation"]
    assert data["gold"].sel(example=["s0", "s1"]).values.tolist() == [0, 1]
    assert data.sizes["output"] == 2
    right = (data["outputs"].argmax("output") == data["gold"]).mean("example")
    assert atlas["head_off"].attrs["baseline"] == pytest.approx(right.sel(run="none").item())
