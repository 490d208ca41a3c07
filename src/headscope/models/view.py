"""What a listener is given of one layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from headscope.errors import ModelError


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
        The layer's number within its stack, from 0. Where only some layers have attention, it is
        the model's own number of the layer.
    maps
        The attention maps, whole; None where they are computed a block of rows at a time.
    outputs
        The outputs of the heads; None until all rows are computed.
    module
        The attention module.
    values
        The value vectors, (batch, key-value head, key, width); None where they are not known. With
        grouped queries, neighbouring heads share one.
    """

    stack: str
    layer: int
    maps: Tensor | None
    outputs: Tensor | None
    module: nn.Module
    values: Tensor | None = None

    @property
    def weights(self) -> Tensor:
        """The attention maps in the model's dtype, (batch, head, query, key).

        Raises
        ------
        ModelError
            If the maps are computed in blocks of rows, so that there is none as a whole.
        """
        if self.maps is None:
            raise ModelError(
                "the attention maps of this layer are computed in blocks of rows, and none is "
                "kept whole",
                hint="listen with a function, or an object whose whole_maps is True",
            )
        return self.maps

    @property
    def attention(self) -> Tensor:
        """The attention maps in float32, (batch, head, query, key)."""
        return self.weights.to(torch.float32)

    @property
    def output(self) -> Tensor:
        """The output of each head before the output projection, (batch, query, head, width).

        Raises
        ------
        ModelError
            If not all rows of the layer are computed yet.
        """
        if self.outputs is None:
            raise ModelError(
                "the outputs of the heads are known when all rows of a layer are computed",
                hint="read view.output in the method end, not in rows",
            )
        return self.outputs

    @property
    def heads(self) -> int:
        """The number of heads in the layer."""
        return self.output.shape[2]


@runtime_checkable
class RowListener(Protocol):
    """Observes a forward pass a block of rows at a time, so that no map is needed whole.

    For every layer, ``rows`` is called with one block after another, then ``end``.

    Attributes
    ----------
    whole_maps
        True if the listener needs every map in one block after all.
    """

    whole_maps: bool

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Take in the rows of a layer's maps from ``first_row`` on, (batch, head, row, key).

        The block is in the model's dtype and is dropped after the call.
        """

    def end(self, view: LayerView) -> None:
        """All rows of a layer have been taken in, and the outputs of its heads are known."""


class OutputListener:
    """Calls a function with every layer that reads the outputs of the heads, but no maps."""

    whole_maps = False

    def __init__(self, function: Callable[[LayerView], None]) -> None:
        self.function = function

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Maps are not needed."""

    def end(self, view: LayerView) -> None:
        """Call the function."""
        self.function(view)


Listener = Callable[[LayerView], None] | RowListener
"""A function, called with each layer and its whole maps; or an object that takes rows in blocks."""
