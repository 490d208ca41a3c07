"""GLUE from the hub, with a stand-in for the library that fetches it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from headscope.errors import UserError
from headscope.tasks import GLUE, label_ids, task_examples


class Table(list[dict[str, Any]]):
    """Rows as the library gives them."""

    @property
    def column_names(self) -> list[str]:
        return list(self[0])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
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

    def load_dataset(name: str, config: str, split: str) -> Table:
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
    assert [example.texts for example in corpus] == [texts]
    assert label_ids(GLUE[task], corpus).tolist() == [label]


def test_a_hidden_label_is_an_error_with_its_row(asked):
    with pytest.raises(
        UserError,
        match=r"nyu-mll/glue, mrpc, dev, row 1: the label of MRPC must be one of 0, 1; "
        r"got '-1' instead",
    ):
        task_examples(GLUE["mrpc"], "hub", "dev")


def test_an_unreachable_hub_is_reported_with_a_workaround(asked):
    with pytest.raises(UserError) as caught:
        task_examples(GLUE["qqp"], "hub", "dev")
    assert caught.value.message == "nyu-mll/glue, qqp, dev cannot be fetched: no route to the hub"
    assert "data=FOLDER" in caught.value.hint


def test_without_the_library_local_files_are_suggested(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError) as caught:
        task_examples(GLUE["rte"], "hub", "dev")
    assert (
        caught.value.message
        == "GLUE from the hub needs the library datasets, which is not installed"
    )
    assert "data=FOLDER" in caught.value.hint
