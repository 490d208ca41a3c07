"""The weighted relations of a batch, laid out so that blocks of attention are summed quickly.

Columns and diagonals become *features* of a row: its attention to a set of columns, or to the token
at an offset. They are computed block by block, kept for all rows of a layer, and weighted once at
its end. Equal columns of several labels are computed once; so are equal pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.measures.kinds import Floats, Parts, Weighted
from headscope.measures.reductions import over_keys


class Layout:
    """All weighted relations of a batch.

    Parameters
    ----------
    weights
        Of each example the weights of each label; None where a label is not defined.
    width
        The number of tokens of the longest example.
    device
        Where attention is.
    keys
        The same of the keys, where they are other tokens (cross attention). Relations are then
        columns.
    """

    def __init__(
        self,
        weights: Sequence[Sequence[Weighted | Floats | None]],
        width: int,
        device: Any = "cpu",
        keys: int | None = None,
    ) -> None:
        self.heads, self.labels = 0, len(weights[0]) if weights else 0
        parts = [[_parts(label) for label in labels] for labels in weights]
        undefined = np.array([[label is None for label in labels] for labels in weights])
        self.undefined = torch.from_numpy(undefined.reshape(-1, 1, self.labels)).to(device)
        self.features = Features(parts, width, width if keys is None else keys, device)
        self.pairs = PairValues(parts, device)
        self.matrices = Matrices(parts, width, device)

    def rows(self, block: Tensor, first_row: int) -> None:
        """Take in a block of rows, (batch, head, row, key)."""
        self.heads = block.shape[1]
        self.features.rows(block, first_row)
        self.pairs.rows(block, first_row)
        self.matrices.rows(block, first_row)

    def end(self) -> Tensor:
        """The sums of the layer, (batch, head, label); NaN where undefined."""
        found = [
            part
            for part in (self.features.end(), self.pairs.end(), self.matrices.end())
            if part is not None
        ]
        if not found:  # no label is defined anywhere
            return (
                self.undefined.float()
                .masked_fill(self.undefined, float("nan"))
                .expand(-1, self.heads, -1)
            )
        return torch.stack(found).sum(0).masked_fill_(self.undefined, float("nan"))


def _parts(label: Weighted | Floats | None) -> Parts:
    if label is None:
        return Parts()
    return label.parts() if isinstance(label, Weighted) else Parts(matrices=[label])


class Features:
    """Columns and diagonals: values of single rows, weighted and summed over rows."""

    def __init__(
        self, parts: Sequence[Sequence[Parts]], width: int, across: int, device: Any
    ) -> None:
        size = len(parts)
        self.offsets = sorted(
            {offset for labels in parts for part in labels for offset, _ in part.diagonals}
        )
        self.columns = 0
        keys: list[tuple[int, int, Floats]] = []
        terms: list[list[tuple[int, int, Floats]]] = [[] for _ in parts]
        for example, labels in enumerate(parts):
            slots: dict[bytes, int] = {}
            for label, part in enumerate(labels):
                for columns, rows in part.columns:
                    name = columns.tobytes()
                    if name not in slots:
                        slots[name] = len(slots)
                        keys.append((example, slots[name], columns))
                    terms[example].append((slots[name], label, rows))
            self.columns = max(self.columns, len(slots))
        for example, labels in enumerate(parts):
            for label, part in enumerate(labels):
                for offset, rows in part.diagonals:
                    slot = self.columns + self.offsets.index(offset)
                    terms[example].append((slot, label, rows))
        table = np.zeros((size, self.columns, across), np.float32)
        for example, slot, columns in keys:
            table[example, slot, : len(columns)] = columns
        self.table = torch.from_numpy(table).to(device)
        self._place(terms, width, device)
        self.labels = len(parts[0]) if parts else 0
        self.values: Tensor | None = None

    def _place(
        self, terms: Sequence[Sequence[tuple[int, int, Floats]]], width: int, device: Any
    ) -> None:
        """Lay out the terms (feature, label, weights of the rows) of each example by feature."""
        count = self.columns + len(self.offsets)
        used = np.zeros((len(terms), count), np.int64)
        placed = list[tuple[int, int, int, int, Floats]]()
        for example, found in enumerate(terms):
            for slot, label, rows in found:
                placed.append((example, slot, int(used[example, slot]), label, rows))
                used[example, slot] += 1
        most = int(used.max(initial=0))
        weights = np.zeros((len(terms), count, width, most), np.float64)
        targets = np.zeros((len(terms), count, most), np.int64)  # unused ones add 0 to label 0
        for example, slot, number, label, rows in placed:
            weights[example, slot, : len(rows), number] = rows
            targets[example, slot, number] = label
        self.weights, self.targets = (
            torch.from_numpy(array).to(device) for array in (weights, targets)
        )

    def rows(self, block: Tensor, first_row: int) -> None:
        """Compute the features of the rows of a block."""
        if not self.weights.shape[3]:
            return
        size, heads, rows, _ = block.shape
        if self.values is None:
            shape = (size, self.columns + len(self.offsets), heads, self.weights.shape[2])
            self.values = block.new_zeros(shape)
        here = self.values[..., first_row : first_row + rows]
        if self.columns:
            here[:, : self.columns] = over_keys(block, self.table)
        for number, offset in enumerate(self.offsets, self.columns):
            start = max(-offset - first_row, 0)  # rows above have no token so far before
            found = block[:, :, start:].diagonal(first_row + start + offset, 2, 3)
            here[:, number, :, start : start + found.shape[2]] = found

    def end(self) -> Tensor | None:
        """Weigh the rows: (batch, head, label)."""
        if self.values is None:
            return None
        values, self.values = self.values, None
        size, _, heads, _ = values.shape
        terms = (values.double() @ self.weights).transpose(1, 2)  # (batch, head, feature, term)
        targets = self.targets[:, None].expand_as(terms).flatten(2)
        found = values.new_zeros(size, heads, self.labels)
        return found.scatter_add_(2, targets, terms.float().flatten(2))


class PickedPairs:
    """The attention of single pairs, picked from blocks of rows.

    Parameters
    ----------
    examples, queries, keys
        The pairs; any may stand several times.
    """

    def __init__(
        self,
        examples: NDArray[np.int64],
        queries: NDArray[np.int64],
        keys: NDArray[np.int64],
        device: Any,
    ) -> None:
        size, across = (int(numbers.max(initial=-1)) + 1 for numbers in (examples, keys))
        codes, which = np.unique((queries * size + examples) * across + keys, return_inverse=True)
        table = np.stack(np.unravel_index(codes, (int(queries.max(initial=-1)) + 1, size, across)))
        self.queries = table[0]  # ascending
        self.table = torch.from_numpy(table).to(device)
        self.which = torch.from_numpy(which).to(device)
        self.values: list[Tensor] = []

    def rows(self, block: Tensor, first_row: int) -> None:
        """Pick the pairs whose query is in the block."""
        edges = np.searchsorted(self.queries, [first_row, first_row + block.shape[2]])
        query, example, key = self.table[:, int(edges[0]) : int(edges[1])]
        self.values.append(block[example, :, query - first_row, key])

    def end(self) -> Tensor:
        """The attention of every pair given, (head, pair)."""
        values = self.values[0] if len(self.values) == 1 else torch.cat(self.values)
        self.values = []
        return values[self.which].t().contiguous()


class PairValues:
    """Single pairs: their attention is picked, then weighted and summed."""

    def __init__(self, parts: Sequence[Sequence[Parts]], device: Any) -> None:
        self.size, self.labels = len(parts), len(parts[0]) if parts else 0
        found = [
            (np.full_like(queries, example), queries, keys, np.full_like(queries, label), weights)
            for example, labels in enumerate(parts)
            for label, part in enumerate(labels)
            for queries, keys, weights in part.pairs
            if len(queries)
        ]
        self.picked: PickedPairs | None = None
        if found:
            examples, queries, keys, labels, weights = (
                np.concatenate(column) for column in zip(*found, strict=True)
            )
            self.picked = PickedPairs(examples, queries, keys, device)
            self.targets = torch.from_numpy(examples * self.labels + labels).to(device)
            self.weights = torch.from_numpy(weights).to(device)

    def rows(self, block: Tensor, first_row: int) -> None:
        """Pick the pairs of a block."""
        if self.picked is not None:
            self.picked.rows(block, first_row)

    def end(self) -> Tensor | None:
        """(batch, head, label)."""
        if self.picked is None:
            return None
        picked = self.picked.end()
        sums = picked.new_zeros(len(picked), self.size * self.labels, dtype=torch.float64)
        # A head at a time: there may be a million pairs, and all in float64 would be the peak.
        for total, values in zip(sums, picked, strict=True):
            total.scatter_add_(0, self.targets, values.double() * self.weights)
        return sums.view(-1, self.size, self.labels).transpose(0, 1).float()


class Matrices:
    """Weights of any form: one matrix product over all pairs of tokens."""

    def __init__(self, parts: Sequence[Sequence[Parts]], width: int, device: Any) -> None:
        self.labels = len(parts[0]) if parts else 0
        dense = sorted({at for labels in parts for at, part in enumerate(labels) if part.matrices})
        weights = np.zeros((len(parts), len(dense), width, width), np.float32)
        for example, labels in enumerate(parts):
            for number, label in enumerate(dense):
                for matrix in labels[label].matrices:
                    weights[example, number, : len(matrix), : len(matrix)] += matrix
        self.weights = torch.from_numpy(weights).to(device)
        self.places = torch.tensor(dense, device=device, dtype=torch.int64)
        self.sum: Tensor | None = None

    def rows(self, block: Tensor, first_row: int) -> None:
        """Add the product of a block with its rows of the weights."""
        if not len(self.places):
            return
        weights = self.weights[:, :, first_row : first_row + block.shape[2], : block.shape[3]]
        product = torch.bmm(block.flatten(2), weights.flatten(2).transpose(1, 2))
        self.sum = product if self.sum is None else self.sum + product

    def end(self) -> Tensor | None:
        """(batch, head, label)."""
        if self.sum is None:
            return None
        found, self.sum = self.sum, None
        return found.new_zeros(*found.shape[:2], self.labels).index_copy_(2, self.places, found)
