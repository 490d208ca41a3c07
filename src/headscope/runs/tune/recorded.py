"""The task of a tuned folder, from its record. Nothing here imports torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.errors import UserError, cut
from headscope.seals import unsealed
from headscope.tasks.task import Task

RECORD = "headscope-tune.json"
"""The name of the record, beside the weights."""


def task_of(record: Mapping[str, Any]) -> Task:
    """The task that a record names.

    Examples
    --------
    >>> rte = {"name": "rte", "title": "RTE", "kind": "classification"}
    >>> task_of({"task": rte | {"labels": ["yes", "no"], "metrics": ["accuracy"]}}).labels
    ('yes', 'no')
    """
    task = record["task"]
    lists = {"labels": tuple(task["labels"]), "metrics": tuple(task["metrics"])}
    return Task(**{**task, **lists})


def recorded_task(folder: str | Path) -> Task | None:
    """The task that a model was tuned for, its classes in the order of the classifier's outputs.

    Parameters
    ----------
    folder
        A hub id or a folder.

    Returns
    -------
    Task or None
        None if there is no record there: the model was not tuned by Headscope.

    Raises
    ------
    UserError
        If there is a record that cannot be read.

    Examples
    --------
    >>> recorded_task("bert-base-uncased") is None
    True
    """
    path = Path(folder) / RECORD
    if not path.is_file():
        return None
    try:
        return task_of(unsealed(json.loads(path.read_text(encoding="utf-8"))))
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RuntimeError,
        ArithmeticError,
    ) as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: Exception) -> UserError:
    """A record that cannot be read."""
    return UserError(
        f"{path} cannot be read: {cut(str(error), 300)}", hint="delete the folder and tune again"
    )
