"""What a model is judged by while its heads are off: a task's labels, its own language-model loss, or any function of its outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Example
from headscope.encode import Batch
from headscope.errors import ModelError, UserError, unknown
from headscope.measures.gradient import masked_positions
from headscope.models import Model
from headscope.tasks import Task, label_ids
from headscope.tasks.metrics import METRICS


@dataclass(frozen=True)
class Question:
    """A batch as the model gets it, what it should answer (one number an example), and for language models where it is asked for which token."""

    batch: Batch
    gold: Tensor
    asked: Tensor | None = None  # (batch, token)
    targets: Tensor | None = None  # (batch, token)


class Objective(ABC):
    """Turns a batch into a question, and what the model gives into ``outputs`` (example, number) that are kept and scored by ``metric``."""

    name = ""
    metric = ""
    labels: tuple[str, ...] = ()

    def about(self) -> dict[str, Any]:
        """What identifies the objective in the provenance."""
        return {"name": self.name, "metric": self.metric, "labels": list(self.labels)}

    @abstractmethod
    def ask(self, batch: Batch) -> Question:
        """The question that a batch is."""

    @abstractmethod
    def read(self, output: Any, question: Question) -> Tensor:
        """What the model's output says of each example, (example, number)."""

    @contextmanager
    def asking(self, _question: Question) -> Iterator[None]:
        """Around every pass of the model over the question."""
        yield


class Labels(Objective):
    """A sequence classifier (or regression) and the labels of its task."""

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
        found = (
            int(model.config.num_labels)
            if "SequenceClassification" in type(model.network).__name__
            else 0
        )
        if found != task.outputs:
            what = f"{found} outputs" if found else "no classifier"
            raise ModelError(
                f"{model.name} has {what}, and {task.title} needs {task.outputs}",
                hint=f"give a checkpoint that was tuned for {task.title}: headscope tune",
            )
        self.columns = label_columns(model.config, task.labels)

    def ask(self, batch: Batch) -> Question:
        """The labels of the examples."""
        return Question(
            batch,
            torch.from_numpy(label_ids(self.task, [item.example for item in batch.items])).to(
                self.model.device
            ),
        )

    def read(self, output: Any, _question: Question) -> Tensor:
        """The logits, in the order of the task's labels."""
        logits: Tensor = output.logits.float()
        return logits[:, self.columns] if self.columns else logits


def label_columns(config: Any, labels: Sequence[str]) -> list[int]:
    """Which output stands for which label, where the checkpoint names the same labels; else none: the order is taken to be the task's."""
    named = {str(name).lower(): int(index) for index, name in (config.id2label or {}).items()}
    return (
        [named[label.lower()] for label in labels]
        if labels and set(named) == {label.lower() for label in labels}
        else []
    )


class LanguageModel(Objective):
    """A masked or causal language model and its own loss: the mean cross-entropy of an example's masked pieces (always the same ones for a seed), or of its next tokens."""

    metric = "loss"

    def __init__(self, model: Model, seed: int) -> None:
        if "lm" not in model.capabilities or model.encoder_decoder:
            why = (
                "is an encoder and a decoder, whose loss is not supported"
                if model.encoder_decoder
                else "has no language-model head"
            )
            raise ModelError(
                f"{model.name} {why}, and no task was given",
                hint="give --task and --data for a tuned classifier, or choose a masked or causal language model",
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
        """Mask pieces, or ask for every next token."""
        ids = torch.from_numpy(batch.ids).to(self.model.device)
        asked = torch.zeros_like(ids, dtype=torch.bool)
        none = torch.zeros(len(batch), device=ids.device)
        if self.causal:
            asked[:, :-1] = torch.from_numpy(batch.mask[:, 1:]).to(ids.device)
            return Question(batch, none, asked, ids.roll(-1, 1))
        for row, item in enumerate(batch.items):
            asked[row, : len(item)] = torch.from_numpy(masked_positions(item, self.seed)).to(
                ids.device
            )
        masked = np.where(asked.cpu().numpy(), self.model.tokenizer.mask_token_id, batch.ids)
        return Question(replace(batch, ids=masked), none, asked, ids)

    def read(self, output: Any, question: Question) -> Tensor:
        """The mean loss of each example; NaN where nothing is asked."""
        asked, targets = _known(question)
        logits = output.logits.flatten(0, 1)
        if (
            len(logits) == asked.numel()
        ):  # the head has seen every position, as where it could not be told
            logits = logits[asked.flatten()]
        losses = torch.nn.functional.cross_entropy(logits.float(), targets[asked], reduction="none")
        rows = asked.nonzero()[:, 0]
        return (
            torch.zeros(len(asked), device=losses.device).index_add(0, rows, losses) / asked.sum(1)
        )[:, None]

    @contextmanager
    def asking(self, question: Question) -> Iterator[None]:
        """The head is the dearest layer of a small model: let it see only the positions that are asked for."""
        asked, _ = _known(question)

        def choose(_module: torch.nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
            hidden = arguments[0]
            return (
                (hidden[asked][None], *arguments[1:]) if hidden.shape[:2] == asked.shape else None
            )

        head = self.model.network.get_output_embeddings()
        hook = head.register_forward_pre_hook(choose) if head is not None else None
        try:
            yield
        finally:
            if hook is not None:
                hook.remove()


def _known(question: Question) -> tuple[Tensor, Tensor]:
    if question.asked is None or question.targets is None:
        raise UserError(
            "the question has no asked positions", hint="make it with LanguageModel.ask"
        )
    return question.asked, question.targets


class Probe(Objective):
    """Any function of the model's output and the batch that gives a number (or several) an example; ``gold`` says what it should be.

    Without ``gold`` the outputs themselves are averaged, and more is better: metric "mean"; "loss" averages them, and less is better.
    """

    def __init__(
        self,
        name: str,
        compute: Callable[[Any, Batch], Tensor | NDArray[Any]],
        *,
        device: Any = "cpu",
        metric: str = "mean",
        gold: Callable[[Example], float] | None = None,
    ) -> None:
        if gold is None and METRICS[metric].outputs != "value":
            raise UserError(
                f"the metric {metric} needs the right answers",
                hint="give gold, a function of an example",
            )
        self.name, self.metric, self.compute, self.gold, self.device = (
            name,
            metric,
            compute,
            gold,
            device,
        )

    def ask(self, batch: Batch) -> Question:
        """The right answers, if there are any."""
        gold = [self.gold(item.example) if self.gold else 0.0 for item in batch.items]
        return Question(batch, torch.tensor(gold, device=self.device))

    def read(self, output: Any, question: Question) -> Tensor:
        """What the function gives."""
        found = torch.as_tensor(self.compute(output, question.batch)).to(self.device)
        if found.dim() not in {1, 2} or len(found) != len(question.batch):
            raise UserError(
                f"the probe {self.name} must give one row an example, {len(question.batch)} here; got shape {tuple(found.shape)} instead"
            )
        return found.float().reshape(len(found), -1)


def example_losses(metric: str, outputs: Tensor, gold: Tensor) -> Tensor:
    """One loss an example, which can be differentiated: cross-entropy, squared error, or the outputs themselves (example, number)."""
    about = METRICS[metric]
    if about.outputs == "classes":
        return torch.nn.functional.cross_entropy(outputs, gold.long(), reduction="none")
    if about.outputs == "number":
        return (outputs[:, 0] - gold.float()) ** 2
    return -about.sign * outputs[:, 0]
