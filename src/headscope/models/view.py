"""What a listener is given of one layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class LayerView:
    """One layer of a forward pass, just computed.

    The tensors are the model's own, not copies. Reduce them and let them go: keeping the maps of
    all layers fills the memory.

    Parameters
    ----------
    stack
        ``encoder``, ``decoder`` or ``cross``.
    layer
        The layer's number within its stack, from 0, in the order of computation.
    weights
        The attention maps in the model's dtype, (batch, head, query, key).
    output
        The output of each head before the output projection, (batch, query, head, width).
    module
        The attention module.
    """

    stack: str
    layer: int
    weights: Tensor
    output: Tensor
    module: nn.Module

    @property
    def attention(self) -> Tensor:
        """The attention maps in float32, (batch, head, query, key)."""
        return self.weights.to(torch.float32)

    @property
    def heads(self) -> int:
        """The number of heads in the layer."""
        return self.weights.shape[1]


Listener = Callable[[LayerView], None]
"""Called with each layer as soon as its attention is computed."""
