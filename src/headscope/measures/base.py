"""What a measure is: a number per example, layer, head and label, whose sums add up.

A measure is one class, which says everything about itself: its name and title, the words of its
labels, what it needs, its source. The registry, the choices of the command line, the tables of the
docs, the checks of results files and the words of tables and pages are derived from it.
"""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from headscope.errors import UserError, unknown
from headscope.identity import code_digest
from headscope.labels import NORM, fill
from headscope.measures.lazy import torch
from headscope.registry import MEASURES

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.corpus import Example
    from headscope.encode import Batch
    from headscope.models import LayerView, Model, Shape

OneMap = Literal["attention", "norm"]
"""What a measure is computed on: attention maps, or maps weighted by the length of what attention
carries."""
Subtypes = Literal["keep", "fold"]
"""Of dependency labels: keep ``nmod:poss``, or fold it into ``nmod``."""
Direction = Literal["auto", "to head", "from head", "both"]
"""Of dependency roles: from the dependent to its head word, the other way, or both; ``auto`` is
``to head``, but ``both`` for a causal model that would see too few."""
Made = TypeVar("Made")
Choice = TypeVar("Choice", bound=str)


def one_of(what: str, given: Choice, allowed: Iterable[Choice]) -> Choice:
    """The option, if it is one of those allowed.

    >>> one_of("direction", "to head", ("to head", "both"))
    'to head'
    """
    names = tuple(allowed)
    if given not in names:
        raise unknown(what, str(given), names)
    return given


def at_least(what: str, given: Any, least: int) -> int:
    """The option, if it is a whole number of at least so much.

    >>> at_least("number of examples to keep", 0, 0)
    0
    """
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        raise UserError(
            f"the {what} must be a whole number, {least} or more; got {given!r} instead"
        )
    return given


def once(owner: Any, name: str, make: Callable[[], Made]) -> Made:
    """What several measures need of a block of attention, or of a batch: made by the first, and
    dropped with its owner.
    """
    shared: dict[str, Made] = owner.__dict__.setdefault("_shared", {})
    if name not in shared:
        shared[name] = make()
    return shared[name]


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


