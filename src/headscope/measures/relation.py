"""Relations between tokens as weights: attention over any number of them is one matrix product.

A relation is a set of pairs (query, key). Its *mass* is the attention a query pays to its keys,
averaged over the queries that have any: a sum of attention weighted by ``pairs / number of such
queries``. All measures of this kind in a run are computed together, as
``(batch, head, row · key) @ (batch, row · key, relation)``.
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
from headscope.measures.base import Context, Measure, Together
from headscope.models import LayerView, Model

Pairs = NDArray[np.bool_]


def mass_weights(pairs: Pairs) -> NDArray[np.float32] | None:
    """Weights under which the sum of a map is the mean attention to a relation's keys.

    The mean is over the queries that have a key. None if there is none.

    >>> mass_weights(np.array([[False, False], [True, False]]))
    array([[0., 0.],
           [1., 0.]], dtype=float32)
    """
    rows = int(pairs.any(1).sum())
    return pairs.astype(np.float32) / np.float32(rows) if rows else None


class Linear(Measure):
    """A measure that is a weighted sum of attention.

    A subclass only says which weights (:meth:`weights`); all such measures of a run are computed
    together.
    """

    in_blocks = True

    @abstractmethod
    def weights(self, item: Encoded) -> Sequence[NDArray[np.float32] | None]:
        """One (T, T) matrix per label, or None where the label is not defined for this example."""

    def prepare(self, batch: Batch, device: Any) -> LinearTogether:
        """Alone, a linear measure is a group of one."""
        alone = LinearTogether([self])
        alone.start(batch, device)
        return alone

    def rows(
        self, view: LayerView, block: Tensor, first_row: int, prepared: LinearTogether
    ) -> None:
        """Add the block's share."""
        prepared.rows(view, block, first_row)

    def end(self, view: LayerView, prepared: LinearTogether) -> Tensor:
        """(batch, head, label)."""
        prepared.end(view)
        return prepared.products[-1]

    @classmethod
    def together(
        cls, measures: Sequence[Measure], model: Model, stack: str, context: Context
    ) -> Together:
        """One matrix product for all linear measures."""
        return LinearTogether(measures)


class LinearTogether(Together):
    """The linear measures of a run: their weights side by side, one matrix product per layer."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        super().__init__(measures)
        self.linear = [measure for measure in measures if isinstance(measure, Linear)]
        self.widths = [measure.width for measure in measures]
        self.weights = torch.empty(0)
        self.undefined = torch.empty(0)
        self.sum: Tensor | None = None
        self.products: list[Tensor] = []

    def start(self, batch: Batch, device: Any) -> None:
        """Lay out the weights (batch, label, T, T), zero on padding, and what is undefined."""
        size, width = sum(self.widths), batch.width
        weights = np.zeros((len(batch), size, width, width), dtype=np.float32)
        undefined = np.zeros((len(batch), 1, size), dtype=np.bool_)
        for row, item in enumerate(batch.items):
            length = len(item)
            matrices = (matrix for measure in self.linear for matrix in measure.weights(item))
            for column, matrix in enumerate(matrices):
                if matrix is None:
                    undefined[row, 0, column] = True
                else:
                    weights[row, column, :length, :length] = matrix
        self.weights = torch.from_numpy(weights).to(device)
        self.undefined = torch.from_numpy(undefined).to(device)
        self.sum, self.products = None, []

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Add the product of a block with its rows of the weights."""
        weights = self.weights[:, :, first_row : first_row + block.shape[2]]
        product = torch.bmm(block.flatten(2), weights.flatten(2).transpose(1, 2))
        self.sum = product if self.sum is None else self.sum + product

    def end(self, view: LayerView) -> None:
        """The layer's values; NaN where undefined."""
        if self.sum is not None:
            self.products.append(self.sum.masked_fill(self.undefined, float("nan")))
        self.sum = None

    def finish(self) -> dict[str, Tensor]:
        """The measures' own shares of the products."""
        shares = torch.split(torch.stack(self.products, 1), self.widths, dim=-1)
        return {measure.name: share for measure, share in zip(self.measures, shares, strict=True)}
