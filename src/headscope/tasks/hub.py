"""GLUE from the hub, where the library ``datasets`` is installed."""

from __future__ import annotations

import importlib
from typing import Any

from headscope.corpus import Corpus, Example, from_examples
from headscope.corpus.columns import ColumnChoice, find_layout
from headscope.errors import UserError
from headscope.tasks.task import Task, plain

HUB = "hub"
DATASET = "nyu-mll/glue"


def hub_examples(task: Task, split: str) -> Corpus:
    """A split of a GLUE task, fetched from the hub."""
    place = f"{DATASET}, {plain(task.name)}, {split}"
    try:
        datasets: Any = importlib.import_module("datasets")
    except ModuleNotFoundError:
        raise UserError(
            "GLUE from the hub needs the library datasets, which is not installed",
            hint="pip install datasets, or give a folder with local files: --data FOLDER (FOLDER/RTE/train.tsv …)",
        ) from None
    part = (
        "train"
        if split == "train"
        else "validation_matched"
        if task.name == "mnli"
        else "validation"
    )
    try:
        rows = datasets.load_dataset(DATASET, plain(task.name), split=part)
    except (OSError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise UserError(
            f"{place} cannot be fetched: {first}",
            hint="check the connection, or give a folder with local files: --data FOLDER",
        ) from error
    names = list(rows.column_names)
    texts = [names[column] for column in find_layout(names, ColumnChoice(), place).texts]
    return from_examples(
        [
            _example(task, row, texts, f"{place}, row {number}")
            for number, row in enumerate(rows, 1)
        ],
        name=place,
    )


def _example(task: Task, row: dict[str, Any], texts: list[str], source: str) -> Example:
    value = row["label"]
    known = bool(task.labels) and 0 <= int(value) < len(task.labels)
    return Example(
        str(row["idx"]),
        tuple(str(row[name]).strip() for name in texts),
        label=task.labels[int(value)] if known else str(value),
        source=source,
    )
