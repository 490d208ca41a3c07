"""How blocks of attention are reduced: sums over relations, over keys, logarithms, maxima, pairs.

Attention is read from memory once, and the vector units of the processor are used; results are
those of the obvious way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.measures.base import once
from headscope.measures.lazy import torch
from headscope.measures.relations import Floats, Weighted

if TYPE_CHECKING:
    from torch import Tensor

TINY = 2.0**-126
"""The smallest normal number of float32."""


def to_device(array: NDArray[Any], device: Any) -> Tensor:
    """An array as a tensor."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)


def logarithms(attention: Tensor) -> Tensor:
    """ln α, with a large negative number for ln 0."""
    return attention.clamp_min(TINY).log_()


def entropy_terms(block: Tensor) -> Tensor:
    """α ln α of every weight (0 for a weight of 0), made once per block for all measures: it costs
    more than all else they do.
    """
    terms: Tensor = once(block, "α ln α", lambda: logarithms(block).mul_(block))
    return terms


def over_keys(block: Tensor, weights: Tensor) -> Tensor:
    """Weighted sums over keys: (batch, head, row, key) and (batch, sum, key) -> (batch, sum, head,
    row).

    Keys are last on both sides of the product, which is up to eight times as fast as the other way
    round.

    >>> import torch
    >>> block = torch.tensor([[[[0.5, 0.25, 0.25]]]])
    >>> over_keys(block, torch.tensor([[[1.0, 1.0, 0.0]]]))
    tensor([[[[0.7500]]]])
    """
    size, heads, rows, keys = block.shape
    flat = block.reshape(size, heads * rows, keys).transpose(1, 2)
    return torch.bmm(weights[..., :keys], flat).view(size, -1, heads, rows)


def distances(block: Tensor, first_row: int) -> Tensor:
    """How many tokens the rows of a block are from its keys, (row, key)."""
    rows, keys = block.shape[2:]
    places = torch.arange(max(first_row + rows, keys), device=block.device)
    return (places[first_row : first_row + rows, None] - places[:keys]).abs()


def distance_sums(block: Tensor, first_row: int) -> tuple[Tensor, Tensor]:
    """Σ α·|i-j| and Σ α·|i-j|² of every row: (batch, head, row, key) -> (batch, head, row).

    A thin matrix product for each row, over all heads at once: the maps are read once and nothing
    of their size is made. Keys are last on both sides, which is six times as fast as the other way
    round.

    >>> import torch
    >>> once, twice = distance_sums(torch.tensor([[[[0.5, 0.0, 0.5]]]]), first_row=2)
    >>> once.item(), twice.item()
    (1.0, 2.0)
    """
    size, heads, rows, keys = block.shape
    away = distances(block, first_row).to(block.dtype)
    weights = torch.stack([away, away**2], 1)  # (row, 2, key)
    sums = torch.bmm(weights, block.reshape(size * heads, rows, keys).permute(1, 2, 0))
    once, twice = sums.permute(1, 2, 0).reshape(2, size, heads, rows).unbind(0)
    return once, twice


