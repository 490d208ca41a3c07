"""What a model is trained on: a GLUE task with its folder, or labelled tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from headscope.corpus import Example, from_examples
from headscope.errors import CorpusError, UserError
from headscope.tasks import GLUE
from headscope.tasks.glue import training_data

ROWS = [("a cat", "0"), ("a dog", "1"), ("a hen", "0")]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.tsv"
    path.write_text("".join(f"{text}\t{label}\n" for text, label in ROWS * 2))
    return path


@pytest.fixture
def glue(tmp_path: Path) -> Path:
    home = tmp_path / "glue" / "SST-2"
    home.mkdir(parents=True)
    for split, rows in (("train", ROWS * 2), ("dev", ROWS)):
        lines = ["sentence\tlabel", *(f"{text}\t{label}" for text, label in rows)]
        (home / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return home.parent


def test_a_glue_task_is_read_from_its_folder(glue: Path) -> None:
    found = training_data("SST2", data=glue)
    assert found.task == GLUE["sst-2"]
    assert (found.train.size(), found.dev.size()) == (6, 3)
    assert [example.label for example in found.dev] == ["0", "1", "0"]


def test_the_classes_of_own_tables_are_the_labels_of_the_training_table(table: Path) -> None:
    found = training_data(train=table, dev=table)
    assert (found.task.name, found.task.labels) == ("custom", ("0", "1"))


def test_own_tables_are_read_as_the_task_that_is_named(table: Path) -> None:
    assert training_data("sst-2", train=table, dev=table).task == GLUE["sst-2"]


def test_a_corpus_is_a_table_and_its_labels_are_checked(table: Path) -> None:
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
def test_anything_but_a_task_with_data_or_two_tables_is_an_error(
    given: dict[str, str], names: str
) -> None:
    with pytest.raises(UserError) as caught:
        training_data(**given)  # type: ignore[arg-type]
    assert caught.value.message == (
        f"tuning needs a task and its data, or train and dev; got {names}"
    )
    assert "task='rte', data='glue'" in caught.value.hint
