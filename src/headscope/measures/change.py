"""Change between two models (Kovaleva et al. 2019, §4.3, Fig. 5): how alike the same head's maps
are in both, and by how much a measure differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from headscope.corpus import Example
from headscope.encode import Batch
from headscope.errors import UserError
from headscope.measures.base import Context, Measure
from headscope.measures.profile import OfArcs, Profile
from headscope.measures.words import WordMeasure
from headscope.models import LayerView


@dataclass
class MapSums:
    """What the cosine of two maps is made of, summed over the blocks of a layer.

    Maps of two models are often nearly equal. Their distance is summed as such, not as a difference
    of large sums, so that 1 - cosine has all its digits.
    """

    real: Tensor  # (batch, token)
    # (4, batch, head), of maps a and b: (a - b)², (a - b)(a + b), a², b².
    sums: Tensor | None = None

    def add(self, one: Tensor, other: Tensor, first_row: int) -> None:
        """Take in the same rows of both maps, (batch, head, row, key) twice."""
        rows = self.real[:, first_row : first_row + one.shape[2]]
        real = (rows[:, :, None] & self.real[:, None, : one.shape[3]])[:, None]
        a, b = (maps.masked_fill(~real, 0.0).flatten(2) for maps in (one, other))
        apart = a - b
        pairs = ((apart, apart), (apart, a + b), (a, a), (b, b))
        found = torch.stack([torch.einsum("bhp,bhp->bh", *pair) for pair in pairs]).double()
        self.sums = found if self.sums is None else self.sums + found

    def cosine(self) -> Tensor:
        """(batch, head), in double precision."""
        assert self.sums is not None
        (apart, squares, one, other), self.sums = self.sums, None
        one, other = one.sqrt(), other.sqrt()
        lengths = squares / (one + other)  # |a| - |b|
        away: Tensor = (apart - lengths**2) / (2 * one * other)
        return 1.0 - away.clamp_min(0.0)  # rounding may pass 1 by a hair


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
    in_blocks = True

    def prepare(self, batch: Batch, device: Any) -> MapSums:
        """Which tokens are real."""
        return MapSums(torch.from_numpy(batch.mask).to(device))

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: MapSums) -> None:
        """``block`` holds rows of both models, (2, batch, head, row, key)."""
        prepared.add(block[0], block[1], first_row)

    def end(self, view: LayerView, prepared: MapSums) -> Tensor:
        """(batch, head, 1)."""
        return prepared.cosine()[..., None]


class Difference(Measure):
    """A measure's value in the second model minus that in the first, example by example.

    Its intervals are therefore those of paired differences.

    Parameters
    ----------
    measure
        The measure whose values are compared.
    """

    def __init__(self, measure: Measure) -> None:
        words = isinstance(measure, WordMeasure)
        if words or isinstance(measure, Profile | OfArcs):
            what = "counts right answers" if words else "averages over pairs of tokens"
            raise UserError(
                f"the measure {measure.name!r} {what}, and has no difference for each example",
                hint="survey both models and compare the two results: hs.compare(first, second)",
            )
        self.measure = measure
        self.in_blocks = measure.in_blocks  # type: ignore[misc]
        self.longest = measure.longest  # type: ignore[misc]
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
        own = {"title": self.title, "unit": self.unit, "range": "signed"}
        return self.measure.attributes() | own

    def identity(self) -> str:
        """As the measure that is compared."""
        return self.measure.identity()
