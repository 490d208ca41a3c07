"""Four ways to make a measure of attention maps. A measure says only what is its own.

- :class:`Linear`: a weighted sum of attention over relations between tokens.
- :class:`RowMean`: some numbers of each row of a map, averaged (or summed) over rows.
- :class:`ColumnMean`: the mean attention that every key gets, and numbers of these.
- :class:`Strongest`: the largest attention among pairs of tokens.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.encode.cross import key_batch
from headscope.measures.base import Context, Measure, Together, once
from headscope.measures.kernels import Layout, PickedPairs, to_device
from headscope.measures.lazy import torch
from headscope.measures.relations import Floats, Weighted

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.encode import Batch, Encoded
    from headscope.models import LayerView, Model

Weights = Weighted | Floats | None
"""The weights of one label: a weighted relation, a (T, T) matrix, or None where undefined."""
Places = NDArray[np.int64]
"""A set of places, (place,); or of pairs (query, key), (pair, 2)."""
NAN = float("nan")


class Linear(Measure):
    """A measure that is a weighted sum of attention.

    The *mass* of a relation is the attention a query pays to its keys, averaged over the queries
    that have any. A subclass only says which weights (:meth:`weights`); all such measures of a run
    are computed together, a block of rows at a time.
    """

    in_blocks = True

    @abstractmethod
    def weights(self, item: Encoded) -> Sequence[Weights]:
        """The weights of every label.

        Each is what :func:`~headscope.measures.mass_weights` makes of a relation, a (T, T) matrix
        of float32, or None where the label is not defined for this example.
        """

    def prepare(self, batch: Batch, device: Any) -> LinearTogether:
        """Alone, a linear measure is a group of one."""
        alone = LinearTogether([self])
        alone.start(batch, device)
        return alone

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: Any) -> None:
        """Add the block's share."""
        prepared.rows(view, block, first_row)

    def end(self, view: LayerView, prepared: LinearTogether) -> Tensor:
        """(batch, head, label)."""
        return prepared.layout.end()

    @classmethod
    def together(
        cls, measures: Sequence[Measure], model: Model, stack: str, context: Context
    ) -> Together:
        """One pass over every block for all linear measures."""
        return LinearTogether(measures)


class LinearTogether(Together):
    """The linear measures of a run: the relations of all of them are summed together."""

    def start(self, batch: Batch, device: Any) -> None:
        """Lay out the relations of a batch."""
        linear = [measure for measure in self.measures if isinstance(measure, Linear)]
        weights = [[label for one in linear for label in one.weights(item)] for item in batch.items]
        self.layout = Layout(weights, batch.width, device, keys=key_batch(batch).width)
        self.parts = [(measure, None, []) for measure in self.measures]

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Take in a block."""
        self.layout.rows(block, first_row)

    def end(self, view: LayerView) -> None:
        """The layer's values; NaN where undefined."""
        widths = [measure.width for measure in self.measures]
        for (*_, layers), share in zip(
            self.parts, torch.split(self.layout.end(), widths, -1), strict=True
        ):
            layers.append(share)


class RowMean(Measure):
    """A measure that is the mean over an example's rows of some numbers of each row.

    A subclass says which numbers (:meth:`of_rows`), and may leave out rows and keys.
    """

    in_blocks = True

    def of_rows(self, block: Tensor, first_row: int) -> Tensor:
        """The numbers of every row, from a block without the keys that do not count: (batch, head,
        row, key) -> (batch, head, row, label).
        """
        raise self._lacks("of_rows")

    def row_values(self, block: Tensor, first_row: int, prepared: SimpleNamespace) -> Tensor:
        """The same from a whole block, for measures that leave out keys in another way.

        ``prepared.keys`` is 1 on keys that count, (batch, 1, key), or None if all do;
        ``prepared.lengths`` and ``prepared.across`` are the numbers of rows and of keys, (batch, 1,
        1).
        """
        kept = block if prepared.keys is None else block * prepared.keys[:, None]
        return self.of_rows(kept, first_row)

    def counted_rows(self, item: Encoded) -> NDArray[np.bool_]:
        """Which rows of an example count: all, unless overridden."""
        return np.ones(len(item), np.bool_)

    def counted_keys(self, item: Encoded) -> NDArray[np.bool_]:
        """Which keys of an example count: all, unless overridden."""
        return np.ones(len(item), np.bool_)

    def row_weights(self, item: Encoded) -> NDArray[Any]:
        """How much each row counts, (row, label) or (row, 1): equal shares of 1."""
        rows = self.counted_rows(item)
        return (rows / max(int(rows.sum()), 1))[:, None]

    def prepare(self, batch: Batch, device: Any) -> SimpleNamespace:
        """Average over real rows only; padding is no key."""
        over = key_batch(batch)
        listed = [self.row_weights(item) for item in batch.items]
        weights = np.zeros((len(batch), 1, batch.width, listed[0].shape[1]))
        keys = np.zeros((len(batch), 1, over.width), np.float32)
        for at, (rows, other) in enumerate(zip(listed, over.items, strict=True)):
            weights[at, 0, : len(rows)] = rows
            keys[at, 0, : len(other)] = self.counted_keys(other)
        lengths, across = (
            to_device(side.lengths[:, None, None].astype(np.float32), device)
            for side in (batch, over)
        )
        return SimpleNamespace(
            weights=to_device(weights, device),
            undefined=to_device(np.asarray(~weights.any(2)), device),
            keys=None if keys.all() else to_device(keys, device),
            lengths=lengths,
            across=across,
            total=0.0,
        )

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: Any) -> None:
        """Add the rows of a block. Padded rows may hold anything, even infinity."""
        weights = prepared.weights[:, :, first_row : first_row + block.shape[2]]
        values = self.row_values(block, first_row, prepared).double().where(weights != 0, 0.0)
        prepared.total = prepared.total + (values * weights).sum(2)

    def end(self, view: LayerView, prepared: SimpleNamespace) -> Tensor:
        """(batch, head, label); NaN where no row counts."""
        total: Tensor = prepared.total.float()
        prepared.total = 0.0
        return total.masked_fill(prepared.undefined, NAN)


