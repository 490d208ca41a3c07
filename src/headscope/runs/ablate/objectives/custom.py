"""Any function of a model's output as an objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Example
from headscope.encode import Batch
from headscope.errors import UserError
from headscope.identity import code_digest
from headscope.runs.ablate.objectives.base import Objective, Question
from headscope.tasks.metrics import METRICS

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
        functions = [one for one in (self.compute, self.gold) if one is not None]
        return super().about() | {"code": [code_digest(one) for one in functions]}

    def ask(self, batch: Batch) -> Question:
        """The right answers, if there are any."""
        gold = [self.gold(item.example) if self.gold else 0.0 for item in batch.items]
        return Question(batch, torch.tensor(gold))

    def read(self, output: Any, question: Question) -> Tensor:
        """What the function returns."""
        found = torch.as_tensor(self.compute(output, question.batch))
        if found.dim() not in {1, 2} or len(found) != len(question.batch):
            raise UserError(
                f"the objective {self.name} must return one row per example, "
                f"{len(question.batch)} here; got shape {tuple(found.shape)} instead"
            )
        return found.float().reshape(len(found), -1)
