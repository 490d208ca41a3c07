"""What a model is trained on: a GLUE task with its folder, or labelled tables."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from headscope.corpus import Example, from_examples
from headscope.errors import CorpusError, UserError
from headscope.tasks import GLUE, label_ids, task_examples
from headscope.tasks.glue import training_data
from refusals import refusal
from written import texts_of, written

# --- data ---

ROWS = [("a cat", "0"), ("a dog", "1"), ("a hen", "0")]


@pytest.fixture
def table(tmp_path):
    path = written(
        tmp_path / "table.tsv", "".join(f"{text}\t{label}\n" for text, label in ROWS * 2)
    )
    return path


@pytest.fixture
def glue(tmp_path):
    home = tmp_path / "glue" / "SST-2"
    home.mkdir(parents=True)
    for split, rows in (("train", ROWS * 2), ("dev", ROWS)):
        lines = ["sentence\tlabel", *(f"{text}\t{label}" for text, label in rows)]
        (home / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return home.parent


def test_a_glue_task_is_read_from_its_folder(glue):
    found = training_data("SST2", data=glue)
    assert found.task == GLUE["sst-2"]
    assert (found.train.size(), found.dev.size()) == (6, 3)
    assert [example.label for example in found.dev] == ["0", "1", "0"]


def test_the_classes_of_own_tables_are_the_labels_of_the_training_table(table):
    found = training_data(train=table, dev=table)
    assert (found.task.name, found.task.labels) == ("custom", ("0", "1"))


def test_own_tables_are_read_as_the_task_that_is_named(table):
    assert training_data("sst-2", train=table, dev=table).task == GLUE["sst-2"]


def test_a_corpus_is_a_table_and_its_labels_are_checked(table):
    dev = from_examples([Example("1", ("a cat",), label="3")], name="mine")
    with pytest.raises(CorpusError, match=r"the label of table\.tsv must be one of 0, 1; got '3'"):
        training_data(train=table, dev=dev)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, "none"),
        ({"task": "rte"}, "task"),
        ({"train": "a.tsv"}, "train"),
        ({"data": "glue"}, "data"),
        ({"task": "rte", "data": "glue", "dev": "a.tsv"}, "task and data and dev"),
    ],
)
def test_anything_but_a_task_with_data_or_two_tables_is_an_error(given, names):
    error = refusal(UserError, training_data, **given)  # type: ignore[arg-type]
    assert error.message == (f"tuning needs a task and its data, or train and dev; got {names}")
    assert "task='rte', data='glue'" in error.hint


# --- hub ---


class Table(list[dict[str, Any]]):
    """Rows as the library gives them."""

    @property
    def column_names(self) -> list[str]:
        return list(self[0])


@pytest.fixture
def asked(monkeypatch):
    """What was asked of the library; it answers in the form of the hub's GLUE."""
    calls: list[tuple[str, ...]] = []
    tables = {
        "rte": [{"sentence1": "A. ", "sentence2": "B.", "label": 1, "idx": 7}],
        "qnli": [{"question": "Who?", "sentence": "Me.", "label": 0, "idx": 0}],
        "sst2": [{"sentence": "fine ", "label": 1, "idx": 0}],
        "stsb": [{"sentence1": "A.", "sentence2": "B.", "label": 2.5, "idx": 0}],
        "mnli": [{"premise": "A.", "hypothesis": "B.", "label": 2, "idx": 0}],
        "mrpc": [{"sentence1": "A.", "sentence2": "B.", "label": -1, "idx": 0}],
    }

    def load_dataset(name, config, split):
        calls.append((name, config, split))
        if config == "qqp":
            raise ConnectionError("no route to the hub\nand more")
        return Table(tables[config])

    module = ModuleType("datasets")
    module.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)
    return calls


@pytest.mark.parametrize(
    ("task", "split", "call", "texts", "label"),
    [
        ("rte", "train", ("rte", "train"), ("A.", "B."), 1),
        ("qnli", "dev", ("qnli", "validation"), ("Who?", "Me."), 0),
        ("sst-2", "dev", ("sst2", "validation"), ("fine",), 1),
        ("sts-b", "dev", ("stsb", "validation"), ("A.", "B."), 2.5),
        ("mnli", "dev", ("mnli", "validation_matched"), ("A.", "B."), 2),
    ],
)
def test_texts_and_labels_come_as_from_files(asked, task, split, call, texts, label):
    corpus = task_examples(GLUE[task], "hub", split)
    assert asked == [("nyu-mll/glue", *call)]
    assert texts_of(corpus) == [texts]
    assert label_ids(GLUE[task], corpus).tolist() == [label]


def test_a_hidden_label_is_an_error_with_its_row(asked):
    with pytest.raises(
        UserError,
        match=r"nyu-mll/glue, mrpc, dev, row 1: the label of MRPC must be one of 0, 1; "
        r"got '-1' instead",
    ):
        task_examples(GLUE["mrpc"], "hub", "dev")


def test_an_unreachable_hub_is_reported_with_a_workaround(asked):
    error = refusal(UserError, task_examples, GLUE["qqp"], "hub", "dev")
    assert error.message == "nyu-mll/glue, qqp, dev cannot be fetched: no route to the hub"
    assert "data=FOLDER" in error.hint


def test_without_the_library_local_files_are_suggested(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    error = refusal(UserError, task_examples, GLUE["rte"], "hub", "dev")
    assert error.message == "GLUE from the hub needs the library datasets, which is not installed"
    assert "data=FOLDER" in error.hint
