"""What a measure is: a number per example, layer, head and label, whose sums add up."""

from __future__ import annotations

import copy
import inspect
from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor

from headscope.corpus import Example
from headscope.encode import Batch
from headscope.errors import UserError
from headscope.identity import code_digest
from headscope.labels import NORM
from headscope.models import LayerView, Model, Shape

OneMap = Literal["attention", "norm"]
"""What a measure is computed on: attention maps, or maps weighted by the length of what attention
carries."""


@dataclass(frozen=True)
class Context:
    """What a measure knows of the run it takes part in.

    Parameters
    ----------
    shape
        Layers and heads of the stack that is observed.
    causal
        Whether a token sees only itself and the tokens before it.
    seed
        The run's seed, for measures that draw random numbers.
    """

    shape: Shape
    causal: bool = False
    seed: int = 0


class Measure(ABC):
    """A statistic of every head.

    A measure is an object with its own options: the parameters of its ``__init__``, each kept as an
    attribute of the same name. A run binds it to a model and a corpus (:meth:`bind`), then asks it
    for the values of each layer of each batch. A subclass says what it is called and which labels
    it has, and computes :meth:`layer`.

    Attributes
    ----------
    name, title, unit, source
        How it is called, in code and for people; the unit of its values; the paper it comes from.
    range
        "share" if all values lie between 0 and 1, as they do where the unit begins with that word;
        "positive" if none is below 0. Intervals stay inside.
    dims
        The measure's own dimensions and their labels, e.g. ``{"row": ("all", "cls")}``.
    needs
        What corpus and model must have for it: words, tree, tags, pair, mentions, frames, lm.
    offered
        False for measures that must be asked for by name, because they cost more than the pass
        itself.
    listed
        False for measures with too many labels for the table of heads.
    in_blocks
        True for measures that process maps in blocks of rows (:meth:`rows`, :meth:`end`);
        the others are given whole maps (:meth:`layer`).
    longest
        Where whole maps are needed: the largest number of tokens for which a run is begun.
    cross
        True for measures that are defined for cross attention, too, where rows are the tokens of
        the decoder (``batch``) and columns those of the encoder
        (:func:`headscope.encode.cross.key_batch`).
    weightable
        False for measures that make no sense on norm-weighted maps: they read something other than
        maps, or were trained on attention maps.

    Examples
    --------
    >>> class Largest(Measure):
    ...     name, title, unit, source = "largest", "Largest weight", "share of attention", "mine"
    ...     dims = {"of": ("map",)}
    ...
    ...     def layer(self, view, attention, prepared):
    ...         return attention.amax((2, 3))[..., None]
    >>> Largest().options()
    {}
    """

    name: ClassVar[str]
    title: ClassVar[str]
    unit: ClassVar[str]
    source: ClassVar[str]
    range: ClassVar[str] = ""
    needs: ClassVar[frozenset[str]] = frozenset()
    offered: ClassVar[bool] = True
    listed: ClassVar[bool] = True
    in_blocks: ClassVar[bool] = False
    longest: ClassVar[int] = 2048
    cross: ClassVar[bool] = False
    weightable: ClassVar[bool] = True
    maps: OneMap = "attention"
    """What the measure is computed on; see :meth:`norm_weighted`."""
    keep: int = 0
    """The values of about this many examples are kept beside the sums."""
    dims: Mapping[str, tuple[str, ...]]
    context: Context

    def options(self) -> dict[str, Any]:
        """The measure's own options: the parameters of ``__init__`` with their values."""
        names = inspect.signature(type(self)).parameters
        missing = [name for name in names if not hasattr(self, name)]
        if missing:
            raise UserError(
                f"the measure {type(self).__name__} has an option {missing[0]!r}, but no attribute "
                "of that name, so results could not say what was measured",
                hint=f"write self.{missing[0]} = {missing[0]} in its __init__",
            )
        return {name: getattr(self, name) for name in names}

    def bind(self, context: Context, corpus: Iterable[Example]) -> Self:
        """The measure as it takes part in one run.

        A measure that must know the corpus first (its labels, a baseline) looks at it here, without
        the model. The measure itself is not changed, so it can be used in several runs.
        """
        bound = copy.copy(self)
        bound.context = context
        return bound

    def beside(self) -> tuple[str, ...]:
        """The measures that are always computed with this one, where the corpus allows."""
        return ()

    def check_model(self, model: Model, stack: str) -> None:
        """Raise an error if the measure is not defined for a model; called before a run begins."""
        return

    def norm_weighted(self) -> Self:
        """The same measure on norm-weighted maps, under a name of its own.

        It is given maps whose weights are multiplied by the length of the vector that each key
        sends through the head, and divided by the row's sum.

        References
        ----------
        Kobayashi et al. 2020, "Attention is Not Only a Weight".
        """
        copied = copy.copy(self)
        copied.maps = "norm"
        copied.name = f"{NORM}{self.name}"  # type: ignore[misc]
        copied.title = f"{self.title}, norm-weighted"  # type: ignore[misc]
        return copied

    @property
    def lead(self) -> dict[str, tuple[int, ...] | tuple[str, ...]]:
        """The dimensions before the measure's own: layers and heads, labelled from 1."""
        shape = self.context.shape
        return {
            "layer": shape.labels,
            "head": tuple(range(1, shape.heads + 1)),
        }

    def attributes(self) -> dict[str, str]:
        """What is written beside the numbers."""
        return {
            "title": self.title,
            "unit": self.unit,
            "source": self.source,
            "listed": "yes" if self.listed else "no",
            "kind": "mean",
            **({"range": self.range} if self.range else {}),
            **({} if self.maps == "attention" else {"maps": self.maps}),
        }

    def identity(self) -> str:
        """Everything besides its name that changes the measure's numbers.

        Runs that differ in it are different runs. By default these are the options and, for a
        measure of the user's own, its code.
        """
        options = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
        own = not type(self).__module__.startswith("headscope.")
        return f"{options} {code_digest(type(self))}".strip() if own else options

    @property
    def width(self) -> int:
        """How many labels there are in all."""
        return prod(len(labels) for labels in self.dims.values())

    def prepare(self, batch: Batch, device: Any) -> Any:
        """What is the same for every layer of a batch; made once, handed to the methods below."""
        return None

    def layer(self, view: LayerView, attention: Tensor, prepared: Any) -> Tensor:
        """The values of one layer, from whole maps.

        Parameters
        ----------
        view
            The layer: its number, head outputs and module.
        attention
            (batch, head, query, key), float32 and finite.
        prepared
            What :meth:`prepare` made.

        Returns
        -------
        Tensor
            (batch, head, label); NaN where a value is not defined.
        """
        if self.in_blocks:  # a whole map is one block
            self.rows(view, attention, 0, prepared)
            return self.end(view, prepared)
        raise UserError(
            f"the measure {self.name!r} computes nothing: its class has no method 'layer'",
            hint="define layer(self, view, attention, prepared)",
        )

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: Any) -> None:
        """Take in a block of rows of one layer's maps (for measures with ``in_blocks``).

        Parameters
        ----------
        block
            (batch, head, row, key), float32 and finite.
        first_row
            The number of the block's first row within the map.
        """
        raise UserError(
            f"the measure {self.name!r} says in_blocks, but its class has no method 'rows'",
            hint="define rows(self, view, block, first_row, prepared) and end(self, view, "
            "prepared)",
        )

    def end(self, view: LayerView, prepared: Any) -> Tensor:
        """The values of a layer whose rows have all been taken in, (batch, head, label)."""
        raise UserError(
            f"the measure {self.name!r} says in_blocks, but its class has no method 'end'",
            hint="define rows(self, view, block, first_row, prepared) and end(self, view, "
            "prepared)",
        )

    def finish(self, layers: Sequence[Tensor], prepared: Any) -> Tensor:
        """The values of a batch, (batch, layer, head, label), when all layers are done.

        A measure that spans layers overrides this.
        """
        return torch.stack(list(layers), 1)

    def totals(self, prepared: Any) -> Tensor | None:
        """How many terms the sums of a batch have, (batch, label), where values are sums.

        What is averaged are then these terms (words, pairs of tokens), not examples. None if values
        are means of examples.
        """
        return None

    @classmethod
    def together(
        cls, measures: Sequence[Measure], model: Model, stack: str, context: Context
    ) -> Together:
        """What computes several measures of this kind in one pass, sharing work where it can."""
        return Together(measures)


