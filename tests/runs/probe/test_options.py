"""Options, tasks and sources of probing runs, and the errors for wrong ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import xarray as xr

from headscope.corpus import Example
from headscope.errors import CorpusError, UserError
from headscope.runs.probe import probe
from headscope.runs.probe import task as probing_task
from headscope.stats.tables.probing import top_table
from planted import WIDTH, planted_bert
from runs.probe.planted_tasks import ONE, QUICK, dogs, maybe_dog, sentences, task, words_task
from tiny import tiny_model, tiny_network


def test_costly_points_of_the_curve_are_skipped_unless_requested(tmp_path, monkeypatch):
    def scored(**options: Any) -> dict[str, list[int]]:
        given = QUICK | {"max_length": 24} | options
        results = probe(planted_bert(), dogs(), cache=tmp_path, **given)
        test = results["probe_top"]["test"].sel(task="dogs")
        return {
            str(way): test["n"].values[test.sel(way=way).notnull()].tolist()
            for way in test["way"].values
        }

    monkeypatch.setattr(probing_task, "COST", 1)
    assert scored(greedy=False) == {"top": [5], "greedy": []}
    assert scored(greedy=False, counts=(1, 7), n=3) == {"top": [1, 3, 7], "greedy": []}
    monkeypatch.setattr(probing_task, "SELECTED", 2 * WIDTH)
    assert scored(counts=(1, 2, 4), n=1) == {"top": [1, 2, 4], "greedy": [1, 2]}
    assert scored(counts=(1, 2, 4), n=4) == {"top": [1, 2, 4], "greedy": [1, 2, 4]}


def test_the_points_of_the_curve_suit_any_shape(tmp_path):
    how: dict[str, Any] = QUICK | {"cache": tmp_path, "max_length": 24, "repeats": 1}
    results = probe(planted_bert(), dogs(sizes=(20, 10, 10)), n=3, greedy=False, **how)
    assert results["probe_top"]["n"].values.tolist() == [1, 2, 3, 4, 5, 7, 10]
    assert top_table(results, n=3)["n"].tolist() == [3]
    single = tiny_model("bert", num_attention_heads=1)
    results = probe(single, dogs(sizes=(20, 10, 10)), **how | {"max_length": 64})
    assert results["probe_top"]["n"].values.tolist() == [1, 2]


HEADS_OF_PLANTED = (
    "the number of heads must be between 1 and 10, the number of heads of planted-bert"
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 11}, f"{HEADS_OF_PLANTED}; got 11 instead"),
        ({"n": 0}, f"{HEADS_OF_PLANTED}; got 0 instead"),
        ({"counts": (2, 12)}, f"{HEADS_OF_PLANTED}; got 12 instead"),
        ({"n": "5"}, "the number of heads must be a whole number, got '5' instead"),
        ({"counts": (2, 1.5)}, "the number of heads must be a whole number, got 1.5 instead"),
        (
            {"position": "first"},
            "the position must be one of cls, last, mean; got 'first' instead.",
        ),
        (
            {"pairs": "aside"},
            "the pairs option must be one of apart, together; got 'aside' instead.",
        ),
        ({"solver": "adam"}, "the solver must be one of exact, rmsprop; got 'adam' instead."),
        ({"l2": (0.1, -1)}, "L2 values must be numbers above 0, got 0.1, -1 instead"),
        ({"l2": ()}, "L2 values must be numbers above 0, got none instead"),
        ({"folds": 1}, "the number of folds must be 2 or more, got 1 instead"),
        ({"sample": 0}, "the sample must be 1 or more, got 0 instead"),
        ({"batch_size": 0}, "the batch size must be 1 or more, got 0 instead"),
        (
            {"max_length": 25},
            "the maximum length must be at most 24 for planted-bert, got 25 instead",
        ),
    ],
)
def test_options_that_are_not_allowed_are_errors(options, message, tmp_path):
    with pytest.raises(UserError) as error:
        probe(planted_bert(), dogs(sizes=(4, 2, 2)), cache=tmp_path, **{"max_length": 24} | options)
    assert error.value.message == message


def test_examples_without_tokens_are_skipped(tmp_path):
    asked = dogs(sizes=(20, 10, 10))
    empty = Example("none", ("\u200b",), label="yes")
    splits = {split: (*examples, empty) for split, examples in asked.splits.items()}
    results = probe(planted_bert(), replace(asked, splits=splits), cache=tmp_path, **ONE, **QUICK)
    data = results["probe"].sel(task="dogs")
    assert [int(data[name]) for name in ("train", "dev", "test_size")] == [20, 10, 10]
    assert results.provenance["counts"]["empty"] == 1
    assert results.provenance["counts"]["seen"] == 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"labels": ("no", "maybe")},
            "example train1: the label of Dogs must be one of maybe, no; got 'yes' instead",
        ),
        ({"labels": ()}, "example train0: the label of Dogs must be a number, got "),
        ({"train": "no"}, "Dogs: all training examples have the same label, 'no'"),
        ({"test": None}, "Dogs has no test examples"),
        ({"train": None}, "Dogs has no training examples"),
    ],
)
def test_a_task_that_cannot_be_learned_is_an_error(change, message, tmp_path):
    asked = dogs(sizes=(8, 4, 4))
    parts: dict[str, Any] = {
        split: [(example.texts, str(example.label)) for example in found]
        for split, found in asked.splits.items()
    }
    for split in ("train", "test"):
        if split in change:
            parts[split] = [(texts, change[split]) for texts, _ in parts[split] if change[split]]
    changed = task("dogs", parts, change.get("labels", ("no", "yes")))
    with pytest.raises(CorpusError) as error:
        probe(planted_bert(), [changed], cache=tmp_path, **ONE)
    assert error.value.message.startswith(message)


def test_no_task_and_two_tasks_of_one_name_are_errors(tmp_path):
    with pytest.raises(UserError, match=r"^no tasks were given"):
        probe(planted_bert(), [], cache=tmp_path)
    with pytest.raises(UserError, match=r"^two tasks are called dogs") as error:
        probe(planted_bert(), [dogs(), dogs(seed=1)], cache=tmp_path)
    assert error.value.hint == "probe them in two runs, or rename a file"


def test_tasks_come_from_files_names_and_objects_in_the_order_given(tmp_path):
    marks = {"train": "tr", "dev": "va", "test": "te"}
    lines = [
        f"{marks[split]}\t{example.label}\t{example.texts[0]}\n"
        for split, examples in dogs(sizes=(20, 10, 10)).splits.items()
        for example in examples
    ]
    file = tmp_path / "barking.txt"
    file.write_text("".join(lines))
    tasks = [dogs("first", 1, (20, 10, 10)), file, dogs("unwanted", 2, (20, 10, 10))]
    how: dict[str, Any] = {"only": ["First", "barking"], "sample": 16, **ONE, **QUICK}
    results = probe(planted_bert(), tasks, cache=tmp_path, **how)
    assert results["probe"]["task"].values.tolist() == ["first", "barking"]
    assert results["probe"]["train"].values.tolist() == [16, 16]
    assert results["probe"]["dev"].values.tolist() == [10, 10]
    with pytest.raises(UserError, match=r"^the task must be one of Dogs; got 'cats' instead"):
        probe(planted_bert(), dogs(), only="cats", cache=tmp_path)


@pytest.mark.parametrize(("tasks", "given"), [(3, "int"), ([dogs(), None], "NoneType")])
def test_tasks_of_a_wrong_type_are_an_error(tasks, given, tmp_path):
    with pytest.raises(UserError) as error:
        probe(planted_bert(), tasks, cache=tmp_path)
    assert (
        error.value.message == f"tasks must be paths, names or probing tasks; got {given} instead"
    )


def test_a_task_of_texts_and_pairs_cannot_be_encoded_apart(tmp_path):
    rows = [((text, text), "yes") for text in sentences(5, 0, maybe_dog)]
    rows += [((text,), "no") for text in sentences(5, 1, maybe_dog)]
    mixed = task("mixed", {"train": rows, "test": rows}, ("no", "yes"))
    with pytest.raises(CorpusError, match=r"^Mixed: some examples are single texts and others pa"):
        probe(planted_bert(), mixed, pairs="apart", cache=tmp_path, **ONE)


def test_a_network_with_its_tokenizer_is_probed_and_put_back(tmp_path):
    """The attention implementation and the training mode are those from before."""
    model, network = tiny_model("bert"), tiny_network("bert").train()
    before = network.config._attn_implementation
    small, options = words_task((20, 10, 10)), ONE | QUICK | {"repeats": 1}
    pair = probe((network, model.tokenizer), small, cache=tmp_path / "pair", **options)
    assert (network.training, network.config._attn_implementation) == (True, before)
    expected = probe(model, small, cache=tmp_path / "model", **options)
    xr.testing.assert_equal(pair["probe"], expected["probe"])
