"""Measures that are a mean over the rows of a map: a few numbers of each row, averaged."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import Batch, Encoded
from headscope.measures.base import Measure
from headscope.models import LayerView


@dataclass
class RowSums:
    """What is the same for every layer of a batch, and the sums of a layer so far.

    Attributes
    ----------
    weights
        What averages the rows that count, (batch, 1, row, label); 0 on the others.
    undefined
        Which examples have no such row, (batch, 1, label).
    keys
        1 on the keys that count and 0 on others, (batch, 1, 1, key); None where all count.
    total
        The weighted sum of the rows so far, (batch, head, label).
    """

    weights: Tensor
    undefined: Tensor
    keys: Tensor | None
    total: Tensor | None = None


class RowMean(Measure):
    """The mean over an example's rows of some numbers of each row.

    A subclass says which numbers (:meth:`of_rows`), and may leave out rows and keys.
    """

    in_blocks = True

    @abstractmethod
    def of_rows(self, block: Tensor, first_row: int) -> Tensor:
        """The numbers of every row: (batch, head, row, key) -> (batch, head, row, label)."""

    def counted_rows(self, item: Encoded) -> NDArray[np.bool_]:
        """Which rows of an example count: all, unless overridden."""
        return np.ones(len(item), np.bool_)

    def counted_keys(self, item: Encoded) -> NDArray[np.bool_]:
        """Which keys of an example count: all, unless overridden."""
        return np.ones(len(item), np.bool_)

    def prepare(self, batch: Batch, device: Any) -> RowSums:
        """Average over real rows only; padding is no key."""
        weights = np.zeros((len(batch), 1, batch.width, 1), np.float64)
        keys = np.zeros((len(batch), 1, 1, batch.width), np.float32)
        for index, item in enumerate(batch.items):
            rows = self.counted_rows(item)
            weights[index, 0, : len(item), 0] = rows / max(int(rows.sum()), 1)
            keys[index, 0, 0, : len(item)] = self.counted_keys(item)
        undefined = torch.from_numpy(weights.sum(2) == 0)
        return RowSums(
            torch.from_numpy(weights).to(device),
            undefined.to(device),
            None if keys.all() else torch.from_numpy(keys).to(device),
        )

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: RowSums) -> None:
        """Add the rows of a block."""
        kept = block if prepared.keys is None else block * prepared.keys[..., : block.shape[3]]
        weights = prepared.weights[:, :, first_row : first_row + block.shape[2]]
        # Padded rows may hold anything, even numbers whose squares are infinite.
        values = self.of_rows(kept, first_row).double().where(weights > 0, 0.0)
        added = (values * weights).sum(2)
        prepared.total = added if prepared.total is None else prepared.total + added

    def end(self, view: LayerView, prepared: RowSums) -> Tensor:
        """(batch, head, label); NaN where no row counts."""
        assert prepared.total is not None
        total, prepared.total = prepared.total.float(), None
        return total.masked_fill(prepared.undefined, float("nan"))
