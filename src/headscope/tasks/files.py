"""The examples of a task: in a GLUE folder, in a file, or on the hub."""

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
from headscope.tasks.labels import label_ids
from headscope.tasks.task import Task, plain

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
        case), a file, or "hub".
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
    if isinstance(source, str | PathLike) and str(source) not in {DEMO, FRAMENET}:
        path = Path(source)
        format = find_format(path, FileOptions())
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
