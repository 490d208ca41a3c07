"""Objectives: the loss that transformers computes, masked pieces, functions of the output."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from headscope.corpus import Example, from_texts
from headscope.encode import Batch
from headscope.errors import ModelError, UserError
from headscope.heads import Head
from headscope.models import Replacement, Shape, wrap
from headscope.models.replace import WAYS
from headscope.runs.ablate import (
    CustomObjective,
    LanguageModelObjective,
    TaskObjective,
    Way,
    ablate,
)
from headscope.runs.ablate.work import plan
from headscope.tasks import Task
from runs.ablate.made import NUMBER, RUN, TASK, classifier, labelled, language_model, one_by_one
from tiny import SENTENCES, tiny_network, tiny_tokenizer


def renamed(batch: Batch, name: str) -> Batch:
    """A batch of one text under another name: which pieces are masked depends on it."""
    item = batch.items[0]
    item = replace(item, example=Example(name, item.example.texts))
    return replace(batch, items=(item,))


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "albert", "gpt2", "llama"])
def test_a_language_models_loss_is_the_one_that_transformers_computes(kind):
    model = language_model(kind)
    objective = LanguageModelObjective(model, seed=3)
    corpus = from_texts(SENTENCES)
    data = ablate(model, corpus=corpus, seed=3, layers=False, way="zero", **RUN)["ablation"]
    off = Replacement([Head(1, 2)], "zero")
    for example, text in enumerate(SENTENCES, 1):
        batch = one_by_one(model, text)
        question = objective.ask(renamed(batch, str(example)))
        ids = torch.from_numpy(batch.ids)
        assert question.scored is not None
        labels = ids if objective.causal else ids.masked_fill(~question.scored, -100)
        with torch.inference_mode():
            plain = model.network(torch.from_numpy(question.batch.ids), labels=labels).loss
            without = model.forward(question.batch, replacement=off, labels=labels).loss
        found = data["outputs"].sel(example=str(example))
        assert found.sel(run="none").item() == pytest.approx(plain.item(), abs=1e-5)
        assert found.sel(run="2-3").item() == pytest.approx(without.item(), abs=1e-5)
    assert (data.attrs["metric"], data.attrs["better"]) == ("loss", "lower")


def test_a_masked_piece_is_masked_in_every_pass_and_others_are_visible():
    model = language_model("bert")
    batch = one_by_one(model, SENTENCES[0])
    question = LanguageModelObjective(model, seed=0).ask(batch)
    changed = question.batch.ids != batch.ids
    assert changed.any()
    assert (question.batch.ids[changed] == model.tokenizer.mask_token_id).all()
    assert question.scored is not None
    assert np.array_equal(changed, question.scored.numpy())
    other = LanguageModelObjective(model, seed=1).ask(batch)
    assert not np.array_equal(other.batch.ids, question.batch.ids)


def test_a_function_of_the_models_output_is_averaged():
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


def test_a_custom_objective_may_have_right_answers():
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


# --- mistakes ---

SHAPE = Shape(2, 4, 8)
ONE = Task("x", "X", "classification", ("one",), ("accuracy",))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plan(SHAPE, sets=["3-1"]), "the model has no head 3-1"),
        (lambda: plan(SHAPE, sets=[[Head(0, -1)]]), "the model has no head 1-0"),
        (lambda: plan(SHAPE, sets=["1-0"]), "there is no head 1-0"),
        (lambda: plan(SHAPE, sets=[[]]), "the set of heads is empty"),
        (lambda: plan(Shape(1, 4, 8), heads=False), "layer 1 would disable all 4 heads"),
        (
            lambda: plan(Shape(2, 1, 8), heads=False, layers=False, sets=["1-1,2-1"]),
            "1-1,2-1 would disable all 2 heads of the model",
        ),
        (lambda: plan(SHAPE, heads=False, layers=False), "there is nothing to disable"),
    ],
)
def test_impossible_plans(call, message):
    with pytest.raises(UserError, match=message):
        call()


def test_the_ways_are_those_of_a_replacement():
    assert get_args(Way) == WAYS


def test_the_only_layer_of_a_model_is_skipped_if_heads_are_disabled():
    assert [off.name for off in plan(Shape(1, 2, 8))] == ["none", "1-1", "1-2"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"way": "off"},
            "the way to disable a head must be one of mean, uniform, window, zero; got 'off'",
        ),
        ({"long": "split"}, "long examples cannot be split here"),
        ({"batch_size": 0}, "the batch size must be 1 or more, got 0 instead"),
        ({"sets": ["3:9"]}, "a head must be given as .*; got '3:9' instead"),
        ({"correction": "holms"}, "the correction must be one of .*Did you mean 'holm'"),
        ({"resamples": 0}, "the number of resamples must be 1 or more, got 0 instead"),
        ({"confidence": 95}, "the confidence must be between 0 and 1, got 95 instead"),
        ({"metric": "pearson"}, "the metric of Made must be one of accuracy, f1; got 'pearson'"),
        ({"task": NUMBER, "dev": labelled(NUMBER)}, "tiny-bert has 2 outputs, and Number needs 1"),
        (
            {"corpus": list(SENTENCES)},
            "judged by a task, by a corpus or by an objective, got task and",
        ),
        ({"data": "glue"}, "by the labelled table dev; got task and data and dev"),
        ({"dev": None}, "by the labelled table dev; got task\n"),
        ({"dev": None, "task": "rtee", "data": "glue"}, "Did you mean 'rte'"),
    ],
)
def test_impossible_arguments(given, message):
    with pytest.raises(UserError, match=message):
        ablate(classifier(), **{"task": TASK, "dev": labelled(), **RUN, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "tiny-bert has no language-model head; and no task was given"),
        ({"metric": "f1"}, "the metric f1 needs a task"),
        ({"objective": 3}, "an objective must be an Objective or a function; got int"),
        ({"objective": lambda output, batch: 0, "metric": "f1"}, "f1 needs the right answers"),
        ({"objective": lambda output, batch: 0, "metric": "acc"}, "the metric must be one of"),
        (
            {"objective": lambda output, batch: output.logits[:1]},
            "must return one row per example, 2 here",
        ),
    ],
)
def test_impossible_objectives(given, message):
    with pytest.raises(UserError, match=message):
        ablate(classifier(), corpus=list(SENTENCES), **given, **RUN)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda model: TaskObjective(language_model("bert"), TASK),
            "tiny-bert has no classifier, and Made needs 2",
        ),
        (
            lambda model: TaskObjective(model, ONE),
            "a task needs two classes or more; X has only 'one'",
        ),
        (
            lambda model: ablate(
                model,
                corpus=list(SENTENCES),
                objective=CustomObjective("x", lambda output, batch: 0, metric="loss"),
                metric="mean",
            ),
            "the objective is scored by loss, and the metric is mean",
        ),
    ],
)
def test_impossible_judges(call, message):
    with pytest.raises(UserError, match=message):
        call(classifier())


def test_encoder_decoders_and_tokenizers_without_a_mask_have_no_loss():
    both = wrap(tiny_network("t5", auto=AutoModelForSeq2SeqLM), tiny_tokenizer("t5"), name="t5")
    with pytest.raises(ModelError, match="t5 is an encoder-decoder, whose loss is not supported"):
        LanguageModelObjective(both)
    masked = language_model("bert")
    masked.tokenizer.mask_token = None
    with pytest.raises(ModelError, match="the tokenizer of tiny-bert has no mask token"):
        LanguageModelObjective(masked)
