"""One batch through the model with every measure listening, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import Batch
from headscope.measures import Bank, Linear, Measure
from headscope.observe import LayerView, Model


@dataclass(frozen=True)
class Seen:
    """What one batch gave: each measure's values (example, layer, head, label), and the layer (from 0) at which an example went wrong, or -1."""

    values: dict[str, NDArray[np.float32]]
    broken: NDArray[np.int64]


class Pass:
    """Runs batches through a model and computes all measures of them in the same forward pass."""

    def __init__(self, model: Model, measures: Sequence[Measure], stack: str) -> None:
        self.model = model
        self.stack = stack
        self.linear = [measure for measure in measures if isinstance(measure, Linear)]
        self.others = [measure for measure in measures if not isinstance(measure, Linear)]
        self.bank = Bank(self.linear)

    def run(self, batch: Batch) -> Seen:
        """One forward pass; the maps of a layer are reduced as soon as they are computed, and dropped."""
        device = self.model.device
        weights = self.bank.prepare(batch, device) if self.linear else None
        prepared = [measure.prepare(batch, device) for measure in self.others]
        mask = torch.from_numpy(batch.mask).to(device)
        together: list[Tensor] = []
        apart: list[list[Tensor]] = [[] for _ in self.others]
        broken = torch.full((len(batch),), -1)

        def listen(view: LayerView) -> None:
            if view.stack != self.stack:
                return
            attention, bad = finite(view.attention, mask)
            if bad is not None:
                broken[bad.cpu() & (broken < 0)] = view.layer
            if weights is not None:
                together.append(self.bank.layer(attention, weights))
            for index, measure in enumerate(self.others):
                apart[index].append(measure.layer(view, attention, prepared[index]))

        with torch.inference_mode():
            self.model.forward(batch, listeners=[listen], stack=self.stack)
        values = {measure.name: _stack(layers) for measure, layers in zip(self.others, apart, strict=True)}
        if weights is not None:
            shares = self.bank.split(torch.stack(together, 1))
            values |= {measure.name: share.cpu().numpy() for measure, share in zip(self.linear, shares, strict=True)}
        return Seen(values, broken.numpy())


def _stack(layers: list[Tensor]) -> NDArray[np.float32]:
    array: NDArray[np.float32] = torch.stack(layers, 1).cpu().numpy()
    return array


def finite(attention: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
    """Maps without NaN or infinity, and which examples had any on their real tokens (None if none).

    A sum is finite only if all its terms are: one cheap reduction tells. Some masks leave NaN on padded rows: those are no fault.
    """
    if bool(torch.isfinite(attention.sum())):
        return attention, None
    real = (mask[:, :, None] & mask[:, None, :])[:, None]
    attention = attention.masked_fill(~real, 0.0)
    bad = ~torch.isfinite(attention).flatten(1).all(1)
    return attention.nan_to_num(0.0, 0.0, 0.0), bad if bool(bad.any()) else None
