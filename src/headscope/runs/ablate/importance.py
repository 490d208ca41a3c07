"""Gradient importance of heads (Michel et al. 2019, §4.1)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.models import LayerView, Model
from headscope.runs.ablate.objectives import Objective, Question, example_losses


def head_importance(
    model: Model, objective: Objective, question: Question, stack: str
) -> NDArray[np.float32]:
    """How much each example's loss depends on a gate ξ on each head's output, |∂loss/∂ξ| at ξ = 1.

    With the output of a head written ξ·o, the derivative is the sum of o · ∂loss/∂o over tokens and
    width. The total loss is a sum over examples, none of which sees another, so one forward and one
    backward pass give each example its own.

    Parameters
    ----------
    model, objective
        The model, and what it is judged by.
    question
        A batch that the objective made.
    stack
        The stack whose heads are meant.

    Returns
    -------
    array
        (example, layer, head).

    References
    ----------
    Michel et al. 2019, "Are Sixteen Heads Really Better than One?", §4.1.
    """
    views: list[LayerView] = []

    def listen(view: LayerView) -> None:
        if view.stack == stack:
            views.append(view)

    with torch.enable_grad(), objective.asking(question):
        outputs = objective.read(model.forward(question.batch, listeners=[listen]), question)
        losses = example_losses(objective.metric, outputs, question.gold)
        gradients = torch.autograd.grad(
            losses.nan_to_num(0.0).sum(), [view.output for view in views]
        )
    layers = [
        (gradient * view.output).sum((1, 3)).abs().float()
        for view, gradient in zip(views, gradients, strict=True)
    ]
    return np.asarray(torch.stack(layers, 1).detach().cpu().numpy(), np.float32)
