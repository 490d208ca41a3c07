"""GLUE from the hub, if the library ``datasets`` is installed."""

from __future__ import annotations

import importlib
from typing import Any

from headscope.corpus import Corpus, Example, from_examples
from headscope.corpus.columns import ColumnChoice, find_layout
from headscope.errors import UserError
from headscope.tasks.task import Task, plain

HUB = "hub"
DATASET = "nyu-mll/glue"
LOCAL = {
    "hint": "or give a folder with local files: data=FOLDER (FOLDER/RTE/train.tsv …)",
    "command": "or give a folder with local files: --data FOLDER (FOLDER/RTE/train.tsv …)",
}


def hub_examples(task: Task, split: str) -> Corpus:
    """Fetch a split of a GLUE task from the hub.

    Raises
    ------
    UserError
        If ``datasets`` is not installed, or the hub cannot be reached.
    """
    place = f"{DATASET}, {plain(task.name)}, {split}"
    try:
        datasets: Any = importlib.import_module("datasets")
    except ModuleNotFoundError:
        raise UserError(
            "GLUE from the hub needs the library datasets, which is not installed",
            **{name: f"pip install datasets, {advice}" for name, advice in LOCAL.items()},
        ) from None
    held_out = "validation_matched" if task.name == "mnli" else "validation"
    part = "train" if split == "train" else held_out
    try:
        rows = datasets.load_dataset(DATASET, plain(task.name), split=part)
    except (OSError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise UserError(
            f"{place} cannot be fetched: {first}",
            **{name: f"check the connection, {advice}" for name, advice in LOCAL.items()},
        ) from error
    names = list(rows.column_names)
    texts = [names[column] for column in find_layout(names, ColumnChoice(), place).texts]
    examples = [
        _example(task, row, texts, f"{place}, row {number}") for number, row in enumerate(rows, 1)
    ]
    return from_examples(examples, name=place)


def _example(task: Task, row: dict[str, Any], texts: list[str], source: str) -> Example:
    value = row["label"]
    known = bool(task.labels) and 0 <= int(value) < len(task.labels)
    return Example(
        str(row["idx"]),
        tuple(str(row[name]).strip() for name in texts),
        label=task.labels[int(value)] if known else str(value),
        source=source,
    )
