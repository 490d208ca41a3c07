"""Loading a model with a classifier on top: a trained one from its checkpoint, a new one on a pretrained encoder, or random from the ground up (K4)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import (
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    AutoModelForSequenceClassification,
)

from headscope.errors import ModelError
from headscope.models import Model, load
from headscope.tasks.task import Task

SPREAD = 0.02
"""The standard deviation of random weights, as in the paper."""


def load_classifier(
    name: str | Path,
    task: Task | None = None,
    *,
    seed: int = 0,
    random: bool = False,
    **options: Any,
) -> tuple[Model, list[str]]:
    """A model with its classifier, and notes on what in it was never trained.

    Without a task the classes are those of the checkpoint. A task gives them names and numbers; where the checkpoint has the same names in
    another order, its order stands (see :func:`task_for`). Weights that the checkpoint lacks are drawn with ``seed``; ``random`` draws all.
    ``options`` are those of :func:`headscope.load`.
    """
    head = _Head(str(name), task, random=random)
    model = load(name, head=head, seed=seed, **options)
    _pad(model)
    model.notes += head.notes
    return model, head.notes


def task_for(model: Model, task: Task) -> Task:
    """The task with its classes in the order in which a model's classifier has them."""
    names = _names(model.config)
    return (
        replace(
            task, labels=tuple(sorted(task.labels, key=lambda label: names.index(label.lower())))
        )
        if _same(names, task)
        else task
    )


class _Head:
    """Stands where :func:`headscope.load` takes an auto class, so that the classes are set before the weights are read, and what is missing is known."""

    def __init__(self, name: str, task: Task | None, *, random: bool) -> None:
        self.name, self.task, self.random = name, task, random
        self.notes: list[str] = []

    def from_pretrained(
        self, place: str, *, config: Any, dtype: torch.dtype, **options: Any
    ) -> tuple[Any, dict[str, Any]]:
        """The network and what transformers tells of its loading."""
        if (
            type(config) not in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING
            or config.is_encoder_decoder
        ):
            raise ModelError(f"classifiers on top of {config.model_type} are not supported")
        if self.task is not None:
            self._fit(config, self.task)
        if self.random:
            network = AutoModelForSequenceClassification.from_config(config, dtype=dtype)
            draw_normal(network)
            return network, {}
        network, info = AutoModelForSequenceClassification.from_pretrained(
            place, config=config, dtype=dtype, **options
        )
        self._account(network, info)
        return network, info

    def _fit(self, config: Any, task: Task) -> None:
        """The task's classes, unless the checkpoint already names them."""
        config.problem_type = "single_label_classification" if task.labels else "regression"
        if not _same(_names(config), task):
            config.num_labels = task.outputs
            config.id2label = dict(enumerate(task.labels or ("score",)))
            config.label2id = {label: index for index, label in config.id2label.items()}

    def _account(self, network: Any, info: dict[str, Any]) -> None:
        """Take what belongs to the classifier out of the list of wrongs: it is new, and a note says so."""
        inside = f"{network.base_model_prefix}."
        mismatched = {key[0] if isinstance(key, tuple) else key for key in info["mismatched_keys"]}
        new = sorted(
            key
            for key in {*info["missing_keys"], *mismatched}
            if not key.startswith(inside) or "pooler" in key
        )
        info["missing_keys"] = [key for key in info["missing_keys"] if key not in new]
        info["mismatched_keys"] = [
            key
            for key in info["mismatched_keys"]
            if (key[0] if isinstance(key, tuple) else key) not in new
        ]
        if new:
            self.notes.append(
                f"the classifier of {self.name} was never trained for this: {len(new)} of its weights are random ({', '.join(new)})"
            )


def draw_normal(network: Any) -> None:
    """Draw every matrix from normal(0, 0.02); biases and LayerNorms stay as the architecture begins them (0 and 1)."""
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, SPREAD)


def _names(config: Any) -> list[str]:
    return [str(config.id2label[index]).lower() for index in sorted(config.id2label)]


def _same(names: list[str], task: Task) -> bool:
    return bool(task.labels) and sorted(names) == sorted(label.lower() for label in task.labels)


def _pad(model: Model) -> None:
    """A causal classifier finds the last real token by the padding that follows it: GPT-2 has no padding token, so that its end token must do."""
    tokenizer = model.tokenizer
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    if tokenizer.pad_token_id is None:
        raise ModelError(
            f"the tokenizer of {model.name} has no token for padding, nor one for the end of a text",
            hint="set its pad_token and save it again",
        )
    model.config.pad_token_id = tokenizer.pad_token_id
