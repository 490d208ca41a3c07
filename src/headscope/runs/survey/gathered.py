"""What a survey has gathered: sums, kept values and counts, in parts that add up in any order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import bucket_of
from headscope.encode import UNIT, Batch, Counts
from headscope.labels import first_names
from headscope.measures.base import Measure
from headscope.measures.sums import Kept, Sums
from headscope.results.schema import EXAMPLES
from headscope.results.stored import ExampleStore
from headscope.runs.forward import BatchValues

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
        self,
        measures: Iterable[Measure],
        batch_size: int,
        examples: ExampleStore | None = None,
    ) -> None:
        measures = list(measures)
        self.batch_size = batch_size
        self.sums = {measure.name: Sums(measure) for measure in measures}
        self.kept = {measure.name: Kept(measure) for measure in measures if measure.keep}
        self.examples = examples
        self.tally, self.counts = Tally(), Counts()

    def add(self, unit: int, batch: Batch, found: BatchValues) -> None:
        """Add what a batch gave. It is the batch ``batch.index`` of its unit."""
        keep = found.broken < 0
        self.tally.add(_tally(batch, found))
        rows = np.flatnonzero(keep)
        examples = [batch.items[row].example for row in rows]
        buckets = [bucket_of(example) for example in examples]
        for name, values in found.values.items():
            totals = found.totals.get(name)
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
        if self.examples is not None and found.examples is not None:
            found.examples.into(self.examples, keep)

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


def _tally(batch: Batch, found: BatchValues) -> Tally:
    tally = Tally()
    for item, layer in zip(batch.items, found.broken, strict=True):
        if layer < 0:
            tally.seen += 1
            tally.grouped += bool(item.example.group)
            continue
        name = f"{item.example.id}: attention is not finite in layer {layer + 1}"
        tally.add(Tally(nonfinite=1, nonfinite_examples=[name]))
    return tally