def largest_and_place(values: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The largest value along a dimension, and its place; of equal ones the first.

    Places are whole numbers in float32. In a line that holds NaN, the place is the length of the
    line. ``torch.max`` gives the same, but takes four times as long.

    >>> import torch
    >>> largest_and_place(torch.tensor([[0.2, 0.4, 0.4]]), -1)
    (tensor([0.4000]), tensor([1.]))
    """
    length = values.shape[dim]
    top = values.amax(dim, keepdim=True)
    shape = [1] * values.dim()
    shape[dim] = length
    left = torch.arange(length, 0, -1, dtype=torch.float32, device=values.device).view(shape)
    # 1 where a value is the largest, as numbers: choosing by truth values is slow.
    places = torch.empty_like(values, memory_format=torch.contiguous_format)
    places = torch.ge(values, top, out=places).mul_(left)
    return top.squeeze(dim), length - places.amax(dim)


class PickedPairs:
    """The attention of single pairs of tokens (any may stand several times), picked from blocks."""

    def __init__(
        self,
        examples: NDArray[np.int64],
        queries: NDArray[np.int64],
        keys: NDArray[np.int64],
        device: Any,
    ) -> None:
        size, across = (int(numbers.max(initial=0)) + 1 for numbers in (examples, keys))
        codes, which = np.unique((queries * size + examples) * across + keys, return_inverse=True)
        table = np.stack(np.unravel_index(codes, (int(queries.max(initial=0)) + 1, size, across)))
        self.queries = table[0]  # ascending
        self.table, self.which = to_device(table, device), to_device(which, device)
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


class Layout:
    """The weighted relations of a batch, laid out so that blocks are summed quickly.

    Columns and diagonals become *features* of a row: its attention to a set of columns, or to the
    token at an offset. They are computed block by block, kept for all rows of a layer, and weighted
    once at its end. Equal columns of several labels are computed once; so are equal pairs.

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
        self.size, self.labels, self.heads = len(weights), len(weights[0]) if weights else 0, 0
        self.device = device
        undefined = np.array([[label is None for label in labels] for labels in weights])
        self.undefined = to_device(undefined.reshape(-1, 1, self.labels), device)
        self.columns, self.offsets = 0, list[int]()
        slots = [dict[bytes, int]() for _ in weights]
        sets, columns = list[tuple[int, int, Any]](), list[tuple[int, int, int, Floats]]()
        diagonals, pairs = list[tuple[int, int, int, Floats]](), list[tuple[Any, ...]]()
        dense: dict[int, list[tuple[int, Floats]]] = {}
        for example, labels in enumerate(weights):
            for label, weighting in enumerate(labels):
                if weighting is None:
                    continue
                if not isinstance(weighting, Weighted):
                    dense.setdefault(label, []).append((example, weighting))
                    continue
                relation, rows = weighting.relation, weighting.rows
                for mask, queries in relation.columns:
                    name = mask.tobytes()
                    if name not in slots[example]:
                        slots[example][name] = len(slots[example])
                        sets.append((example, slots[example][name], mask))
                    counted = rows if queries.all() else np.where(queries, rows, np.float32(0))
                    columns.append((example, slots[example][name], label, counted))
                for offset, has in relation.diagonals:
                    diagonals.append((example, offset, label, np.where(has, rows, np.float32(0))))
                if len(relation.queries):
                    weighed = rows[relation.queries]
                    pairs.append((example, label, relation.queries, relation.keys, weighed))
                if relation.dense is not None:
                    dense.setdefault(label, []).append((example, weighting.matrix()))
        self.columns = max((len(slot) for slot in slots), default=0)
        self.offsets = sorted({offset for _, offset, _, _ in diagonals})
        slot_of = {offset: self.columns + at for at, offset in enumerate(self.offsets)}
        terms = columns + [(text, slot_of[offset], *rest) for text, offset, *rest in diagonals]
        self._place_features(sets, terms, width, width if keys is None else keys)
        self._place_pairs(pairs)
        self._place_matrices(dense, width)
        self.values: Tensor | None = None
        self.sum: Tensor | None = None

    def _place_features(
        self, sets: Sequence[Any], terms: Sequence[Any], width: int, across: int
    ) -> None:
        """Lay out the terms (feature, label, weights of the rows) of each example by feature."""
        table = np.zeros((self.size, self.columns, across), np.float32)
        for example, slot, mask in sets:
            table[example, slot, : len(mask)] = mask
        used = np.zeros((self.size, self.columns + len(self.offsets)), np.int64)
        numbers = []
        for example, slot, *_ in terms:
            numbers.append(used[example, slot])
            used[example, slot] += 1
        most = int(used.max(initial=0))
        weights = np.zeros((*used.shape, width, most))
        targets = np.zeros((*used.shape, most), np.int64)  # unused ones add 0 to label 0
        for number, (example, slot, label, rows) in zip(numbers, terms, strict=True):
            weights[example, slot, : len(rows), number] = rows
            targets[example, slot, number] = label
        self.sets, self.weights, self.targets = (
            to_device(array, self.device) for array in (table, weights, targets)
        )

    def _place_pairs(self, pairs: Sequence[tuple[Any, ...]]) -> None:
        self.picked: PickedPairs | None = None
        if pairs:
            examples, labels = (
                np.concatenate([np.full(len(pair[2]), pair[at]) for pair in pairs]) for at in (0, 1)
            )
            queries, keys, weights = (
                np.concatenate([pair[at] for pair in pairs]) for at in (2, 3, 4)
            )
            self.picked = PickedPairs(examples, queries, keys, self.device)
            self.pair_targets = to_device(examples * self.labels + labels, self.device)
            self.pair_weights = to_device(weights, self.device)

    def _place_matrices(self, dense: dict[int, list[tuple[int, Floats]]], width: int) -> None:
        """Weights of any form: one matrix product over all pairs of tokens."""
        matrices = np.zeros((self.size, len(dense), width, width), np.float32)
        for number, label in enumerate(sorted(dense)):
            for example, matrix in dense[label]:
                matrices[example, number, : len(matrix), : len(matrix)] += matrix
        self.matrices = to_device(matrices, self.device)
        self.dense = to_device(np.array(sorted(dense), np.int64), self.device)

    def rows(self, block: Tensor, first_row: int) -> None:
        """Take in a block of rows, (batch, head, row, key)."""
        size, self.heads, rows, keys = block.shape
        if self.weights.shape[3]:
            if self.values is None:
                shape = (size, self.columns + len(self.offsets), self.heads, self.weights.shape[2])
                self.values = block.new_zeros(shape)
            here = self.values[..., first_row : first_row + rows]
            if self.columns:
                here[:, : self.columns] = over_keys(block, self.sets)
            for number, offset in enumerate(self.offsets, self.columns):
                start = max(-offset - first_row, 0)  # rows above have no token so far before
                line = block[:, :, start:].diagonal(first_row + start + offset, 2, 3)
                here[:, number, :, start : start + line.shape[2]] = line
        if self.picked is not None:
            self.picked.rows(block, first_row)
        if len(self.dense):
            weights = self.matrices[:, :, first_row : first_row + rows, :keys]
            product = torch.bmm(block.flatten(2), weights.flatten(2).transpose(1, 2))
            self.sum = product if self.sum is None else self.sum + product

    def end(self) -> Tensor:
        """The sums of the layer, (batch, head, label); NaN where undefined."""
        sums = torch.zeros(self.size, self.heads, self.labels, device=self.device)
        if self.values is not None:
            values, self.values = self.values, None
            terms = (values.double() @ self.weights).transpose(1, 2)  # batch, head, feature, term
            targets = self.targets[:, None].expand_as(terms).flatten(2)
            sums.scatter_add_(2, targets, terms.float().flatten(2))
        if self.picked is not None:
            picked = self.picked.end()
            added = picked.new_zeros(len(picked), self.size * self.labels, dtype=torch.float64)
            # A head at a time: there may be a million pairs, and all in float64 would be the peak.
            for total, values in zip(added, picked, strict=True):
                total.scatter_add_(0, self.pair_targets, values.double() * self.pair_weights)
            sums += added.view(-1, self.size, self.labels).transpose(0, 1).float()
        if self.sum is not None:
            sums.index_add_(2, self.dense, self.sum)
            self.sum = None
        return sums.masked_fill_(self.undefined, float("nan"))