class Together:
    """Measures of one kind in a pass. Subclasses share work between them.

    For each batch the pass calls :meth:`start`; for each layer :meth:`rows` with one block of rows
    after another, then :meth:`end`; and :meth:`finish` at last. :meth:`during` is entered while the
    network runs.
    """

    whole_maps = True
    """Whether the pass must hand over every map in one block."""
    maps: OneMap = "attention"
    """Which maps are handed over."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.measures = list(measures)
        self.maps = self.measures[0].maps if self.measures else "attention"
        self.whole_maps = not all(measure.in_blocks for measure in measures)
        self.prepared: list[Any] = []
        self.layers: list[list[Tensor]] = []

    def start(self, batch: Batch, device: Any) -> None:
        """Begin a batch."""
        self.prepared = [measure.prepare(batch, device) for measure in self.measures]
        self.layers = [[] for _ in self.measures]

    def during(self) -> AbstractContextManager[object]:
        """What is entered while the network runs: hooks, for what attention does not show."""
        return nullcontext()

    def on(self, batch: Batch, device: Any) -> Self:
        """The same measures for layers that are on another device.

        Maps are reduced where they are; the values of all layers are kept in one list.
        """
        there = copy.copy(self)
        there.start(batch, device)
        there.layers = self.layers
        return there

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Take in a block of rows, (batch, head, row, key)."""
        for measure, prepared, layers in zip(
            self.measures, self.prepared, self.layers, strict=True
        ):
            if measure.in_blocks:
                measure.rows(view, block, first_row, prepared)
            else:
                layers.append(measure.layer(view, block, prepared))

    def end(self, view: LayerView) -> None:
        """A layer has been taken in whole."""
        for measure, prepared, layers in zip(
            self.measures, self.prepared, self.layers, strict=True
        ):
            if measure.in_blocks:
                layers.append(measure.end(view, prepared))

    def finish(self) -> dict[str, Tensor]:
        """Each measure's values, (batch, layer, head, label)."""
        return {
            measure.name: measure.finish([one.to(layers[0].device) for one in layers], prepared)
            for measure, layers, prepared in zip(
                self.measures, self.layers, self.prepared, strict=True
            )
        }

    def totals(self) -> dict[str, Tensor]:
        """How many terms the sums of measures have that say so, (batch, label)."""
        found = {  # some groups prepare nothing for single measures: these say nothing
            measure.name: measure.totals(prepared)
            for measure, prepared in zip(self.measures, self.prepared, strict=False)
        }
        return {name: totals for name, totals in found.items() if totals is not None}
