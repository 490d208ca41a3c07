"""The labels of a task as an objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.errors import ModelError, UserError, unknown
from headscope.models import Model
from headscope.runs.ablate.objectives.base import Objective, Question
from headscope.tasks import Task, label_ids


class TaskObjective(Objective):
    """A sequence classifier (or regression), judged by the labels of its task.

    Parameters
    ----------
    model
        A model with a classifier for the task, see :func:`headscope.runs.tune.load_classifier`.
    task
        The task.
    metric
        One of the task's metrics. The default is its main one.

    Raises
    ------
    ModelError
        If the model has no classifier with the task's number of outputs.
    """

    by_example = True

    def __init__(self, model: Model, task: Task, metric: str = "") -> None:
        if metric and metric not in task.metrics:
            raise unknown(f"metric of {task.title}", metric, task.metrics)
        self.model, self.task = model, task
        self.name, self.metric, self.labels = task.name, metric or task.metrics[0], task.labels
        if task.labels and len(task.labels) < 2:
            raise UserError(
                f"a task needs two classes or more; {task.title} has only {task.labels[0]!r}",
                hint="give examples with at least two different labels",
            )
        classifies = "SequenceClassification" in type(model.network).__name__
        found = int(model.config.num_labels) if classifies else 0
        if found != task.outputs:
            has = f"{found} outputs" if found else "no classifier"
            raise ModelError(
                f"{model.name} has {has}, and {task.title} needs {task.outputs}",
                hint=f"give a checkpoint that was tuned for {task.title}, see headscope.tune",
                command=f"give a checkpoint that was tuned for {task.title}, see headscope tune",
            )
        self.columns = label_columns(model.config, task.labels)

    def about(self) -> dict[str, Any]:
        """With the whole task."""
        return super().about() | {"task": asdict(self.task) | {"title": ""}}

    def ask(self, batch: Batch) -> Question:
        """The labels of the examples."""
        gold = label_ids(self.task, [item.example for item in batch.items])
        return Question(batch, torch.from_numpy(gold).to(self.model.device))

    def read(self, output: Any, _question: Question) -> Tensor:
        """The logits, in the order of the task's labels."""
        logits: Tensor = output.logits.float()
        return logits[:, self.columns] if self.columns else logits


def label_columns(config: Any, labels: Sequence[str]) -> list[int]:
    """Which output of a checkpoint stands for which label.

    Parameters
    ----------
    config
        The checkpoint's configuration, which may name its outputs.
    labels
        The labels of the task.

    Returns
    -------
    list of int
        One column per label; empty if the checkpoint does not name the same labels, and its
        outputs are taken to be in the task's order.
    """
    named = {str(name).lower(): int(index) for index, name in (config.id2label or {}).items()}
    if not labels or set(named) != {label.lower() for label in labels}:
        return []
    return [named[label.lower()] for label in labels]
