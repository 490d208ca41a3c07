"""What a model is judged by, as a user says it. Nothing here imports torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headscope.corpus import Corpus, CorpusLike, read
from headscope.errors import UserError, unknown
from headscope.runs.tune.recorded import recorded_task
from headscope.tasks import Task, custom_task, find_task, label_ids, task_examples
from headscope.tasks.files import labelled

DEMO = "demo"
LABELS = ("task", "data", "train", "dev")


@dataclass(frozen=True)
class Judgement:
    """What a model is to be judged by. The parameters are those of :func:`headscope.ablate`."""

    task: str | Task | None = None
    data: str | Path | None = None
    train: CorpusLike | None = None
    dev: CorpusLike | None = None
    corpus: CorpusLike | None = None
    objective: Any = None
    metric: str = ""

    def for_model(self, model: object) -> Judgement:
        """The same; if no task is given, with the one that a tuned model's record names.

        Parameters
        ----------
        model
            A folder that :func:`headscope.tune` made, or any other model, which has no record.

        Raises
        ------
        UserError
            If the model was tuned for a task, and nothing says what it is to be judged by.

        Examples
        --------
        >>> Judgement(dev="dev.tsv").for_model("bert-base-uncased").task is None
        True
        """
        if self._given("task", "train", "corpus", "objective"):
            return self
        task = recorded_task(model) if isinstance(model, str | Path) else None
        if task is None:
            return self
        if not self._given("data", "dev"):
            raise UserError(
                f"{model} was tuned for {task.title}; its examples are needed to judge it",
                hint="give data='glue' (the folder of the task's files), or dev='dev.tsv'",
                command="give --data glue (the folder of the task's files), or --dev dev.tsv",
            )
        return replace(self, task=task)

    def read(self) -> tuple[Task | None, Corpus]:
        """The task of a classifier, or None, and the examples.

        Raises
        ------
        UserError
            If the parameters do not fit together.
        CorpusError
            If a file is missing, or a label is not one of the task's.
        """
        labels = self._given(*LABELS)
        others = self._given("corpus", "objective")
        if labels and others:
            raise UserError(
                "a model is judged by a task, by a corpus or by an objective, got "
                f"{' and '.join([*labels, *others])}",
                hint="give task and data, or dev, or corpus (and an objective)",
                command="give --task and --data, or --dev, or --corpus",
            )
        if labels:
            task, examples = self._labelled()
            if self.metric and self.metric not in task.metrics:
                raise unknown(f"metric of {task.title}", self.metric, task.metrics)
            return task, examples
        if self.objective is None and self.metric not in {"", "loss"}:
            raise UserError(
                f"the metric {self.metric} needs a task",
                hint="give task and data, or leave the metric out",
                command="give --task and --data, or leave --metric out",
            )
        return None, read(DEMO if self.corpus is None else self.corpus)

    def _labelled(self) -> tuple[Task, Corpus]:
        named = find_task(self.task) if isinstance(self.task, str) else self.task
        if named is not None and self._given("data", "train", "dev") == ["data"]:
            return named, task_examples(named, str(self.data), "dev")
        if self.dev is not None and self.data is None:
            table = labelled(self.dev)
            task = named or custom_task(table if self.train is None else labelled(self.train))
            label_ids(task, table)
            return task, table
        raise UserError(
            "a classifier is judged by a task with its data, or by the labelled table dev; got "
            f"{' and '.join(self._given(*LABELS))}",
            hint="give e.g. task='mrpc', data='glue', or dev='dev.tsv'",
            command="give e.g. --task mrpc --data glue, or --dev dev.tsv",
        )

    def _given(self, *names: str) -> list[str]:
        return [name for name in names if getattr(self, name) is not None]
