"""Weighted sums of attention over relations between tokens.

The *mass* of a relation is the attention a query pays to its keys, averaged over the queries that
have any: a weighted sum of attention. All measures of this kind in a run are computed together, a
block of rows at a time: columns by one thin matrix product, diagonals and pairs by picking values.
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
from headscope.encode.cross import key_batch
from headscope.measures.base import Context, Measure, Together
from headscope.measures.kinds import Weighted
from headscope.measures.layout import Layout
from headscope.models import LayerView, Model

Weights = Weighted | NDArray[np.float32] | None
"""The weights of one label: a weighted relation, a (T, T) matrix, or None where undefined."""


class Linear(Measure):
    """A measure that is a weighted sum of attention.

    A subclass only says which weights (:meth:`weights`); all such measures of a run are computed
    together.
    """

    in_blocks = True

    @abstractmethod
    def weights(self, item: Encoded) -> Sequence[Weights]:
        """The weights of every label.

        Each is what :func:`~headscope.measures.mass_weights` makes of a relation, a (T, T) matrix
        of float32, or None where the label is not defined for this example.
        """

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
        return prepared.layers[0][-1]

    @classmethod
    def together(
        cls, measures: Sequence[Measure], model: Model, stack: str, context: Context
    ) -> Together:
        """One pass over every block for all linear measures."""
        return LinearTogether(measures)


class LinearTogether(Together):
    """The linear measures of a run: the relations of all of them are summed together."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        super().__init__(measures)
        self.linear = [measure for measure in measures if isinstance(measure, Linear)]
        self.widths = [measure.width for measure in measures]
        self.layout: Layout | None = None

    def start(self, batch: Batch, device: Any) -> None:
        """Lay out the relations of a batch."""
        weights = [
            [label for measure in self.linear for label in measure.weights(item)]
            for item in batch.items
        ]
        self.layout = Layout(weights, batch.width, device, keys=key_batch(batch).width)
        self.prepared = [None for _ in self.measures]
        self.layers = [[] for _ in self.measures]

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Take in a block."""
        assert self.layout is not None
        self.layout.rows(block, first_row)

    def end(self, view: LayerView) -> None:
        """The layer's values; NaN where undefined."""
        assert self.layout is not None
        shares = torch.split(self.layout.end(), self.widths, dim=-1)
        for layers, share in zip(self.layers, shares, strict=True):
            layers.append(share)