class Measure:
    """A statistic of every head.

    A measure is an object with its own options: the parameters of its ``__init__``, each kept as an
    attribute of the same name. A run binds it to a model and a corpus (:meth:`bind`), then asks it
    for the values of each layer of each batch. A subclass says what it is called and which labels
    it has, and computes :meth:`layer`.

    Attributes
    ----------
    name, title, unit, source
        How it is called, in code and for people; the unit of its values; the paper it comes from.
    labels
        The measure's own dimensions: of each, the labels and their words, such as ``{"row": {"all":
        "all tokens", "cls": "{cls}"}}``. ``{cls}`` and ``{sep}`` stand for the model's start and
        end tokens, ``{length}`` for an option of that name, and the words of the label "" for those
        of all labels that are not named (``{}`` is the label).
    says
        What a value is in words, with a place for the words of each dimension: ``"attention from
        {row}"``.
    dims
        The same as names alone, ``{"row": ("all", "cls")}``: follows from ``labels``, or takes
        their place where labels need no words.
    range
        "share" if all values lie between 0 and 1, as they do where the unit begins with that word;
        "positive" if none is below 0. Intervals stay inside.
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
    read, summed, keyed, closed, grid
        For files of results: the labels that readers ask for by name (by default all), whether they
        need sums by bucket, attributes with a value for each label of the first dimension,
        dimensions that can have no other labels than these, and whether values are by layer and
        head.

    Examples
    --------
    >>> class Largest(Measure):
    ...     name, title = "largest", "Largest weight"
    ...     says = "largest weight of {of}"
    ...     labels = {"of": {"map": "the map"}}
    ...
    ...     def layer(self, view, attention, prepared):
    ...         return attention.amax((2, 3))[..., None]
    >>> Largest().options(), Largest.dims
    ({}, {'of': ('map',)})
    """

    name: ClassVar[str]
    title: ClassVar[str]
    unit: ClassVar[str] = "share of attention"
    source: ClassVar[str] = "Headscope"
    labels: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    says: ClassVar[str] = ""
    range: ClassVar[str] = ""
    needs: ClassVar[frozenset[str]] = frozenset()
    offered: ClassVar[bool] = True
    listed: ClassVar[bool] = True
    in_blocks: ClassVar[bool] = False
    longest: ClassVar[int] = 2048
    cross: ClassVar[bool] = False
    weightable: ClassVar[bool] = True
    read: ClassVar[Mapping[str, tuple[str, ...]] | None] = None
    summed: ClassVar[bool] = False
    keyed: ClassVar[tuple[str, ...]] = ()
    closed: ClassVar[tuple[str, ...]] = ()
    grid: ClassVar[bool] = True
    kind: ClassVar[str] = "mean"
    """What a group of results holds: means of examples, or shares of right answers."""
    maps: OneMap = "attention"
    """What the measure is computed on; see :meth:`norm_weighted`."""
    keep: int = 0
    """The values of about this many examples are kept beside the sums."""
    dims: Mapping[str, tuple[str, ...]] = {}
    context: Context

    def __init_subclass__(cls, registered: bool = True, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = cls.__module__.startswith("headscope.measures.")
        if "labels" in vars(cls) and "dims" not in vars(cls):
            cls.dims = {dim: tuple(filter(None, words)) for dim, words in cls.labels.items()}
        if not own and "name" in vars(cls) and cls.source == Measure.source:
            cls.source = cls.__module__
        if own and registered and "name" in vars(cls):
            MEASURES.add(cls.name, cls, own=False)

    def words(self) -> Mapping[str, Mapping[str, str]]:
        """The words of the labels, with options filled in; overridden where the run decides."""
        return {
            dim: {label: fill(text, vars(self)) for label, text in words.items()}
            for dim, words in self.labels.items()
        }

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

    def attach(self, model: Model, stack: str) -> Self:
        """The measure as it takes part in a pass: with what it needs of the model itself."""
        return self

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
        return {"layer": shape.labels, "head": tuple(range(1, shape.heads + 1))}

    def attributes(self) -> dict[str, str]:
        """What is written beside the numbers: all that readers of the results need."""
        spoken = {"says": self.says, "labels": self.words()}
        return {
            "title": self.title,
            "unit": self.unit,
            "source": self.source,
            "listed": "yes" if self.listed else "no",
            "kind": self.kind,
            **({"range": self.range} if self.range else {}),
            **({"words": json.dumps(spoken)} if spoken["labels"] or self.says else {}),
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
        if not self.in_blocks:
            raise UserError(
                f"the measure {self.name!r} computes nothing: its class has no method 'layer'",
                hint="define layer(self, view, attention, prepared)",
            )
        self.rows(view, attention.detach(), 0, prepared)  # a whole map is one block
        return self.end(view, prepared)

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: Any) -> None:
        """Take in a block of rows of one layer's maps (for measures with ``in_blocks``).

        Parameters
        ----------
        block
            (batch, head, row, key), float32 and finite.
        first_row
            The number of the block's first row within the map.
        """
        raise self._lacks("rows")

    def end(self, view: LayerView, prepared: Any) -> Tensor:
        """The values of a layer whose rows have all been taken in, (batch, head, label)."""
        raise self._lacks("end")

    def _lacks(self, method: str) -> UserError:
        return UserError(
            f"the measure {self.name!r} says in_blocks, but its class has no method {method!r}",
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
        return Together([measure.attach(model, stack) for measure in measures])


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
        self.parts: list[tuple[Measure, Any, list[Tensor]]] = []
        """Each measure, what it prepared for the batch, and its values layer by layer."""

    def start(self, batch: Batch, device: Any) -> None:
        """Begin a batch."""
        self.parts = [(measure, measure.prepare(batch, device), []) for measure in self.measures]

    def during(self) -> AbstractContextManager[object]:
        """What is entered while the network runs: hooks, for what attention does not show."""
        return nullcontext()

    def on(self, batch: Batch, device: Any) -> Self:
        """The same measures for layers that are on another device.

        Maps are reduced where they are; the values of all layers are kept in one list.
        """
        there = copy.copy(self)
        there.start(batch, device)
        pairs = zip(there.parts, self.parts, strict=True)
        there.parts = [(measure, ready, layers) for (measure, ready, _), (*_, layers) in pairs]
        return there

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Take in a block of rows, (batch, head, row, key)."""
        block = block.detach()  # the same numbers, with a memo of its own (:func:`once`)
        for measure, prepared, layers in self.parts:
            if measure.in_blocks:
                measure.rows(view, block, first_row, prepared)
            else:
                layers.append(measure.layer(view, block, prepared))

    def end(self, view: LayerView) -> None:
        """A layer has been taken in whole."""
        for measure, prepared, layers in self.parts:
            if measure.in_blocks:
                layers.append(measure.end(view, prepared))

    def finish(self) -> dict[str, Tensor]:
        """Each measure's values, (batch, layer, head, label)."""
        return {
            measure.name: measure.finish([part.to(layers[0].device) for part in layers], prepared)
            for measure, prepared, layers in self.parts
        }

    def totals(self) -> dict[str, Tensor]:
        """How many terms the sums of measures have that say so, (batch, label)."""
        totals = {measure.name: measure.totals(prepared) for measure, prepared, _ in self.parts}
        return {name: total for name, total in totals.items() if total is not None}
