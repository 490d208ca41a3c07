"""One batch through the model with every measure listening, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import Batch
from headscope.measures import Bank, Distance, Gradient, Linear, Measure, WordMeasure, word_map
from headscope.models import LayerView, Listener, Model
from headscope.runs.gradients import map_gradients


@dataclass(frozen=True)
class Seen:
    """What one batch gave: each measure's values (example, layer, head, label), how many things were asked where answers are counted
    (example, label), and the layer (from 0) at which an example went wrong, or -1.
    """

    values: dict[str, NDArray[Any]]
    totals: dict[str, NDArray[Any]]
    broken: NDArray[np.int64]


@dataclass
class _Group:
    """Measures of one kind with what they prepared for a batch, and the layers they have seen."""

    measures: list[Measure]
    prepared: list[Any] = field(default_factory=list)
    layers: list[list[Tensor]] = field(default_factory=list)

    def start(self, prepared: list[Any]) -> None:
        self.prepared = prepared
        self.layers = [[] for _ in self.measures]

    def values(self) -> dict[str, NDArray[Any]]:
        return {
            measure.name: torch.stack(layers, 1).cpu().numpy()
            for measure, layers in zip(self.measures, self.layers, strict=True)
        }


class Pass:
    """Runs batches through a model and computes all measures of them in the same forward pass.

    Linear measures share one matrix product a layer, word measures one word map; gradients need a pass of their own.
    """

    def __init__(
        self, model: Model, measures: Sequence[Measure], stack: str, seed: int = 0
    ) -> None:
        self.model = model
        self.stack = stack
        self.seed = seed
        self.linear = [measure for measure in measures if isinstance(measure, Linear)]
        self.word = [measure for measure in measures if isinstance(measure, WordMeasure)]
        self.gradient = [measure for measure in measures if isinstance(measure, Gradient)]
        self.distance = [measure for measure in measures if isinstance(measure, Distance)]
        special = (*self.linear, *self.word, *self.gradient)
        self.others = [measure for measure in measures if measure not in special]
        self.bank = Bank(self.linear)

    def run(self, batch: Batch, listeners: Sequence[Listener] = ()) -> Seen:
        """One forward pass; the maps of a layer are reduced as soon as they are computed, and dropped. Other ``listeners`` may look on."""
        device = self.model.device
        mask = torch.from_numpy(batch.mask).to(device)
        broken = torch.full((len(batch),), -1)
        weights = self.bank.prepare(batch, device) if self.linear else None
        together: list[Tensor] = []
        words = word_map(batch, device) if self.word else None
        by_word, by_token = _Group([*self.word]), _Group(self.others)
        by_word.start(
            [measure.prepare_words(batch, words, device) for measure in self.word] if words else []
        )
        by_token.start([measure.prepare(batch, device) for measure in self.others])

        def listen(view: LayerView) -> None:
            if view.stack != self.stack:
                return
            attention, bad = finite(view.attention, mask)
            if bad is not None:
                broken[bad.cpu() & (broken < 0)] = view.layer
            if weights is not None:
                together.append(self.bank.layer(attention, weights))
            if words is not None:
                maps = words.apply(attention)
                for index, measure in enumerate(self.word):
                    by_word.layers[index].append(measure.words(maps, by_word.prepared[index]))
            for index, other in enumerate(self.others):
                by_token.layers[index].append(
                    other.layer(view, attention, by_token.prepared[index])
                )

        with torch.inference_mode():
            self.model.forward(batch, listeners=[listen, *listeners], stack=self.stack)
        values = (
            by_token.values()
            | by_word.values()
            | self._distances(by_token)
            | self._gradients(batch)
        )
        if weights is not None:
            shares = self.bank.split(torch.stack(together, 1))
            values |= {
                measure.name: share.cpu().numpy()
                for measure, share in zip(self.linear, shares, strict=True)
            }
        totals = {
            measure.name: measure.totals(prepared).cpu().numpy()
            for measure, prepared in zip(self.word, by_word.prepared, strict=True)
        }
        return Seen(values, totals, broken.numpy())

    def _distances(self, group: _Group) -> dict[str, NDArray[Any]]:
        """Measures of all layers at once finish when the last layer is there."""
        return {
            measure.name: measure.finish(group.prepared[self.others.index(measure)]).cpu().numpy()
            for measure in self.distance
        }

    def _gradients(self, batch: Batch) -> dict[str, NDArray[Any]]:
        if not self.gradient:
            return {}
        group = _Group([*self.gradient])
        group.start([measure.prepare(batch, self.model.device) for measure in self.gradient])
        for view, gradient in map_gradients(self.model, batch, self.stack, self.seed):
            for index, measure in enumerate(self.gradient):
                group.layers[index].append(measure.layer(view, gradient, group.prepared[index]))
        return group.values()


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
