"""The shape of a stack of layers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """The shape of one stack of a model.

    Parameters
    ----------
    layers
        Number of layers with attention.
    heads
        Number of query heads in each layer.
    width
        Length of one head's output vector.

    Examples
    --------
    >>> Shape(layers=12, heads=12, width=64)
    Shape(layers=12, heads=12, width=64)
    """

    layers: int
    heads: int
    width: int
