"""What a measure is: a number per example, layer and head (and label), whose sums add up over any split of a corpus."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Example
from headscope.encode import Batch
from headscope.models import LayerView, Shape

BLOCKS = 16
"""Sums are kept apart in this many blocks of batches: shards fill different blocks and so add up exactly."""
HOW = {
    "tree": "give a treebank (.conllu), or parse plain text with --parse",
    "words": "give a treebank (.conllu), or parse plain text with --parse",
    "tags": "give a treebank (.conllu), or parse plain text with --parse",
    "pair": "give a corpus of pairs: paragraphs, TSV or JSON lines with two texts",
    "mentions": "give a corpus with coreference",
    "lm": "load the model with its language-model head (headscope.load(..., head='lm')); a checkpoint without one cannot be used",
    "frames": "give a corpus with frame links",
}
"""What to do about an annotation that is missing."""


@dataclass(frozen=True)
class Setting:
    """What a measure knows of the run it is in."""

    shape: Shape
    causal: bool = False
    subtypes: str = "keep"  # of dependency labels: keep ``nmod:poss``, or fold it into ``nmod``
    roles: tuple[str, ...] = ()  # the roles asked for; all that the corpus allows if there are none
    direction: str = "to head"  # of dependency roles: to head, from head, both


class Measure(ABC):
    """A statistic of every head. Subclasses say what it is called, which labels it has, and compute it for one layer of a batch.

    ``dims`` names the measure's own dimensions and their labels; ``needs`` what corpus and model must have for it to be offered.
    ``offered`` is false for those that must be asked for by name, because they cost more than the pass itself.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    unit: ClassVar[str]
    source: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset()
    offered: ClassVar[bool] = True
    listed: ClassVar[bool] = (
        True  # false for those with tables of their own: too many labels for the table of heads
    )
    keeps: ClassVar[bool] = (
        False  # true for those whose value of every example is kept beside the sums
    )
    dims: Mapping[str, tuple[str, ...]]

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @classmethod
    def study(cls, setting: Setting, corpus: Iterable[Example]) -> Self:
        """Make the measure for a run. One that must know the corpus first (its labels, a baseline) looks at it here, without the model."""
        return cls(setting)

    @property
    def lead(self) -> dict[str, tuple[int, ...] | tuple[str, ...]]:
        """The dimensions before the measure's own: layers and heads, labelled from 1."""
        shape = self.setting.shape
        return {
            "layer": tuple(range(1, shape.layers + 1)),
            "head": tuple(range(1, shape.heads + 1)),
        }

    def attributes(self) -> dict[str, str]:
        """What is written beside the numbers."""
        return {
            "title": self.title,
            "unit": self.unit,
            "source": self.source,
            "listed": "yes" if self.listed else "no",
        }

    def identity(self) -> str:
        """What besides its name changes the measure's numbers (its own settings, a user's code): runs that differ in it are different runs."""
        return ""

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
        self.lead = measure.lead
        shape = (BLOCKS, *(len(labels) for labels in self.lead.values()), measure.width)
        self.sum = np.zeros(shape)
        self.square = np.zeros(shape)
        self.count = np.zeros(shape, dtype=np.int64)

    def add(self, block: int, values: NDArray[Any], totals: NDArray[Any] | None = None) -> None:
        """Add the values of some examples, (example, layer, head, label); NaN is not counted.

        With ``totals`` (example, label) what is averaged are not examples but the things counted in them (words, mentions): values say how many
        were right, totals how many there were. A right answer is 1, and its square too.
        """
        values = values.astype(np.float64)
        if totals is not None:
            self.sum[block] += values.sum(0)
            self.square[block] += values.sum(0)
            self.count[block] += totals.sum(0).astype(np.int64)
            return
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
        self.sum, self.square, self.count = (
            arrays[name].copy() for name in ("sum", "square", "count")
        )

    def dataset(self) -> xr.Dataset:
        """The sums with names."""
        labels = {**self.lead, **self.measure.dims}
        coordinates = {
            "block": np.arange(1, BLOCKS + 1),
            **{
                dim: np.array(values, dtype=object if isinstance(values[0], str) else int)
                for dim, values in labels.items()
            },
        }
        shape = [len(values) for values in coordinates.values()]
        variables = {
            name: (tuple(coordinates), array.reshape(shape))
            for name, array in self.arrays().items()
        }
        return xr.Dataset(variables, coordinates, self.measure.attributes())


class Kept:
    """The values of single examples, for measures whose distribution is asked for: four bytes a head, label and example.

    Examples are numbered in the order of the run's batches, which is the same however the run is split.
    """

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.shape = (*(len(labels) for labels in measure.lead.values()), measure.width)
        self.values: list[NDArray[np.float32]] = []
        self.numbers: list[int] = []
        self.ids: list[str] = []

    def add(self, numbers: Sequence[int], ids: Sequence[str], values: NDArray[Any]) -> None:
        """Keep the values of some examples, (example, layer, head, label)."""
        self.values.append(values.astype(np.float32))
        self.numbers += numbers
        self.ids += ids

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as plain arrays, for a checkpoint."""
        names = np.frombuffer(json.dumps(self.ids).encode(), np.uint8)
        return {"values": self._whole(), "numbers": np.array(self.numbers, np.int64), "ids": names}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up what a checkpoint kept."""
        self.values = [arrays["values"].copy()]
        self.numbers = arrays["numbers"].tolist()
        self.ids = json.loads(arrays["ids"].tobytes())

    def variables(self) -> xr.Dataset:
        """The values with names, in the order of the examples' numbers; ``id`` is the example's own."""
        order = np.argsort(self.numbers)
        labels = {**self.measure.lead, **self.measure.dims}
        values = self._whole()[order].reshape(-1, *(len(names) for names in labels.values()))
        ids = np.array(self.ids, dtype=object)[order]
        return xr.Dataset(
            {"value": (("example", *labels), values)},
            {"example": np.array(self.numbers, np.int64)[order], "id": ("example", ids)},
        )

    def _whole(self) -> NDArray[np.float32]:
        return (
            np.concatenate(self.values) if self.values else np.zeros((0, *self.shape), np.float32)
        )
