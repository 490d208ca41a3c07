"""The gradient of the language-model loss by every map of a batch: one forward and one backward pass for all layers."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.errors import ModelError
from headscope.measures.gradient import masked_positions, mean_loss
from headscope.models import LayerView, Model


def map_gradients(
    model: Model, batch: Batch, stack: str, seed: int
) -> list[tuple[LayerView, Tensor]]:
    """Each layer with ∂loss/∂α, (batch, head, query, key). The maps are part of the graph: our attention function is the model's own.

    A causal text of one token has no loss, and so NaN for gradients.
    """
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
            if model.tokenizer.mask_token_id is None:
                raise ModelError(
                    f"the tokenizer of {model.name} has no mask token, which gradient importance needs",
                    hint="choose a masked language model, or give its tokenizer a mask token",
                )
            asked = torch.zeros_like(ids, dtype=torch.bool)
            for row, item in enumerate(batch.items):
                asked[row, : len(item)] = torch.from_numpy(masked_positions(item, seed)).to(
                    model.device
                )
            masked = replace(
                batch, ids=ids.masked_fill(asked, model.tokenizer.mask_token_id).cpu().numpy()
            )
            logits = model.forward(masked, listeners=[listen], stack=stack).logits
            loss = mean_loss(logits, ids, asked)
        gradients = torch.autograd.grad(loss, [view.weights for view in views])
    undefined = ~asked.any(1)[:, None, None, None]
    return [
        (view, gradient.float().masked_fill(undefined, float("nan")))
        for view, gradient in zip(views, gradients, strict=True)
    ]
