"""What a model is trained and scored on: a GLUE task by name, or labelled tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headscope.corpus import Corpus, CorpusLike
from headscope.errors import UserError
from headscope.tasks.files import labelled, task_examples
from headscope.tasks.labels import custom_task, label_ids
from headscope.tasks.task import Task, find_task


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
        The task's files: a folder in GLUE's layout (``FOLDER/RTE/train.tsv``), or ``"hub"``.
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
    given = {"task": task, "data": data, "train": train, "dev": dev}
    names = [name for name, value in given.items() if value is not None]
    raise UserError(
        f"tuning needs a task and its data, or train and dev; got {' and '.join(names) or 'none'}",
        hint="give e.g. task='rte', data='glue', or train='train.tsv', dev='dev.tsv'",
    )
