"""Gradient importance against finite differences of a gate on each head."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from headscope.models import Model
from headscope.runs.ablate import TaskObjective
from headscope.runs.ablate.objectives import Question
from headscope.runs.ablate.work import head_importance
from runs.ablate.made import TASK, classifier, labelled, stream
from tiny import HEADS, WIDTH, place

STEP = 1e-4


def gated_losses(
    model: Model, kind: str, question: Question, layer: int, head: int, gate: float
) -> np.ndarray[Any, Any]:
    """The loss of each example with one head's output multiplied by a gate."""

    def scale(_module: Any, arguments: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        split = arguments[0].unflatten(-1, (HEADS, WIDTH)).clone()
        split[..., head, :] *= gate
        return (split.flatten(-2), *arguments[1:])

    projection = place(model.network.base_model, kind, model.main_stack(), layer)[1]
    hook = projection.register_forward_pre_hook(scale)
    try:
        with torch.inference_mode():
            logits = model.forward(question.batch).logits
    finally:
        hook.remove()
    losses = torch.nn.functional.cross_entropy(logits, question.gold, reduction="none")
    return np.asarray(losses.numpy())


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_importance_is_the_derivative_of_each_examples_loss_by_a_gate_on_the_head(
    kind: str,
) -> None:
    model = classifier(kind)
    model.network.double()
    objective = TaskObjective(model, TASK)
    for batch in stream(model, labelled(), 3):
        question = objective.ask(batch)
        found = head_importance(model, objective, question, model.main_stack())
        for layer, head in ((0, 0), (0, 3), (1, 1)):
            above, below = (
                gated_losses(model, kind, question, layer, head, 1 + step) for step in (STEP, -STEP)
            )
            expected = np.abs(above - below) / (2 * STEP)
            assert found[:, layer, head] == pytest.approx(expected, rel=1e-3, abs=1e-6)
            assert expected.max() > 1e-4
