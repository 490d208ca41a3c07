"""Checkpoints that were fine-tuned elsewhere: checked, and scored on a task."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from transformers import AutoConfig

from headscope.corpus import Corpus
from headscope.errors import ModelError
from headscope.models import Model
from headscope.runs.survey.comparison import check_alike
from headscope.runs.tune.classifier import class_names, load_classifier, same_classes, task_for
from headscope.runs.tune.rows import encode_rows, predict
from headscope.tasks.metrics import score
from headscope.tasks.task import Task

COMPARED = 3
"""Examples on which the tokens of two models are compared."""


@dataclass(frozen=True)
class CheckpointScores:
    """How good a checkpoint is at a task.

    Attributes
    ----------
    scores
        The task's metrics on the dev examples, from 0 to 1 (correlations from -1).
    examples
        How many dev examples there were.
    notes
        What a reader of the scores should know.
    """

    scores: dict[str, float]
    examples: int
    notes: tuple[str, ...]


def score_checkpoint(
    place: str | Path,
    task: Task,
    dev: Corpus,
    *,
    like: Model | None = None,
    max_length: int = 128,
    batch_size: int = 32,
    device: str = "cpu",
) -> CheckpointScores:
    """Check that a checkpoint is a classifier for a task, and score it.

    Parameters
    ----------
    place
        A folder or a hub id, fine-tuned by anybody.
    task
        What it was tuned for.
    dev
        The examples to score it on.
    like
        The model that it was tuned from: its heads and its tokens must be the same.
    max_length, batch_size, device
        As in :func:`headscope.runs.tune.tune`.

    Returns
    -------
    CheckpointScores
        With a note if the checkpoint's classes have other names, so that their order is assumed to
        be the task's.

    Raises
    ------
    ModelError
        The checkpoint has no trained classifier with the task's classes, or has other heads or
        other tokens than ``like``.
    """
    model = check_checkpoint(place, task, dev, like=like, device=device)
    ordered = task_for(model, task)
    rows, skipped = encode_rows(model, ordered, dev, max_length=max_length)
    found = score(ordered, predict(model, rows, batch_size=batch_size), rows.labels)
    return CheckpointScores(found, len(rows), (*_class_notes(place, task), *skipped))


def check_checkpoint(
    place: str | Path, task: Task, dev: Corpus, *, like: Model | None = None, device: str = "cpu"
) -> Model:
    """Check that a checkpoint is a trained classifier for a task.

    Parameters
    ----------
    place, task, dev, like, device
        As in :func:`score_checkpoint`.

    Returns
    -------
    Model
        The checkpoint with its classifier.

    Raises
    ------
    ModelError
        As in :func:`score_checkpoint`.
    """
    model, untrained = load_classifier(place, task, device=device)
    if untrained:
        raise ModelError(
            f"{place} cannot be used for {task.title}: {untrained[0]}",
            hint="give a checkpoint that was fine-tuned for this task",
        )
    if like is not None:
        check_alike(like, model, like.main_stack())
        check_tokens(like, model, dev)
    return model


def check_tokens(first: Model, second: Model, corpus: Corpus) -> None:
    """Check on a few examples that two models have the same tokens.

    Raises
    ------
    ModelError
        They have not: their maps cannot be compared.
    """
    encoders = [
        model.encoder(max_length=64, long="truncate", stack=model.main_stack())
        for model in (first, second)
    ]
    for example in islice(corpus, COMPARED):
        one, other = (
            [item.ids.tolist() for item in encoder.encode([example])] for encoder in encoders
        )
        if one != other:
            raise ModelError(
                f"{first.name} and {second.name} have different tokenizers: they make different "
                f"tokens of example {example.id}",
                hint="compare models of one shape and one tokenizer",
            )


def _class_notes(place: str | Path, task: Task) -> list[str]:
    """A note if the checkpoint calls its classes by other names than the task."""
    if not task.labels:
        return []
    # The loaded model's config has the task's names by now, so the checkpoint's is read again.
    names = class_names(AutoConfig.from_pretrained(str(place)))
    if same_classes(names, task):
        return []
    return [
        f"the classes of {place} are called {', '.join(names)}: they are taken to be "
        f"{', '.join(task.labels)}, in this order"
    ]
