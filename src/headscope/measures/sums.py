"""What a run remembers of a measure: sums by bucket, and the values of some single examples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.corpus.example import BUCKETS
from headscope.errors import UserError
from headscope.measures.base import Measure
from headscope.results.moments import BucketSums
from headscope.results.schema import EXACT

Array = NDArray[Any]


class Sums:
    """Sum, sum of squares and count of a measure's values, by bucket, layer, head and label.

    An example goes to the bucket of its document (:func:`headscope.corpus.bucket_of`), so that
    halves of the corpus and intervals over documents can be had later without a second pass. Sums
    are exact (:mod:`headscope.results.moments`): the order in which examples are added does not
    matter.
    """

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.lead = measure.lead
        shape = (*(len(labels) for labels in self.lead.values()), measure.width)
        self.sum = BucketSums(BUCKETS, shape)
        self.square = BucketSums(BUCKETS, shape)
        self.count = np.zeros((BUCKETS, *shape), np.int64)

    def add(self, buckets: Sequence[int], values: Array, totals: Array | None = None) -> None:
        """Add the values of some examples.

        Parameters
        ----------
        buckets
            The bucket of each example.
        values
            (example, layer, head, label). NaN is not counted.
        totals
            (example, label), for measures that count right answers: ``values`` then says how many
            answers were right, ``totals`` how many there were. A right answer is 1, and its square
            too.
        """
        values = values.astype(np.float64)
        if totals is not None:
            filled = squares = values
            shape = (len(values), *(1 for _ in self.lead), values.shape[-1])
            counts = np.broadcast_to(totals.reshape(shape), values.shape).astype(np.int64)
        else:
            defined = ~np.isnan(values)
            filled = np.where(defined, values, 0.0)
            squares, counts = filled**2, defined.astype(np.int64)
        try:
            self.sum.add(buckets, filled)
            self.square.add(buckets, squares)
        except ValueError as error:
            raise UserError(
                f"the measure {self.measure.name!r} gave values that cannot be summed: {error}",
                hint="return NaN where a value is not defined, and finite numbers elsewhere",
            ) from None
        for number, bucket in enumerate(buckets):
            self.count[bucket] += counts[number]

    def arrays(self) -> dict[str, Array]:
        """Everything as plain arrays, for a checkpoint."""
        return {"sum": self.sum.limbs, "square": self.square.limbs, "count": self.count}

    def merge(self, arrays: Mapping[str, Array]) -> None:
        """Add what another has summed up, given as its arrays."""
        self.sum.merge(arrays["sum"])
        self.square.merge(arrays["square"])
        self.count += arrays["count"]

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take up what a checkpoint kept."""
        self.sum.limbs = arrays["sum"].copy()
        self.square.limbs = arrays["square"].copy()
        self.count = arrays["count"].copy()

    def dataset(self, *, exact: bool = False) -> xr.Dataset:
        """The sums with labels; with ``exact`` also their limbs, by which shards are merged."""
        labels = {**self.lead, **self.measure.dims}
        coordinates: dict[str, Array] = {"bucket": np.arange(1, BUCKETS + 1)}
        for dim, values in labels.items():
            kind: type = object if isinstance(values[0], str) else int
            coordinates[dim] = np.array(values, dtype=kind)
        shape = [len(values) for values in coordinates.values()]
        variables: dict[str, tuple[tuple[str, ...], Array]] = {
            "sum": (tuple(coordinates), self.sum.values().reshape(shape)),
            "square": (tuple(coordinates), self.square.values().reshape(shape)),
            "count": (tuple(coordinates), self.count.reshape(shape)),
        }
        if exact:
            for name, sums in (("sum", self.sum), ("square", self.square)):
                limbs = sums.limbs.reshape(-1, *shape)
                variables[f"{name}{EXACT}"] = (("limb", *coordinates), limbs)
        return xr.Dataset(variables, coordinates, self.measure.attributes())


class Kept:
    """The values of single examples, for measures whose distribution is of interest.

    Four bytes per head, label and example. Examples are numbered in the order of the run's batches,
    which is the same however the run is split.
    """

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.shape = (*(len(labels) for labels in measure.lead.values()), measure.width)
        self.values: list[NDArray[np.float32]] = []
        self.numbers: list[int] = []
        self.ids: list[str] = []
        self.groups: list[str] = []
        self.tokens: list[int] = []

    def add(
        self,
        numbers: Sequence[int],
        ids: Sequence[str],
        groups: Sequence[str],
        tokens: Sequence[int],
        values: Array,
    ) -> None:
        """Keep the values of some examples, (example, layer, head, label)."""
        self.values.append(values.astype(np.float32))
        self.numbers += numbers
        self.ids += ids
        self.groups += groups
        self.tokens += tokens

    def arrays(self) -> dict[str, Array]:
        """Everything as plain arrays, for a checkpoint."""
        texts = json.dumps({"ids": self.ids, "groups": self.groups}).encode()
        return {
            "values": self._whole(),
            "numbers": np.array(self.numbers, np.int64),
            "tokens": np.array(self.tokens, np.int64),
            "texts": np.frombuffer(texts, np.uint8),
        }

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take up what a checkpoint kept."""
        self.values, self.numbers, self.ids, self.groups, self.tokens = [], [], [], [], []
        self.merge(arrays)

    def merge(self, arrays: Mapping[str, Array]) -> None:
        """Keep what another has kept, given as its arrays."""
        texts = json.loads(arrays["texts"].tobytes())
        numbers, tokens = (arrays[name].tolist() for name in ("numbers", "tokens"))
        self.add(numbers, texts["ids"], texts["groups"], tokens, arrays["values"])

    def dataset(self) -> xr.Dataset:
        """The values with labels, by example number.

        ``id`` and ``group`` are the example's own; ``tokens`` is its length.
        """
        order = np.argsort(self.numbers)
        labels = {**self.measure.lead, **self.measure.dims}
        values = self._whole()[order].reshape(-1, *(len(names) for names in labels.values()))
        return xr.Dataset(
            {"value": (("example", *labels), values)},
            {
                "example": np.array(self.numbers, np.int64)[order],
                "id": ("example", np.array(self.ids, dtype=object)[order]),
                "group": ("example", np.array(self.groups, dtype=object)[order]),
                "tokens": ("example", np.array(self.tokens, np.int64)[order]),
            },
        )

    def _whole(self) -> NDArray[np.float32]:
        if not self.values:
            return np.zeros((0, *self.shape), np.float32)
        return np.concatenate(self.values)
