"""Mistakes are reported before anything is trained."""

from __future__ import annotations

import math

import pytest

from headscope.corpus import Example, from_examples
from headscope.errors import ModelError, UserError
from headscope.models import wrap
from headscope.runs.tune import read_record
from runs.tune.animals import tune_animals
from tiny import tiny_network, tiny_tokenizer


def test_one_class_in_training_is_an_error(bert, tmp_path):
    cats = [Example(str(number), ("the cat",), label="cat") for number in range(3)]
    with pytest.raises(UserError) as caught:
        tune_animals(bert, tmp_path / "x", train=from_examples(cats, name="cats.tsv"))
    expected = "a task needs two classes or more; the 3 training examples of cats.tsv are all 'cat'"
    assert caught.value.message == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epochs": 0}, "the number of epochs must be 1 or more, got 0 instead"),
        ({"learning_rate": 0.0}, "the learning rate must be between 0 and 1, got 0.0 instead"),
        ({"learning_rate": math.nan}, "the learning rate must be a number, got nan instead"),
        ({"batch_size": 0}, "the batch size must be 1 or more, got 0 instead"),
        ({"warmup": 1.0}, "the warm-up must be a share from 0 to below 1, got 1.0 instead"),
        ({"seed": -1}, "the seed must be 0 to 4294967295, got -1 instead"),
        ({"limit": 0}, "the limit must be 1 or more, got 0 instead"),
        (
            {"start": "scratch"},
            "the start must be one of pretrained, random, untrained; got 'scratch' instead.",
        ),
        (
            {"precision": "int8"},
            "the precision must be one of bf16, float32, fp16; got 'int8' instead.",
        ),
        ({"precision": "fp16"}, "fp16 needs a GPU: on a CPU half-precision training is bf16"),
        (
            {"device": "cuda:1"},
            "the device for fine-tuning must be one of cpu, cuda, mps; got 'cuda:1' instead",
        ),
        ({"position": "mean"}, "the position 'mean' needs a pooling"),
        ({"train": None}, "tuning needs a task and its data, or train and dev; got task and dev"),
        ({"data": "glue"}, "tuning needs a task and its data, or train and dev; got task and data"),
        ({"max_length": 65}, "the maximum length must be at most 64 for "),
    ],
)
def test_an_impossible_setting_is_an_error_before_anything_is_trained(
    bert, tmp_path, given, message
):
    with pytest.raises(UserError) as caught:
        tune_animals(bert, tmp_path / "x", **given)
    assert caught.value.message.startswith(message)
    assert not (tmp_path / "x").exists()


def test_without_accelerate_the_error_names_the_extra_to_install(bert, tmp_path, monkeypatch):
    monkeypatch.setattr("headscope.runs.tune.find_spec", lambda name: None)
    with pytest.raises(UserError) as caught:
        tune_animals(bert, tmp_path / "x")
    assert caught.value.hint == "pip install 'headscope[tune]'"


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"minutes": 1, "task": 3}'])
def test_a_missing_or_damaged_record_is_an_error(tmp_path, text):
    message = r"has no headscope-tune.json: it is not the folder of a finished run"
    with pytest.raises(UserError, match=message):
        read_record(tmp_path)
    (tmp_path / "headscope-tune.json").write_text(text)
    with pytest.raises(UserError, match=r"headscope-tune.json cannot be read"):
        read_record(tmp_path)


def test_a_model_that_would_be_another_once_saved_is_refused(tmp_path):
    for options, shown in (({"bos": "add"}, "bos='add'"), ({"bos": "none"}, "bos='none'")):
        model = wrap(tiny_network("gpt2"), tiny_tokenizer("gpt2"), **options)
        with pytest.raises(ModelError) as caught:
            tune_animals(model, tmp_path / "x")
        assert str(caught.value) == (
            f"a model that was loaded with {shown} cannot be fine-tuned\nnext: load it without bos="
        )
    model.bos, model.adapter = "keep", "lora"
    with pytest.raises(ModelError) as caught:
        tune_animals(model, tmp_path / "x")
    assert caught.value.hint == ("load it without adapter=, or merge the adapter into it with PEFT")
