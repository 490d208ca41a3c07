"""Gradient head importance (Michel et al. 2019, §4.1): how much the loss changes with a gate ξ on a head's output, at ξ = 1."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.models import LayerView, Model
from headscope.runs.ablate.objective import Objective, Question, example_losses


def head_importance(
    model: Model, objective: Objective, question: Question, stack: str
) -> NDArray[np.float32]:
    """|∂loss/∂ξ| of every head for each example, (example, layer, head): one forward and one backward pass for all.

    With the output of head h written ξ·o, the derivative at ξ = 1 is the sum of o · ∂loss/∂o over tokens and width. The loss is
    a sum over examples, none of which sees another, so one backward pass gives each example its own.
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
    found = [
        (gradient * view.output).sum((1, 3)).abs().float()
        for view, gradient in zip(views, gradients, strict=True)
    ]
    return np.asarray(torch.stack(found, 1).detach().cpu().numpy(), np.float32)
