"""The model, the examples and the objective that the arguments of an ablation stand for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headscope.corpus import Corpus, CorpusLike, read
from headscope.errors import ModelError, UserError
from headscope.models import Model, ModelLike, using_model
from headscope.runs.ablate.objectives import (
    CustomObjective,
    LanguageModelObjective,
    Objective,
    OutputFunction,
    TaskObjective,
)
from headscope.runs.tune.classifier import load_classifier
from headscope.tasks import Task, custom_task, find_task, label_ids, task_examples
from headscope.tasks.files import labelled

DEMO = "demo"
NO_TASK = {
    "hint": "give task and data for a classifier, or choose a masked or causal language model",
    "command": "give --task and --data for a tuned classifier, or choose a masked or causal "
    "language model",
}


@dataclass(frozen=True)
class AblationInputs:
    """What an ablation needs: a model, examples, and what the model is judged by."""

    model: Model
    corpus: Corpus
    objective: Objective


@dataclass(frozen=True)
class Judgement:
    """What a model is to be judged by, as a user gave it. See :func:`headscope.ablate`."""

    task: str | Task | None = None
    data: str | Path | None = None
    train: CorpusLike | None = None
    dev: CorpusLike | None = None
    corpus: CorpusLike | None = None
    objective: Objective | OutputFunction | None = None
    metric: str = ""

    def given(self, *names: str) -> list[str]:
        """Which of some arguments were given."""
        return [name for name in names if getattr(self, name) is not None]


@contextmanager
def ablation_inputs(
    model: ModelLike, judgement: Judgement, *, seed: int, **options: Any
) -> Iterator[AblationInputs]:
    """Load and read what an ablation needs; a network that was wrapped is put back at the end.

    Parameters
    ----------
    model
        See :func:`headscope.models.as_model`.
    judgement
        What the model is judged by.
    seed
        Draws weights that a checkpoint lacks, and the pieces that are masked.
    options
        How a model is loaded by name: device, dtype, revision, allow_pickle, trust_remote_code.
    """
    labels = judgement.given("task", "data", "train", "dev")
    if labels and judgement.given("corpus", "objective"):
        both = " and ".join([labels[0], *judgement.given("corpus", "objective")])
        raise UserError(
            f"a model is judged by a task, by a corpus or by an objective, got {both}",
            hint="give task and data, or dev, or corpus (and an objective)",
            command="give --task and --data, or --dev, or --corpus",
        )
    with ExitStack() as stack:
        if labels:
            task, corpus = task_to_judge(judgement)
            if isinstance(model, str | Path):
                loaded, _ = load_classifier(model, task, seed=seed, **options)
            else:
                loaded = stack.enter_context(using_model(model, **options))
            objective: Objective = TaskObjective(loaded, task, judgement.metric)
        elif judgement.objective is not None:
            objective = as_objective(judgement.objective, judgement.metric)
            corpus = read(DEMO if judgement.corpus is None else judgement.corpus)
            loaded = stack.enter_context(using_model(model, **options))
        else:
            _check_loss(judgement.metric)
            corpus = read(DEMO if judgement.corpus is None else judgement.corpus)
            loaded = stack.enter_context(_language_model(model, options))
            objective = LanguageModelObjective(loaded, seed)
        yield AblationInputs(loaded, corpus, objective)


def task_to_judge(judgement: Judgement) -> tuple[Task, Corpus]:
    """The task of a classifier, and the labelled examples that it is scored on.

    Raises
    ------
    UserError
        If the arguments do not name a task's files or a table.
    """
    task, data, train, dev = judgement.task, judgement.data, judgement.train, judgement.dev
    named = find_task(task) if isinstance(task, str) else task
    if named is not None and data is not None and dev is None and train is None:
        return named, task_examples(named, data, "dev")
    if dev is not None and data is None:
        table = labelled(dev)
        chosen = named or custom_task(table if train is None else labelled(train))
        label_ids(chosen, table)
        return chosen, table
    names = judgement.given("task", "data", "train", "dev")
    raise UserError(
        f"a classifier is judged by a task with its data, or by the labelled table dev; got "
        f"{' and '.join(names)}",
        hint="give e.g. task='mrpc', data='glue', or dev='dev.tsv'",
        command="give e.g. --task mrpc --data glue, or --dev dev.tsv",
    )


def as_objective(objective: Objective | OutputFunction, metric: str = "") -> Objective:
    """An objective, made of a function if necessary.

    Examples
    --------
    >>> def length(output, batch):
    ...     return output.last_hidden_state[:, 0].norm(dim=-1)
    >>> as_objective(length).about()
    {'name': 'length', 'metric': 'mean', 'labels': []}
    """
    if isinstance(objective, Objective):
        if metric and metric != objective.metric:
            raise UserError(
                f"the objective is scored by {objective.metric}, and the metric is {metric}",
                hint="leave the metric out",
            )
        return objective
    if not callable(objective):
        raise UserError(
            f"an objective must be an Objective or a function; got {type(objective).__name__}"
        )
    name = getattr(objective, "__name__", type(objective).__name__)
    return CustomObjective(name, objective, metric=metric or "mean")


def _check_loss(metric: str) -> None:
    if metric not in {"", "loss"}:
        raise UserError(
            f"the metric {metric} needs a task",
            hint="give task and data, or leave the metric out",
            command="give --task and --data, or leave --metric out",
        )


@contextmanager
def _language_model(model: ModelLike, options: dict[str, Any]) -> Iterator[Model]:
    """A model with its language-model head. If it has none, the error says what else to give."""
    head: dict[str, Any] = {"head": "lm"} if isinstance(model, str | Path) else {}
    with ExitStack() as stack:
        try:
            loaded = stack.enter_context(using_model(model, **options, **head))
        except ModelError as error:
            if "language-model head" not in error.message:
                raise
            raise ModelError(f"{error.message}; and no task was given", **NO_TASK) from None
        yield loaded
