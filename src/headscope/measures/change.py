"""Change between two models (Kovaleva et al. 2019, §4.3, Fig. 5): how alike the same head's maps
are in both, and by how much a measure differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import torch
from torch import Tensor

from headscope.corpus import Example
from headscope.encode import Batch
from headscope.errors import UserError
from headscope.measures.base import Context, Measure
from headscope.measures.words import WordMeasure
from headscope.models import LayerView


def map_cosine(one: Tensor, other: Tensor, real: Tensor) -> Tensor:
    """The cosine of two flattened maps, (batch, head, query, key) twice -> (batch, head). ``real``
    (batch, 1, query, key) is true on pairs of real tokens.

    >>> real = torch.ones(1, 1, 2, 2, dtype=torch.bool)
    >>> map_cosine(torch.eye(2)[None, None], torch.full((1, 1, 2, 2), 0.5), real)
    tensor([[0.7071]])
    """
    flat = [maps.masked_fill(~real, 0.0).flatten(2) for maps in (one, other)]
    product = torch.einsum("bhp,bhp->bh", *flat)
    cosine: Tensor = product / (flat[0].norm(dim=2) * flat[1].norm(dim=2))
    return cosine.clamp(max=1.0)  # rounding may pass 1 by a hair


class Change(Measure):
    """Cosine between the flattened maps of two models, real tokens only (Kovaleva et al. 2019,
    section 4.3). It needs both models at once: see :func:`headscope.compare`.
    """

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
        """``attention`` is here the maps of both models, (2, batch, head, query, key): (batch,
        head, 1).
        """
        return map_cosine(attention[0], attention[1], prepared)[..., None]


class Difference(Measure):
    """A measure's value in the second model minus that in the first, example by example.

    Its intervals are therefore those of paired differences.

    Parameters
    ----------
    measure
        The measure whose values are compared.
    """

    def __init__(self, measure: Measure) -> None:
        if isinstance(measure, WordMeasure):
            raise UserError(
                f"the measure {measure.name!r} counts right answers, and has no difference for "
                "each example",
                hint="survey both models and compare the two results: hs.compare(first, second)",
                command="survey both models, then: headscope compare first.nc second.nc",
            )
        self.measure = measure
        self.name = f"{measure.name}-change"  # type: ignore[misc]
        self.title = f"{measure.title}: change"  # type: ignore[misc]
        self.unit = f"change in {measure.unit}"  # type: ignore[misc]
        self.source = measure.source  # type: ignore[misc]
        self.listed = measure.listed  # type: ignore[misc]

    def bind(self, context: Context, corpus: Iterable[Example]) -> Self:
        """Bind the measure that is compared."""
        bound = super().bind(context, corpus)
        bound.measure = self.measure.bind(context, corpus)
        bound.dims = bound.measure.dims
        return bound

    @property
    def lead(self) -> dict[str, tuple[int, ...] | tuple[str, ...]]:
        """As the measure that is compared."""
        return self.measure.lead

    def attributes(self) -> dict[str, str]:
        """As the measure that is compared, under this one's name."""
        own = {"title": self.title, "unit": self.unit}
        return self.measure.attributes() | own

    def identity(self) -> str:
        """As the measure that is compared."""
        return self.measure.identity()
