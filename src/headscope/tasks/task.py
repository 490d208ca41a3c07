"""Tasks: their classes, and the metrics that score them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from headscope.errors import unknown

Kind = Literal["classification", "regression"]


@dataclass(frozen=True)
class Task:
    """A task: what a classifier is to say about a text or a pair of texts.

    Parameters
    ----------
    name, title : str
        The name to type, and the one to print.
    kind : {"classification", "regression"}
        What the labels are.
    labels : tuple of str
        The classes, in the order of their indices; none for a regression.
    metrics : tuple of str
        The metrics, the main one first.

    Examples
    --------
    >>> GLUE["rte"].labels
    ('entailment', 'not_entailment')
    """

    name: str
    title: str
    kind: Kind
    labels: tuple[str, ...]
    metrics: tuple[str, ...]

    @property
    def outputs(self) -> int:
        """How many numbers a classifier gives for an example."""
        return len(self.labels) or 1


_BINARY, _ENTAILMENT = ("0", "1"), ("entailment", "not_entailment")
_MNLI = ("entailment", "neutral", "contradiction")
_TASKS = (
    Task("mrpc", "MRPC", "classification", _BINARY, ("f1", "accuracy")),
    Task("sts-b", "STS-B", "regression", (), ("pearson", "spearman")),
    Task("sst-2", "SST-2", "classification", _BINARY, ("accuracy",)),
    Task("qqp", "QQP", "classification", _BINARY, ("f1", "accuracy")),
    Task("rte", "RTE", "classification", _ENTAILMENT, ("accuracy",)),
    Task("qnli", "QNLI", "classification", _ENTAILMENT, ("accuracy",)),
    Task("mnli", "MNLI-m", "classification", _MNLI, ("accuracy",)),
)
GLUE: dict[str, Task] = {task.name: task for task in _TASKS}
"""The seven GLUE tasks of Kovaleva et al. (2019), Table 1, in its order.

Classes are ordered as on the hub; F1 is that of class "1".
"""


def find_task(name: str) -> Task:
    """Find a GLUE task by its name, however it is spelled.

    Raises
    ------
    UserError
        If there is no such task.

    Examples
    --------
    >>> find_task("SST2").name, find_task("mnli-m").title
    ('sst-2', 'MNLI-m')
    """
    for task in _TASKS:
        if plain(name) in {plain(task.name), plain(task.title)}:
            return task
    raise unknown("task", name, GLUE)


def plain(name: str) -> str:
    """A name without case and punctuation: SST-2, sst2 and SST_2 are the same.

    >>> plain("STS-B")
    'stsb'
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())
