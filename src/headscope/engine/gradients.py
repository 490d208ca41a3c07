"""The gradient of the language-model loss by every map of a batch: one forward and one backward pass for all layers."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.measures.gradient import masked_positions, mean_loss
from headscope.observe import LayerView, Model


def map_gradients(model: Model, batch: Batch, stack: str, seed: int) -> list[tuple[LayerView, Tensor]]:
    """Each layer with ∂loss/∂α, (batch, head, query, key). The maps are part of the graph: our attention function is the model's own."""
    views: list[LayerView] = []

    def listen(view: LayerView) -> None:
        if view.stack == stack:
            views.append(view)

    ids = torch.from_numpy(batch.ids).to(model.device)
    with torch.enable_grad():
        if model.causal(stack):
            logits = model.forward(batch, listeners=[listen], stack=stack).logits[:, :-1]
            asked = torch.from_numpy(batch.mask[:, 1:]).to(model.device)
            loss = mean_loss(logits, ids[:, 1:], asked)
        else:
            chosen = torch.zeros_like(ids, dtype=torch.bool)
            for row, item in enumerate(batch.items):
                chosen[row, : len(item)] = torch.from_numpy(masked_positions(item, seed)).to(model.device)
            masked = replace(batch, ids=ids.masked_fill(chosen, model.tokenizer.mask_token_id).cpu().numpy())
            logits = model.forward(masked, listeners=[listen], stack=stack).logits
            loss = mean_loss(logits, ids, chosen)
        gradients = torch.autograd.grad(loss, [view.weights for view in views])
    return [(view, gradient.float()) for view, gradient in zip(views, gradients, strict=True)]
