"""Models with a classifier on top: trained, new on a pretrained encoder, or random throughout.

Checkpoints that were fine-tuned elsewhere are checked, and scored on a task.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from transformers import (
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    AutoConfig,
    AutoModelForSequenceClassification,
)

from headscope.corpus import Corpus
from headscope.errors import ModelError
from headscope.models import Model, load
from headscope.runs.survey.comparison import check_alike
from headscope.runs.tune.rows import encode_rows, predict
from headscope.tasks.metrics import score
from headscope.tasks.task import Task

SPREAD = 0.02
"""The standard deviation of random weights (Kovaleva et al. 2019, Table 1)."""
COMPARED = 3
"""Examples on which the tokens of two models are compared."""


def load_classifier(
    name: str | Path,
    task: Task | None = None,
    *,
    title: str = "",
    seed: int = 0,
    random: bool = False,
    **loading: Any,
) -> tuple[Model, list[str]]:
    """Load a model with a classifier.

    Parameters
    ----------
    name
        A hub id, a folder, or ``"demo"``.
    task
        Names the classes. If the checkpoint has classes of the same names in another order, its
        order stands (see :func:`task_for`). Without a task the classes are those of the checkpoint.
    title
        The name that messages and results show, if it is not ``name``.
    seed
        Draws the weights that the checkpoint lacks.
    random
        Draw all weights, those of the encoder too, from normal(0, 0.02).
    loading
        As in :func:`headscope.load`: device, dtype, revision …

    Returns
    -------
    model : Model
    notes : list of str
        Which weights of the classifier were never trained; empty if all were.

    Raises
    ------
    ModelError
        If the architecture has no classifier, or is an encoder-decoder.

    See Also
    --------
    headscope.runs.tune.load_pooled : a classifier on a layer or on heads.

    Examples
    --------
    >>> model, notes = load_classifier("demo")
    >>> notes[0]  # doctest: +ELLIPSIS
    'the classifier of demo was never trained for this task: 2 of its weights are random (...'
    """
    auto = _ClassifierClass(title or str(name), task, random=random)
    model = _named_and_padded(partial(load, name, head=auto, seed=seed, **loading), title)
    assert model.reload is not None
    model.reload = partial(_named_and_padded, model.reload, title)
    model.notes += auto.notes
    return model, auto.notes


def _named_and_padded(load_model: Callable[[], Model], title: str) -> Model:
    """A classifier that is loaded, now or again where a worker needs it."""
    model = load_model()
    model.name = title or model.name
    _set_padding(model)
    return model


def task_for(model: Model, task: Task) -> Task:
    """The task with its classes in the order of a model's classifier.

    Parameters
    ----------
    model
        A model with a classifier.
    task
        Returned unchanged if the classifier names other classes.
    """
    names = class_names(model.config)
    if not same_classes(names, task):
        return task
    ordered = sorted(task.labels, key=lambda label: names.index(label.lower()))
    return replace(task, labels=tuple(ordered))


class _ClassifierClass:
    """Takes the place of a transformers auto class in :func:`headscope.load`.

    It sets the classes before the weights are read, and learns which weights are missing.
    """

    def __init__(self, name: str, task: Task | None, *, random: bool) -> None:
        self.name, self.task, self.random = name, task, random
        self.notes: list[str] = []

    def from_pretrained(
        self, place: str, *, config: Any, dtype: torch.dtype, **options: Any
    ) -> tuple[Any, dict[str, Any]]:
        """The network, and transformers' report on loading it."""
        if (
            type(config) not in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING
            or config.is_encoder_decoder
        ):
            raise ModelError(f"classifiers on top of {config.model_type} are not supported")
        if self.task is not None:
            self._set_classes(config, self.task)
        if self.random:
            network = AutoModelForSequenceClassification.from_config(config, dtype=dtype)
            draw_normal(network)
            return network, {}
        network, info = AutoModelForSequenceClassification.from_pretrained(
            place, config=config, dtype=dtype, **options
        )
        self._note_new_weights(network, info)
        return network, info

    def _set_classes(self, config: Any, task: Task) -> None:
        """Put the task's classes in the config, unless the checkpoint already names them."""
        config.problem_type = "single_label_classification" if task.labels else "regression"
        if not same_classes(class_names(config), task):
            config.num_labels = task.outputs
            config.id2label = dict(enumerate(task.labels or ("score",)))
            config.label2id = {label: index for index, label in config.id2label.items()}

    def _note_new_weights(self, network: Any, info: dict[str, Any]) -> None:
        """Note the classifier's new weights, and take them off the list of missing weights."""
        inside = f"{network.base_model_prefix}."
        lacking = {*info["missing_keys"], *map(_weight_name, info["mismatched_keys"])}
        new = sorted(key for key in lacking if not key.startswith(inside) or "pooler" in key)
        for kind in ("missing_keys", "mismatched_keys"):
            info[kind] = [key for key in info[kind] if _weight_name(key) not in new]
        if new:
            self.notes.append(
                f"the classifier of {self.name} was never trained for this task: "
                f"{len(new)} of its weights are random ({', '.join(new)})"
            )


def draw_normal(network: Any) -> None:
    """Draw every matrix from normal(0, 0.02).

    Biases and LayerNorms keep the values that the architecture starts with, 0 and 1.
    """
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, SPREAD)


def _weight_name(key: Any) -> str:
    """The name of a weight; transformers reports mismatched ones as (name, shape, shape)."""
    return str(key[0] if isinstance(key, tuple) else key)


def class_names(config: Any) -> list[str]:
    """The names of a checkpoint's classes, in lower case."""
    return [str(config.id2label[index]).lower() for index in sorted(config.id2label)]


def same_classes(names: list[str], task: Task) -> bool:
    """Whether a checkpoint's classes are a task's, in any order."""
    return bool(task.labels) and sorted(names) == sorted(label.lower() for label in task.labels)


def _set_padding(model: Model) -> None:
    """Make sure that there is a padding token.

    A causal classifier finds the last real token by the padding after it. GPT-2 has no padding
    token, so its end token is used.
    """
    tokenizer = model.tokenizer
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    if tokenizer.pad_token_id is None:
        raise ModelError(
            f"the tokenizer of {model.name} has neither a padding token nor an end token",
            hint="set its pad_token and save it again",
        )
    model.config.pad_token_id = tokenizer.pad_token_id


# --- checkpoints that were fine-tuned elsewhere ---


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
    scores = score(ordered, predict(model, rows, batch_size=batch_size), rows.labels)
    # The loaded model's config has the task's names by now, so the checkpoint's is read again.
    names = class_names(AutoConfig.from_pretrained(str(place)))
    if task.labels and not same_classes(names, task):
        skipped = [
            f"the classes of {place} are called {', '.join(names)}: they are taken to be "
            f"{', '.join(task.labels)}, in this order",
            *skipped,
        ]
    return CheckpointScores(scores, len(rows), tuple(skipped))


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
        _check_tokens(like, model, dev)
    return model


def _check_tokens(first: Model, second: Model, corpus: Corpus) -> None:
    """Check on a few examples that two models have the same tokens: else no map is comparable."""
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
