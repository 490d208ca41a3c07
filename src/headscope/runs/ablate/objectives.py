"""What a model is judged by while its heads are disabled.

A task's labels, the model's own language-model loss, or any function of its outputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from headscope.corpus import Example
from headscope.encode import Batch
from headscope.errors import ModelError, UserError, unknown
from headscope.identity import code_digest
from headscope.measures.gradients import masked_positions
from headscope.models import Model
from headscope.models.cache import repeated_batch
from headscope.tasks import Task, label_ids
from headscope.tasks.metrics import METRICS


@dataclass(frozen=True)
class Question:
    """A batch as the model gets it, and what the model should answer.

    Parameters
    ----------
    batch
        The input of the model.
    gold
        The right answer for each example, (example,).
    asked, targets
        For language models: which positions are predicted, and the right token at each position,
        both (example, token).
    """

    batch: Batch
    gold: Tensor
    scored: Tensor | None = None
    targets: Tensor | None = None

    def repeated(self, times: int) -> Question:
        """The question with its examples several times, one copy after the other."""
        scored, targets = (
            None if part is None else part.repeat(times, 1) for part in (self.scored, self.targets)
        )
        batch = repeated_batch(self.batch, times)
        return Question(batch, self.gold.repeat(times), scored, targets)


class Objective(ABC):
    """What a model is judged by.

    An objective makes a question of each batch, and reads outputs (example, number) from what the
    model returns. The outputs are kept, and scored by ``metric``.

    Attributes
    ----------
    by_example : bool
        True if the outputs for an example depend on that example alone. Several passes over a small
        batch may then be done at once, as one pass over several copies of its examples.
    """

    by_example = False
    name = ""
    metric = ""
    labels: tuple[str, ...] = ()

    def about(self) -> dict[str, Any]:
        """What identifies the objective in the provenance of results."""
        return {"name": self.name, "metric": self.metric, "labels": list(self.labels)}

    @abstractmethod
    def ask(self, batch: Batch) -> Question:
        """The question that a batch stands for."""

    @abstractmethod
    def read(self, output: Any, question: Question) -> Tensor:
        """The outputs for each example, (example, number)."""

    @contextmanager
    def asking(self, _question: Question) -> Iterator[None]:
        """Entered around every pass of the model over the question."""
        yield


def example_losses(metric: str, outputs: Tensor, gold: Tensor) -> Tensor:
    """The loss of each example, which can be differentiated.

    Parameters
    ----------
    metric
        Accuracy and F1 give the cross-entropy, correlations the squared error, ``loss`` the output
        itself, and ``mean`` its negative.
    outputs
        (example, number).
    gold
        The right answers, (example,).
    """
    gold = gold.to(outputs.device)
    about = METRICS[metric]
    if about.outputs == "classes":
        return cross_entropy(outputs, gold.long(), reduction="none")
    if about.outputs == "number":
        return (outputs[:, 0] - gold.float()) ** 2
    return -about.sign * outputs[:, 0]


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
        outputs = int(model.config.num_labels) if classifies else 0
        if outputs != task.outputs:
            has = f"{outputs} outputs" if outputs else "no classifier"
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


class LanguageModelObjective(Objective):
    """A masked or causal language model, judged by its own loss.

    The loss of an example is the mean cross-entropy of its masked pieces (the same ones for the
    same seed), or of all its next tokens.

    Parameters
    ----------
    model
        A model with its language-model head: ``headscope.load(name, head="lm")``.
    seed
        Chooses the masked pieces.

    Raises
    ------
    ModelError
        If the model has no language-model head, is an encoder-decoder, or has no mask token.
    """

    by_example = True
    metric = "loss"

    def __init__(self, model: Model, seed: int = 0) -> None:
        if "lm" not in model.capabilities or model.encoder_decoder:
            why = (
                "is an encoder-decoder, whose loss is not supported"
                if model.encoder_decoder
                else "has no language-model head"
            )
            raise ModelError(
                f"{model.name} {why}; and no task was given",
                hint="load a masked or causal language model with head='lm', or give task= and "
                "data= for a tuned classifier",
            )
        self.model, self.seed = model, seed
        self.causal = model.causal(model.main_stack())
        self.name = "causal language model" if self.causal else "masked language model"
        if not self.causal and model.tokenizer.mask_token_id is None:
            raise ModelError(
                f"the tokenizer of {model.name} has no mask token",
                hint="choose a masked language model, or give its tokenizer a mask token",
            )

    def ask(self, batch: Batch) -> Question:
        """Mask some pieces, or ask for every next token."""
        ids = torch.from_numpy(batch.ids).to(self.model.device)
        scored = torch.zeros_like(ids, dtype=torch.bool)
        none = torch.zeros(len(batch), device=ids.device)
        if self.causal:
            scored[:, :-1] = torch.from_numpy(batch.mask[:, 1:]).to(ids.device)
            return Question(batch, none, scored, ids.roll(-1, 1))
        for row, item in enumerate(batch.items):
            positions = torch.from_numpy(masked_positions(item, self.seed))
            scored[row, : len(item)] = positions.to(ids.device)
        masked = np.where(scored.cpu().numpy(), self.model.tokenizer.mask_token_id, batch.ids)
        return Question(replace(batch, ids=masked), none, scored, ids)

    def read(self, output: Any, question: Question) -> Tensor:
        """The mean loss of each example; NaN if nothing is predicted."""
        scored, targets = _scored(question)
        logits = output.logits.flatten(0, 1)
        if len(logits) == scored.numel():  # a head that got all positions, see asking
            logits = logits[scored.flatten()]
        losses = cross_entropy(logits.float(), targets[scored], reduction="none")
        rows = scored.nonzero()[:, 0]
        total = torch.zeros(len(scored), device=losses.device).index_add(0, rows, losses)
        return (total / scored.sum(1))[:, None]

    @contextmanager
    def asking(self, question: Question) -> Iterator[None]:
        """Let the head see only the positions that are predicted.

        The head is the most expensive layer of a small model.
        """
        scored, _ = _scored(question)

        def choose(_module: torch.nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
            hidden = arguments[0]
            if hidden.shape[:2] != scored.shape:
                return None
            return (hidden[scored][None], *arguments[1:])

        head = self.model.network.get_output_embeddings()
        with nullcontext() if head is None else head.register_forward_pre_hook(choose):
            yield


def _scored(question: Question) -> tuple[Tensor, Tensor]:
    if question.scored is None or question.targets is None:
        raise UserError(
            "the question predicts no positions", hint="make it with LanguageModelObjective.ask"
        )
    return question.scored, question.targets


OutputFunction = Callable[[Any, Batch], Tensor | NDArray[Any]]
"""Takes the model's output and the batch; returns one number, or several, per example."""


