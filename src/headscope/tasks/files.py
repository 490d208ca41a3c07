"""Tasks and where their examples are: a GLUE folder, a file, or the hub."""

from __future__ import annotations

import re
from dataclasses import replace
from os import PathLike
from pathlib import Path

from headscope.corpus import Corpus, CorpusLike, read
from headscope.corpus.columns import ColumnChoice
from headscope.corpus.formats import FileOptions, find_format
from headscope.corpus.readers.table import find_header, peek
from headscope.corpus.reading import DEMO, FRAMENET
from headscope.errors import CorpusError, unknown
from headscope.tasks.hub import HUB, hub_examples
from headscope.tasks.labels import custom_task, label_ids
from headscope.tasks.task import GLUE, Task, find_task, plain

__all__ = [
    "GLUE",
    "SPLITS",
    "Task",
    "custom_task",
    "find_file",
    "find_task",
    "label_ids",
    "labelled",
    "task_examples",
]

SPLITS = {"train": (r"train", r"train_subset\w*"), "dev": (r"dev", r"dev_matched")}
"""The names of the files of each split, the whole one first."""
ENDING = r"\.tsv(\.gz)?"


def task_examples(task: Task, path: str | Path, split: str) -> Corpus:
    """The examples of a split ("train" or "dev") of a task, their labels checked.

    ``path`` is a folder with GLUE's own layout (``FOLDER/RTE/train.tsv``, gzip or not, in any case), a file, or "hub".
    """
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    if str(path) == HUB:
        corpus = hub_examples(task, split)
    elif Path(path).is_dir():
        file = find_file(task, Path(path), split)
        corpus = labelled(file)
        if "subset" in file.name.lower():
            corpus = replace(
                corpus,
                remarks=lambda: (f"{file} holds only a part of the task's training examples",),
            )
    else:
        corpus = labelled(path)
    label_ids(task, corpus)  # an unknown label is told before anything is trained
    return corpus


def labelled(source: CorpusLike) -> Corpus:
    """Read a corpus whose examples have labels.

    In a table of two columns without a header, the second column is the label.
    """
    if isinstance(source, str | PathLike) and str(source) not in {DEMO, FRAMENET}:
        path = Path(source)
        format = find_format(path, FileOptions())
        if format in {"tsv", "csv"} and find_header(path, format, ColumnChoice()) is None:
            first = peek(path, format)
            if first and len(first[0]) == 2:
                return read(path, columns=[1], label=2, header=False)
    return read(source)


def find_file(task: Task, folder: Path, split: str) -> Path:
    """The file of a split in a GLUE folder, or in the task's own folder."""
    names = {plain(task.name), plain(task.title)}
    homes = [
        home for home in sorted(folder.iterdir()) if home.is_dir() and plain(home.name) in names
    ]
    homes += [folder] if plain(folder.resolve().name) in names else []
    if not homes:
        there = (
            ", ".join(sorted(home.name for home in folder.iterdir() if home.is_dir())) or "nothing"
        )
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
        hint=f"put it at {homes[0] / split}.tsv, or name files with --train and --dev",
    )
