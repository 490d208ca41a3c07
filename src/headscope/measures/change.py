"""Change between two models (Kovaleva et al. 2019, §4.3, Fig. 5): how alike the same head's maps are in both, and by how much a measure differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.errors import UserError
from headscope.measures.base import Measure
from headscope.measures.words import WordMeasure
from headscope.models import LayerView


def map_cosine(one: Tensor, other: Tensor, real: Tensor) -> Tensor:
    """The cosine of two flattened maps, (batch, head, query, key) twice -> (batch, head). ``real`` (batch, 1, query, key) is true on pairs of real tokens.

    >>> map_cosine(torch.eye(2)[None, None], torch.full((1, 1, 2, 2), 0.5), torch.ones(1, 1, 2, 2, dtype=torch.bool))
    tensor([[0.7071]])
    """
    flat = [maps.masked_fill(~real, 0.0).flatten(2) for maps in (one, other)]
    product = torch.einsum("bhp,bhp->bh", *flat)
    cosine: Tensor = product / (flat[0].norm(dim=2) * flat[1].norm(dim=2))
    return cosine.clamp(max=1.0)  # rounding may pass 1 by a hair


class Change(Measure):
    """Cosine between the flattened maps of two models, real tokens only (K3). It needs both models at once: see :func:`headscope.runs.compare`."""

    name = "change"
    title = "Likeness of the maps of two models"
    unit = "cosine"
    source = "Kovaleva et al. 2019, §4.3, Figure 5"
    dims: Mapping[str, tuple[str, ...]] = {}
    offered = False

    def prepare(self, batch: Batch, device: Any) -> Tensor:
        """Which pairs are of real tokens."""
        real = torch.from_numpy(batch.mask).to(device)
        return (real[:, :, None] & real[:, None, :])[:, None]

    def layer(self, view: LayerView, attention: Tensor, prepared: Tensor) -> Tensor:
        """``attention`` is here the maps of both models, (2, batch, head, query, key): (batch, head, 1)."""
        return map_cosine(attention[0], attention[1], prepared)[..., None]


def difference_of(measure: type[Measure]) -> type[Measure]:
    """The measure whose value is that of the second model less that of the first, example by example: its intervals are those of paired differences."""
    if issubclass(measure, WordMeasure):
        raise UserError(
            f"the measure {measure.name!r} counts right answers, and has no difference example by example",
            hint="survey both models and compare the two results: headscope compare one.nc other.nc",
        )
    changed = {
        "name": f"{measure.name}-change",
        "title": f"{measure.title}: change",
        "unit": f"change in {measure.unit}",
        "offered": False,
        "keeps": False,
    }
    return type(f"{measure.__name__}Change", (measure,), changed)