class CustomObjective(Objective):
    """Any function of the model's output.

    Parameters
    ----------
    name
        The name in results.
    compute
        Takes the model's output and the batch, and returns (example,) or (example, number).
    metric
        How outputs are scored: ``"mean"`` (more is better) and ``"loss"`` (less is better) average
        them; accuracy, f1, pearson and spearman compare them with ``gold``.
    gold
        The right answer for an example.

    Examples
    --------
    >>> def first(output, batch):
    ...     return output.last_hidden_state[:, 0].norm(dim=-1)
    >>> CustomObjective("length of [CLS]", first).metric
    'mean'
    """

    def __init__(
        self,
        name: str,
        compute: OutputFunction,
        *,
        metric: str = "mean",
        gold: Callable[[Example], float] | None = None,
    ) -> None:
        if gold is None and METRICS[metric].outputs != "value":
            raise UserError(
                f"the metric {metric} needs the right answers",
                hint="give gold, a function of an example",
            )
        self.name, self.metric, self.compute, self.gold = name, metric, compute, gold

    def about(self) -> dict[str, Any]:
        """With a digest of the functions' code, so that a changed one makes another run."""
        functions = (self.compute, self.gold)
        return super().about() | {"code": [code_digest(part) for part in functions if part]}

    def ask(self, batch: Batch) -> Question:
        """The right answers, if there are any."""
        gold = [self.gold(item.example) if self.gold else 0.0 for item in batch.items]
        return Question(batch, torch.tensor(gold))

    def read(self, output: Any, question: Question) -> Tensor:
        """What the function returns."""
        values = torch.as_tensor(self.compute(output, question.batch))
        if values.dim() not in {1, 2} or len(values) != len(question.batch):
            raise UserError(
                f"the objective {self.name} must return one row per example, "
                f"{len(question.batch)} here; got shape {tuple(values.shape)} instead"
            )
        return values.float().reshape(len(values), -1)


def as_objective(objective: Objective | OutputFunction, metric: str = "") -> Objective:
    """An objective, made of a function if necessary.

    Examples
    --------
    >>> def length(output, batch):
    ...     return output.last_hidden_state[:, 0].norm(dim=-1)
    >>> as_objective(length).name
    'length'
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
