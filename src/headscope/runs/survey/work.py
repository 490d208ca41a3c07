"""What a survey does to a unit of examples, here or in a worker, and what it gathers from it.

Sums, kept values and counts add up in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpus import Example, bucket_of
from headscope.encode import UNIT, Batch, Counts, Encoded, Encoder, WorkUnit
from headscope.encode.cross import CrossEncoder
from headscope.labels import first_names
from headscope.measures.base import Context, Measure
from headscope.measures.sums import Kept, Sums
from headscope.models import Model
from headscope.models.model import ModelWork
from headscope.options import Pass as Options
from headscope.results.kept import PARTS, ExampleStore, Standing
from headscope.results.schema import EXAMPLES
from headscope.runs.forward import BatchValues, Pass
from headscope.runs.keeping import Keeper

Arrays = Mapping[str, NDArray[Any]]
FAR = 10**6
"""Kept examples are numbered within their unit of work; units are this far apart."""


@dataclass
class Tally:
    """How many examples were used, how many of them are parts of named documents, and which had
    attention that is not finite.
    """

    seen: int = 0
    grouped: int = 0
    nonfinite: int = 0
    nonfinite_examples: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add what happened to other examples. The order does not matter."""
        self.seen += other.seen
        self.grouped += other.grouped
        self.nonfinite += other.nonfinite
        self.nonfinite_examples = first_names(self.nonfinite_examples, other.nonfinite_examples)


