"""Relations between tokens as weight matrices: attention over any number of them is one batched matrix product.

A relation is a set of pairs (query, key). Its *mass* is the attention a query pays to its keys, averaged over the queries
that have any: a sum of attention weighted by ``pairs / number of such queries``. Everything of this kind, over all
measures of a run, is computed as ``(batch, head, T·T) @ (batch, T·T, relation)``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import Batch, Encoded
from headscope.measures.base import Measure
from headscope.models import LayerView

Pairs = NDArray[np.bool_]


def mass_weights(pairs: Pairs) -> NDArray[np.float32] | None:
    """Weights under which the sum of a map is the mean, over the queries with a key, of the attention to those keys. None without any.

    >>> mass_weights(np.array([[False, False], [True, False]]))
    array([[0., 0.],
           [1., 0.]], dtype=float32)
    """
    rows = int(pairs.any(1).sum())
    return pairs.astype(np.float32) / np.float32(rows) if rows else None


class Linear(Measure):
    """A measure that is a weighted sum of attention: it only says which weights. The engine computes all of them at once."""

    @abstractmethod
    def weights(self, item: Encoded) -> Sequence[NDArray[np.float32] | None]:
        """One (T, T) matrix a label, or None where the label is not defined for this example."""

    def prepare(self, batch: Batch, device: Any) -> tuple[Tensor, Tensor]:
        """The weights of a batch, and where they are undefined: see :class:`Bank`."""
        return Bank([self]).prepare(batch, device)

    def layer(self, view: LayerView, attention: Tensor, prepared: tuple[Tensor, Tensor]) -> Tensor:
        """The product of one layer's maps with the weights."""
        return Bank([self]).layer(attention, prepared)


class Bank:
    """The linear measures of a run, their weights side by side, one matrix product a layer."""

    def __init__(self, measures: Sequence[Linear]) -> None:
        self.measures = measures
        self.widths = [measure.width for measure in measures]

    def prepare(self, batch: Batch, device: Any) -> tuple[Tensor, Tensor]:
        """The weights (batch, label, T·T), zero on padding, and where they are undefined (batch, 1, label)."""
        size, width = sum(self.widths), batch.width
        weights = np.zeros((len(batch), size, width, width), dtype=np.float32)
        undefined = np.zeros((len(batch), 1, size), dtype=np.bool_)
        for row, item in enumerate(batch.items):
            length = len(item)
            for column, matrix in enumerate(
                matrix for measure in self.measures for matrix in measure.weights(item)
            ):
                if matrix is None:
                    undefined[row, 0, column] = True
                else:
                    weights[row, column, :length, :length] = matrix
        return torch.from_numpy(weights).to(device).flatten(2), torch.from_numpy(undefined).to(
            device
        )

    def layer(self, attention: Tensor, prepared: tuple[Tensor, Tensor]) -> Tensor:
        """(batch, head, label) for all measures together; NaN where undefined."""
        weights, undefined = prepared
        product = torch.bmm(attention.flatten(2), weights.transpose(1, 2))
        return product.masked_fill(undefined, float("nan"))

    def split(self, values: Tensor) -> list[Tensor]:
        """The measures' own shares of the product, in order, along the last dimension."""
        return list(torch.split(values, self.widths, dim=-1))
