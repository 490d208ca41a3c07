"""What a model is trained and scored on: GLUE in a folder or on the hub, or labelled tables."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from headscope.corpus import Corpus, CorpusLike, Example, from_examples, read
from headscope.corpus.grammar import GRAMMAR, opinions, paraphrases
from headscope.corpus.reading import NAMED, find_format
from headscope.corpus.tables import ColumnChoice, find_header, find_layout, peek
from headscope.errors import CorpusError, UserError, unknown
from headscope.options import ReadOptions
from headscope.tasks.task import MADE, Task, custom_task, find_task, label_ids, plain

# --- from the hub ---

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
    where = f"{DATASET}, {plain(task.name)}, {split}"
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
            f"{where} cannot be fetched: {first}",
            **{name: f"check the connection, {advice}" for name, advice in LOCAL.items()},
        ) from error
    names = list(rows.column_names)
    texts = [names[column] for column in find_layout(names, ColumnChoice(), where).texts]
    examples = [
        _example(task, row, texts, f"{where}, row {number}") for number, row in enumerate(rows, 1)
    ]
    return from_examples(examples, name=where)


def _example(task: Task, row: dict[str, Any], texts: list[str], source: str) -> Example:
    value = row["label"]
    known = bool(task.labels) and 0 <= int(value) < len(task.labels)
    return Example(
        str(row["idx"]),
        tuple(str(row[name]).strip() for name in texts),
        label=task.labels[int(value)] if known else str(value),
        source=source,
    )


# --- from the grammar ---

MADE_SIZES = {"train": 2000, "dev": 500}


def is_made(task: Task) -> bool:
    """Whether the built-in grammar writes the examples of a task, whatever the order of classes."""
    written = MADE.get(task.name)
    return written is not None and sorted(written.labels) == sorted(task.labels)


_WRITERS = {"opinion": opinions, "paraphrase": paraphrases}


@cache
def made_examples(task: Task, split: str) -> Corpus:
    """A split of a task of the built-in grammar; no sentence or pair is in both splits.

    >>> from headscope.tasks.task import MADE
    >>> made_examples(MADE["opinion"], "dev").size()
    500
    """
    if task.name not in _WRITERS:
        raise UserError(
            f"the built-in grammar has no examples of {task.title}",
            hint=f"name one of its tasks: {', '.join(_WRITERS)}; or give the files of {task.title}",
        )
    start = 0 if split == "train" else MADE_SIZES["train"]
    examples = list(islice(_WRITERS[task.name](), start, start + MADE_SIZES[split]))
    corpus = from_examples(examples, name=f"{GRAMMAR}, {task.name}, {split}")
    note = f"the sentences of {task.title} are written by the built-in grammar"
    return replace(corpus, format=GRAMMAR, remarks=lambda: (note,))


# --- from files ---

SPLITS = {"train": (r"train", r"train_subset\w*"), "dev": (r"dev", r"dev_matched")}
"""The names of the files of each split, the complete one first."""
ENDING = r"\.tsv(\.gz)?"


def task_examples(task: Task, path: str | Path, split: str) -> Corpus:
    """Read a split of a task, and check its labels.

    Parameters
    ----------
    task : Task
        The task, which knows its labels.
    path : str or Path
        A folder in GLUE's layout (``FOLDER/RTE/train.tsv``, gzipped or not, in upper or lower
        case), a file, "hub", or "grammar" for the tasks in ``MADE``.
    split : {"train", "dev"}
        The split to read.

    Raises
    ------
    CorpusError
        If there is no such file, or a label is not one of the task's.
    """
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    if str(path) == HUB:
        corpus = hub_examples(task, split)
    elif str(path) == GRAMMAR:
        corpus = made_examples(task, split)
    elif Path(path).is_dir():
        file = find_file(task, Path(path), split)
        corpus = labelled(file)
        if "subset" in file.name.lower():
            note = f"{file} holds only a part of the task's training examples"
            corpus = replace(corpus, remarks=lambda: (note,))
    else:
        corpus = labelled(path)
    label_ids(task, corpus)  # an unknown label is reported before anything is trained
    return corpus


def labelled(source: CorpusLike) -> Corpus:
    """Read a corpus whose examples have labels.

    In a table of two columns without a header, the second column is the label.
    """
    if isinstance(source, str | PathLike) and str(source) not in NAMED:
        path = Path(source)
        format = find_format(path, ReadOptions())
        if format in {"tsv", "csv"} and find_header(path, format, ColumnChoice()) is None:
            first = peek(path, format)
            if first and len(first[0]) == 2:
                return read(path, columns=[1], label=2, header=False)
    return read(source)


def find_file(task: Task, folder: Path, split: str) -> Path:
    """Find the file of a split in a GLUE folder, or in the task's own folder."""
    names = {plain(task.name), plain(task.title)}
    folders = [home for home in sorted(folder.iterdir()) if home.is_dir()]
    homes = [home for home in folders if plain(home.name) in names]
    homes += [folder] if plain(folder.resolve().name) in names else []
    if not homes:
        there = ", ".join(home.name for home in folders) or "nothing"
        raise CorpusError(
            f"{folder} has no folder for {task.title}; its folders are: {there}",
            hint=f"put the files at {folder / task.name.upper() / 'train.tsv'} and dev.tsv",
        )
    for pattern in SPLITS[split]:
        for home in homes:
            for file in sorted(home.iterdir()):
                if re.fullmatch(pattern + ENDING, file.name, re.IGNORECASE):
                    return file
    raise CorpusError(
        f"{homes[0]} has no {split} split: no {split}.tsv or {split}.tsv.gz",
        hint=f"put it at {homes[0] / split}.tsv, or give files as train= and dev=",
    )


# --- to train and to score on ---


@dataclass(frozen=True)
class TaskData:
    """A task, the examples to train on and the examples to score on."""

    task: Task
    train: Corpus
    dev: Corpus


def training_data(
    task: str | Task | None = None,
    *,
    data: str | Path | None = None,
    train: CorpusLike | None = None,
    dev: CorpusLike | None = None,
) -> TaskData:
    """Read what a model is to be trained and scored on, and check every label.

    Parameters
    ----------
    task
        A GLUE task by name, or a task of your own. Without one, the classes are the labels of
        ``train``.
    data
        The task's files: a folder in GLUE's layout (``FOLDER/RTE/train.tsv``), ``"hub"``, or
        ``"grammar"``, which the tasks opinion and paraphrase need not be told.
    train, dev
        Instead of ``data``: labelled tables to train on and to score on, as anything that
        :func:`headscope.read` takes.

    Raises
    ------
    UserError
        If neither a task with its data nor both tables are given.
    CorpusError
        If a file is missing, or a label is not one of the task's.
    """
    named = find_task(task) if isinstance(task, str) else task
    if named and is_made(named) and data is None and train is None and dev is None:
        data = GRAMMAR
    if named and data is not None and train is None and dev is None:
        return TaskData(
            named, task_examples(named, data, "train"), task_examples(named, data, "dev")
        )
    if train is not None and dev is not None and data is None:
        tables = labelled(train), labelled(dev)
        chosen = named or custom_task(tables[0])
        for table in tables:
            label_ids(chosen, table)
        return TaskData(chosen, *tables)
    sources = {"task": task, "data": data, "train": train, "dev": dev}
    names = [name for name, value in sources.items() if value is not None]
    raise UserError(
        f"tuning needs a task and its data, or train and dev; got {' and '.join(names) or 'none'}",
        hint="give e.g. task='rte', data='glue', or train='train.tsv', dev='dev.tsv'",
    )