class ColumnMean(Measure):
    """A measure of the attention that every key gets, a weighted sum over rows.

    Attributes
    ----------
    length
        Only so many rows and keys are read; None for all.
    """

    in_blocks = True
    length: int | None = None

    @abstractmethod
    def of_columns(self, columns: Tensor, prepared: SimpleNamespace) -> Tensor:
        """The values of a layer: (batch, head, key) -> (batch, head, label)."""

    @abstractmethod
    def row_weights(self, item: Encoded) -> NDArray[Any]:
        """How much each row counts, (row,); 0 for all where an example does not count."""

    def prepare(self, batch: Batch, device: Any) -> SimpleNamespace:
        """The weights of rows."""
        weights = np.zeros((len(batch), 1, 1, batch.width), np.float32)
        for at, item in enumerate(batch.items):
            weights[at, 0, 0, : len(item)] = self.row_weights(item)
        return SimpleNamespace(
            weights=to_device(weights, device),
            undefined=to_device(np.asarray(~weights.any(3)), device),
            total=None,
        )

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: Any) -> None:
        """Add up the attention that every key gets."""
        here = slice(first_row, first_row + block.shape[2])
        owner = block
        if self.length is not None:
            block = block[:, :, : max(self.length - first_row, 0), : self.length]
        weights = prepared.weights[..., here][..., : block.shape[2]]
        # Measures with the same weights, such as those of sinks, share the sums.
        name = f"columns {type(self).row_weights.__qualname__} {self.length}"
        added = once(owner, name, lambda: (weights @ block)[:, :, 0])
        prepared.total = added if prepared.total is None else prepared.total + added

    def end(self, view: LayerView, prepared: SimpleNamespace) -> Tensor:
        """(batch, head, label); NaN where an example does not count."""
        total, prepared.total = prepared.total, None
        return self.of_columns(total, prepared).masked_fill(prepared.undefined, NAN)


def every_pair(queries: Places, keys: Places) -> Places:
    """All pairs of a query and a key.

    >>> every_pair(np.array([4, 5]), np.array([1])).tolist()
    [[4, 1], [5, 1]]
    """
    return np.stack([np.repeat(queries, len(keys)), np.tile(keys, len(queries))], axis=1)


def joined(lists: Sequence[Places]) -> Places:
    """Several lists of pairs as one."""
    return np.concatenate([np.zeros((0, 2), np.int64), *lists])


class Strongest(Measure):
    """The largest attention among pairs of tokens: a subclass only says which pairs. In a causal
    model a pair whose key comes later is no pair.
    """

    in_blocks = True

    @abstractmethod
    def pairs(self, item: Encoded) -> Sequence[Places]:
        """The pairs (query, key) of each label, (pair, 2)."""

    def prepare(self, batch: Batch, device: Any) -> SimpleNamespace:
        """List all pairs."""
        listed: list[Places] = [np.zeros((0, 3), np.int64)]
        for example, item in enumerate(batch.items):
            for label, pairs in enumerate(self.pairs(item)):
                if self.context.causal:
                    pairs = pairs[pairs[:, 1] <= pairs[:, 0]]
                target = np.full((len(pairs), 1), example * self.width + label)
                listed.append(np.concatenate([target, pairs], 1))
        targets, queries, keys = np.concatenate(listed).T
        picked = PickedPairs(targets // self.width, queries, keys, device)
        return SimpleNamespace(size=len(batch), picked=picked, targets=to_device(targets, device))

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: Any) -> None:
        """Pick the pairs of the block."""
        prepared.picked.rows(block, first_row)

    def end(self, view: LayerView, prepared: SimpleNamespace) -> Tensor:
        """(batch, head, label); NaN where there is no pair."""
        values: Tensor = prepared.picked.end()
        largest = values.new_full((len(values), prepared.size * self.width), NAN)
        places = prepared.targets.expand_as(values)
        largest.scatter_reduce_(1, places, values, "amax", include_self=False)
        return largest.view(-1, prepared.size, self.width).transpose(0, 1)
