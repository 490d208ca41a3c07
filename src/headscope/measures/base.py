"""What a measure is: a number per example, layer and head (and label), whose sums add up over any split of a corpus."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import Batch
from headscope.observe import LayerView, Shape

BLOCKS = 32
"""Sums are kept apart in this many blocks of batches: shards fill different blocks and so add up exactly."""


@dataclass(frozen=True)
class Setting:
    """What a measure knows of the run it is in."""

    shape: Shape
    causal: bool = False


class Measure(ABC):
    """A statistic of every head. Subclasses say what it is called, which labels it has, and compute it for one layer of a batch.

    ``dims`` names the measure's own dimensions and their labels; ``needs`` the annotations without which it is not offered.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    unit: ClassVar[str]
    source: ClassVar[str]
    dims: ClassVar[Mapping[str, tuple[str, ...]]]
    needs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @property
    def width(self) -> int:
        """How many labels there are in all."""
        return prod(len(labels) for labels in self.dims.values())

    @abstractmethod
    def prepare(self, batch: Batch, device: Any) -> Any:
        """What is the same for every layer of a batch; made once, handed to :meth:`layer`."""

    @abstractmethod
    def layer(self, view: LayerView, attention: Tensor, prepared: Any) -> Tensor:
        """The value of each example, head and label, (batch, head, label); NaN where it is not defined.

        ``attention`` is (batch, head, query, key), float32, and finite.
        """


class Sums:
    """The only thing a measure remembers: sum, sum of squares and count, by block, layer, head and label. Merging is addition."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        shape = (BLOCKS, measure.setting.shape.layers, measure.setting.shape.heads, measure.width)
        self.sum = np.zeros(shape)
        self.square = np.zeros(shape)
        self.count = np.zeros(shape, dtype=np.int64)

    def add(self, block: int, values: NDArray[Any]) -> None:
        """Add the values of some examples, (example, layer, head, label); NaN is not counted."""
        values = values.astype(np.float64)
        defined = ~np.isnan(values)
        filled = np.where(defined, values, 0.0)
        self.sum[block] += filled.sum(0)
        self.square[block] += (filled**2).sum(0)
        self.count[block] += defined.sum(0)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The sums as plain arrays, for a checkpoint."""
        return {"sum": self.sum, "square": self.square, "count": self.count}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up the sums of a checkpoint."""
        self.sum, self.square, self.count = (arrays[name].copy() for name in ("sum", "square", "count"))

    def dataset(self) -> xr.Dataset:
        """The sums with names: layers and heads are labelled from 1."""
        measure, shape = self.measure, self.measure.setting.shape
        lengths = [len(labels) for labels in measure.dims.values()]
        coordinates = {
            "block": np.arange(1, BLOCKS + 1),
            "layer": np.arange(1, shape.layers + 1),
            "head": np.arange(1, shape.heads + 1),
            **{dim: np.array(labels, dtype=object) for dim, labels in measure.dims.items()},
        }
        dims = ("block", "layer", "head", *measure.dims)
        variables = {name: (dims, array.reshape(*array.shape[:3], *lengths)) for name, array in self.arrays().items()}
        return xr.Dataset(variables, coordinates, {"title": measure.title, "unit": measure.unit, "source": measure.source})
