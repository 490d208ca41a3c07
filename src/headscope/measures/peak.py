"""The strongest key of every token: where it is, and how much attention it has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.encode.cross import key_batch
from headscope.measures.base import Measure
from headscope.models import LayerView


@dataclass(frozen=True)
class PeakRows:
    """What a batch's peaks are measured with."""

    padding: Tensor  # (batch, 1, 1, key), true on padding
    last: Tensor  # (batch, 1, 1), the last key's number; NaN where there is only one key
    weights: Tensor  # (batch, 1, query), that average real rows
    places: Tensor  # (batch, 1, query), each row's own place from 0 to 1; NaN if it is alone
    peaks: list[tuple[Tensor, Tensor]] = field(default_factory=list)  # of the rows so far


class Peak(Measure):
    """The key that gets most of a token's attention, averaged over tokens.

    ``position`` is its place from 0 (the first key) to 1 (the last); ``distance`` is how far that
    is from the token's own place, likewise from 0 to 1, so that a head which reads along has small
    values; ``weight`` is the attention that it gets. Of equal keys the first counts. It is given
    for cross attention; for other attention it must be asked for by name.

    The mean of the largest weight, without the end token, is what Voita et al. 2019, "Analyzing
    Multi-Head Self-Attention", call the confidence of a head.
    """

    name = "peak"
    title = "Strongest key"
    unit = "0 to 1"
    range = "share"
    source = "Headscope"
    dims = {"peak": ("position", "distance", "weight")}
    offered = False
    in_blocks = True
    cross = True

    def prepare(self, batch: Batch, device: Any) -> PeakRows:
        """Average over real rows only; padding is never the strongest key."""
        keys = key_batch(batch)
        last = keys.lengths[:, None, None].astype(np.float32) - 1
        rows = batch.lengths[:, None, None].astype(np.float32)
        own = np.arange(batch.width, dtype=np.float32)
        with np.errstate(invalid="ignore", divide="ignore"):
            places = np.where(rows > 1, own / (rows - 1), np.nan)
        padding = torch.from_numpy(~keys.mask[:, None, None]).to(device)
        numbers = (
            np.where(last > 0, last, np.nan),
            batch.mask[:, None] / rows,
            np.where(batch.mask[:, None], places, 0.0),
        )
        last_key, weights, own_places = (
            torch.from_numpy(array.astype(np.float32)).to(device) for array in numbers
        )
        return PeakRows(padding, last_key, weights, own_places)

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: PeakRows) -> None:
        """Keep the strongest key of every row."""
        weight, place = block.masked_fill(prepared.padding, -1.0).max(-1)
        prepared.peaks.append((weight, place))

    def end(self, view: LayerView, prepared: PeakRows) -> Tensor:
        """(batch, head, 3)."""
        weight, place = (torch.cat(parts, 2) for parts in zip(*prepared.peaks, strict=True))
        prepared.peaks.clear()
        position = place / prepared.last
        distance = (position - prepared.places).abs()
        real = prepared.weights > 0
        values = torch.stack([position, distance, weight], -1).where(real[..., None], 0.0)
        return torch.einsum("bhqn,bq->bhn", values, prepared.weights[:, 0])
