"""Tasks and where their examples are: a GLUE folder, a file, or the hub."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from headscope.corpus import Corpus, Example, read
from headscope.corpus.files import lines
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


def labelled(path: str | Path) -> Corpus:
    """A table with labels. Of a table of two columns without a header the second is the label."""
    corpus = read(path)
    first = next(iter(corpus))
    if (
        corpus.format == "tsv"
        and first.label is None
        and tuple(cell.strip() for cell in _first_line(Path(path))) == first.texts
        and len(first.texts) == 2
    ):
        source = corpus.source
        corpus = replace(corpus, source=lambda: _second_as_label(source()))
    return corpus


def _first_line(path: Path) -> list[str]:
    return next((line.split("\t") for _, line in lines(path) if line.strip()), [])


def _second_as_label(examples: Iterator[Example]) -> Iterator[Example]:
    return (
        replace(example, texts=example.texts[:1], label=example.texts[1]) for example in examples
    )


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
