"""What a listener gets of one layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class LayerView:
    """One layer as it was just computed. The tensors are the model's own: read, reduce, and let go.

    ``stack`` is encoder, decoder or cross; ``layer`` counts from 0 within its stack, in the order of computation.
    """

    stack: str
    layer: int
    weights: Tensor  # (batch, head, query, key), in the model's dtype
    output: Tensor  # (batch, query, head, width): per-head outputs before the output projection
    module: nn.Module

    @property
    def attention(self) -> Tensor:
        """The maps in float32, whatever the model's dtype."""
        return self.weights.to(torch.float32)

    @property
    def heads(self) -> int:
        """How many heads the layer has."""
        return self.weights.shape[1]


Listener = Callable[[LayerView], None]
