"""One batch through the model, with every measure listening layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import Batch
from headscope.measures.base import Context, Measure, Together
from headscope.models import LayerView, Listener, Model


@dataclass(frozen=True)
class BatchValues:
    """What one batch gave.

    Attributes
    ----------
    values
        Each measure's values, (example, layer, head, label).
    totals
        For measures that count right answers: how many answers there were, (example, label).
    broken
        For each example the layer (from 0) whose attention was not finite, or -1.
    """

    values: dict[str, NDArray[Any]]
    totals: dict[str, NDArray[Any]]
    broken: NDArray[np.int64]


class Pass:
    """Runs batches through a model and computes all measures in the same forward pass.

    The maps of a layer are reduced as soon as they are computed, and dropped. Measures of one kind
    are computed together (:meth:`headscope.measures.Measure.together`), so that they can share
    work.
    """

    def __init__(
        self, model: Model, measures: Sequence[Measure], stack: str, context: Context
    ) -> None:
        self.model = model
        self.stack = stack
        kinds: dict[Any, list[Measure]] = {}
        for measure in measures:
            kinds.setdefault(type(measure).together.__func__, []).append(measure)  # type: ignore[attr-defined]
        self.groups: list[Together] = [
            type(kind[0]).together(kind, model, stack, context) for kind in kinds.values()
        ]

    def run(self, batch: Batch, listeners: Sequence[Listener] = ()) -> BatchValues:
        """One forward pass. Other ``listeners`` may observe it too."""
        device = self.model.device
        mask = torch.from_numpy(batch.mask).to(device)
        broken = torch.full((len(batch),), -1)
        for group in self.groups:
            group.start(batch, device)

        def listen(view: LayerView) -> None:
            if view.stack != self.stack:
                return
            attention, bad = finite(view.attention, mask)
            if bad is not None:
                broken[bad.cpu() & (broken < 0)] = view.layer
            for group in self.groups:
                group.rows(view, attention, 0)
                group.end(view)

        with torch.inference_mode():
            self.model.forward(batch, listeners=[listen, *listeners], stack=self.stack)
        values: dict[str, NDArray[Any]] = {}
        totals: dict[str, NDArray[Any]] = {}
        for group in self.groups:
            values |= {name: found.cpu().numpy() for name, found in group.finish().items()}
            totals |= {name: found.cpu().numpy() for name, found in group.totals().items()}
        return BatchValues(values, totals, broken.numpy())


def finite(attention: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
    """Maps without NaN or infinity, and which examples had any on their real tokens.

    A sum is finite only if all its terms are, so one cheap reduction is enough. Some masks leave
    NaN on padded rows, which is not an error.
    """
    if bool(torch.isfinite(attention.sum())):
        return attention, None
    real = (mask[:, :, None] & mask[:, None, :])[:, None]
    attention = attention.masked_fill(~real, 0.0)
    bad = ~torch.isfinite(attention).flatten(1).all(1)
    return attention.nan_to_num(0.0, 0.0, 0.0), bad if bool(bad.any()) else None
