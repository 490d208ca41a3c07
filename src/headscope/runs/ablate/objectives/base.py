"""What every objective does, and the loss of single examples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.models.layer_cache import repeated_batch
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
    asked: Tensor | None = None
    targets: Tensor | None = None

    def repeated(self, times: int) -> Question:
        """The question with its examples several times, one copy after the other."""
        asked, targets = (
            None if one is None else one.repeat(times, 1) for one in (self.asked, self.targets)
        )
        batch = repeated_batch(self.batch, times)
        return Question(batch, self.gold.repeat(times), asked, targets)


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
        return torch.nn.functional.cross_entropy(outputs, gold.long(), reduction="none")
    if about.outputs == "number":
        return (outputs[:, 0] - gold.float()) ** 2
    return -about.sign * outputs[:, 0]