class Gathered:
    """The sums of some units of work.

    Parameters
    ----------
    measures
        Bound to the run.
    batch_size
        How many examples a batch has.
    examples
        For the examples that are kept for every head; None keeps none.
    """

    def __init__(
        self, measures: Iterable[Measure], batch_size: int, examples: ExampleStore | None = None
    ) -> None:
        measures = list(measures)
        self.batch_size = batch_size
        self.sums = {measure.name: Sums(measure) for measure in measures}
        self.kept = {measure.name: Kept(measure) for measure in measures if measure.keep}
        self.examples = examples
        self.tally, self.counts = Tally(), Counts()

    def add(self, unit: int, batch: Batch, result: BatchValues) -> None:
        """Add what a batch gave. It is the batch ``batch.index`` of its unit."""
        keep = result.broken < 0
        self.tally.add(_tally(batch, result))
        rows = np.flatnonzero(keep)
        examples = [batch.items[row].example for row in rows]
        buckets = [bucket_of(example) for example in examples]
        for name, values in result.values.items():
            totals = result.totals.get(name)
            self.sums[name].add(buckets, values[keep], None if totals is None else totals[keep])
            if name in self.kept and unit < self._kept_units(name):
                first = unit * FAR + batch.index * self.batch_size
                self.kept[name].add(
                    (first + rows).tolist(),
                    [example.id for example in examples],
                    [example.group for example in examples],
                    batch.lengths[rows].tolist(),
                    values[keep],
                )
        if self.examples is not None and result.examples is not None:
            result.examples.into(self.examples, keep)

    def _kept_units(self, name: str) -> int:
        """Of how many units values are kept: whole ones, whose batches are sorted by length."""
        return -(-self.sums[name].measure.keep // (self.batch_size * UNIT))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything as values for JSON, and arrays."""
        arrays = {
            f"{name}/{key}": array
            for name, store in self._stores()
            for key, array in store.arrays().items()
        }
        return {"tally": asdict(self.tally), "counts": asdict(self.counts)}, arrays

    def restore(self, state: Mapping[str, Any], arrays: Arrays) -> None:
        """Take up a state."""
        self.tally, self.counts = Tally(**state["tally"]), Counts(**state["counts"])
        for name, store in self._stores():
            store.restore(_part(name, arrays))

    def merge(self, state: Mapping[str, Any], arrays: Arrays) -> None:
        """Add the state of others."""
        self.tally.add(Tally(**state["tally"]))
        self.counts.add(Counts(**state["counts"]))
        for name, store in self._stores():
            store.merge(_part(name, arrays))

    def _stores(self) -> list[tuple[str, Sums | Kept | ExampleStore]]:
        kept = ((f"{name}/kept", kept) for name, kept in self.kept.items())
        examples = [] if self.examples is None else [(EXAMPLES, self.examples)]
        return [*self.sums.items(), *kept, *examples]


def _part(name: str, arrays: Arrays) -> Arrays:
    """The arrays of one store."""
    split = ((key.rpartition("/"), array) for key, array in arrays.items())
    return {last: array for (store, _, last), array in split if store == name}


def _tally(batch: Batch, result: BatchValues) -> Tally:
    tally = Tally()
    for item, layer in zip(batch.items, result.broken, strict=True):
        if layer < 0:
            tally.seen += 1
            tally.grouped += bool(item.example.group)
            continue
        name = f"{item.example.id}: attention is not finite in layer {layer + 1}"
        tally.add(Tally(nonfinite=1, nonfinite_examples=[name]))
    return tally


@dataclass(eq=False)
class SurveyWork(ModelWork):
    """What is done to a unit of examples, here or by a worker: sent to each worker once.

    Parameters
    ----------
    model
        The model.
    measures
        Bound to the run.
    stack, context, settings
        Of the run.
    examples
        How many examples are kept in the sample that all heads share; 0 for none.
    """

    made_there: ClassVar[tuple[str, ...]] = ("_forward", "_keeper", "_standing")

    model: Model
    measures: Sequence[Measure]
    stack: str
    context: Context
    settings: Options
    examples: int = 0
    keys: dict[int, int] = field(default_factory=dict, init=False)
    """Number and part of each example of the unit in work, by the identity of its tokens."""
    _forward: Callable[[Batch], BatchValues] | None = field(default=None, init=False)
    _keeper: Keeper | None = field(default=None, init=False)
    _standing: Standing | None = field(default=None, init=False)

    def __call__(self, unit: WorkUnit, skip: int = 0) -> tuple[dict[str, Any], Arrays]:
        """Survey a unit of examples, without its first ``skip`` batches; what it gives as state."""
        gathered = self.gathered()
        store = gathered.examples
        if store is not None:
            # What falls behind the examples of earlier units could never be kept in the end.
            store.floor = self._standing
        for batch in self.batches(unit, gathered.counts):
            if batch.index >= skip:
                gathered.add(unit.index, batch, self.run(batch, store))
        if store is not None:
            self._standing = store.standing()
        return gathered.state()

    def gathered(self) -> Gathered:
        """Where what is found is gathered: nothing yet."""
        shape, store = self.context.shape, None
        if self.examples:
            store = ExampleStore(shape.labels, shape.heads, self.examples, strongest(self.examples))
        return Gathered(self.measures, self.settings.batch_size, store)

    def batches(self, unit: WorkUnit, counts: Counts) -> Iterator[Batch]:
        """The batches of a unit. What happened to its examples is added to ``counts``."""
        encoder = self.encoder(self.model)
        items = list(
            self.numbered(unit, encoder) if self.examples else self.encode(unit.examples, encoder)
        )
        counts.add(encoder.counts)
        return self.model.batches(items, size=self.settings.batch_size)

    def encoder(self, model: Model) -> Encoder | CrossEncoder:
        """A new encoder for one of the run's models."""
        settings = self.settings
        if self.stack == "cross":
            return model.cross_encoder(max_length=settings.max_length, long=settings.long)
        return model.encoder(
            max_length=settings.max_length,
            long=settings.long,
            stack=self.stack,
            token_types=settings.token_types,
        )

    def encode(
        self, examples: Iterable[Example], encoder: Encoder | CrossEncoder
    ) -> Iterator[Encoded]:
        """The examples as tokens."""
        return encoder.encode(examples)

    def numbered(self, unit: WorkUnit, encoder: Encoder | CrossEncoder) -> Iterator[Encoded]:
        """The examples of a unit as tokens, noting the number and the part of each."""
        self.keys = {}
        first = unit.index * self.settings.batch_size * UNIT + 1
        for number, example in enumerate(unit.examples, first):
            for part, item in enumerate(self.encode([example], encoder)):
                self.keys[id(item)] = number * PARTS + part
                yield item

    def run(self, batch: Batch, store: ExampleStore | None = None) -> BatchValues:
        """One batch through the model. Examples are found that belong into the store."""
        if self._forward is None:
            torch.manual_seed(self.settings.seed)
            self._forward = self.make_forward()
        if self._keeper is not None:
            self._keeper.store, self._keeper.keys = store, self.keys
        return self._forward(batch)

    def make_forward(self) -> Callable[[Batch], BatchValues]:
        """What every batch goes through."""
        self._keeper = Keeper(self.model, self.context) if self.examples else None
        return Pass(self.model, self.measures, self.stack, self.context, self._keeper).run


def strongest(examples: int) -> int:
    """How many of its strongest examples each head keeps beside a sample of some size.

    >>> strongest(32), strongest(2)
    (8, 1)
    """
    return max(1, examples // 4)
