"""Relations between tokens, and weights for sums of attention over them. No torch.

A relation is a set of pairs (query, key). As a boolean matrix it costs T² values, and attention
over it as many products. Most relations are simpler: a few diagonals, some columns, columns that
differ between groups of rows, or a list of pairs. A matrix is the last resort.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.bool_]
Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

SPARSE = 8
"""A matrix with at most so many pairs per token is better kept as a list of pairs."""
NONE = np.zeros(0, np.int64)


class Relation:
    """A set of pairs (query, key) of one example, in parts that have no pair in common.

    Parameters
    ----------
    length
        The number of queries.
    diagonals
        Pairs (offset from query to key, which queries have a key there).
    columns
        Pairs (which tokens are keys, of which queries).
    queries, keys
        A list of pairs.
    dense
        A boolean matrix (query, key).
    """

    def __init__(
        self,
        length: int,
        *,
        diagonals: Sequence[tuple[int, Matrix]] = (),
        columns: Sequence[tuple[Matrix, Matrix]] = (),
        queries: Numbers = NONE,
        keys: Numbers = NONE,
        dense: Matrix | None = None,
    ) -> None:
        self.length, self.diagonals, self.columns = length, diagonals, columns
        self.queries, self.keys, self.dense = queries, keys, dense

    def sizes(self, causal: bool = False) -> Numbers:
        """How many keys each query has; of a causal model, those up to itself."""
        queries = self.queries[self.keys <= self.queries] if causal else self.queries
        sizes = np.bincount(queries, minlength=self.length).astype(np.int64)
        for offset, has in self.diagonals:
            sizes += has & (not causal or offset <= 0)
        for keys, rows in self.columns:
            sizes += np.where(rows, keys.cumsum() if causal else keys.sum(), 0)
        if self.dense is not None:
            sizes += (np.tril(self.dense) if causal else self.dense).sum(1)
        return sizes

    def matrix(self) -> Matrix:
        """All pairs as a boolean matrix (query, key)."""
        width = len(self.columns[0][0]) if self.columns else self.length
        pairs = np.zeros((self.length, width), np.bool_)
        pairs[self.queries, self.keys] = True
        for offset, has in self.diagonals:
            pairs |= np.eye(self.length, k=offset, dtype=np.bool_) & has[:, None]
        for keys, rows in self.columns:
            pairs |= rows[:, None] & keys
        return pairs if self.dense is None else pairs | self.dense

    def among(self, keys: Matrix) -> Relation:
        """The same relation with none but these tokens as keys.

        >>> Diagonals(3, (-1, 1)).among(np.array([True, True, False])).sizes()
        array([1, 1, 1])
        """
        places, kept = np.arange(self.length), keys[self.keys]
        return Relation(
            self.length,
            diagonals=[
                (offset, has & keys[(places + offset).clip(0, len(keys) - 1)])
                for offset, has in self.diagonals
            ],
            columns=[(mask & keys, rows) for mask, rows in self.columns],
            queries=self.queries[kept],
            keys=self.keys[kept],
            dense=None if self.dense is None else self.dense & keys,
        )


class Diagonals(Relation):
    """The tokens at some offsets from each token: -1 is the one before, (-1, 0, 1) a band.

    >>> Diagonals(3, (-1, 1)).sizes()
    array([1, 2, 1])
    """

    def __init__(self, length: int, offsets: Iterable[int]) -> None:
        there = [(offset, np.arange(length) + offset) for offset in offsets]
        super().__init__(
            length, diagonals=[(at, (keys >= 0) & (keys < length)) for at, keys in there]
        )


class Columns(Relation):
    """The same keys for every query, or for some of them: ``rows``, which must be given in cross
    attention, where queries are other tokens than the keys.

    >>> Columns(np.array([True, False, True])).sizes(causal=True)
    array([1, 1, 2])
    """

    def __init__(self, keys: Matrix, rows: Matrix | None = None) -> None:
        queries = np.ones_like(keys) if rows is None else rows
        super().__init__(len(queries), columns=[(keys, queries)])


class Groups(Relation):
    """All tokens of a token's own group, itself included; -1 is the number of no group.

    >>> Groups(np.array([-1, 0, 0, 1])).sizes()
    array([0, 2, 2, 1])
    """

    def __init__(self, group: NDArray[np.integer[Any]]) -> None:
        members = [group == number for number in np.unique(group[group >= 0])]
        super().__init__(len(group), columns=[(member, member) for member in members])


class Pairs(Relation):
    """A list of pairs (query, key), each at most once.

    >>> Pairs.of(3, [(2, 0), (2, 1), (0, 1)]).sizes(causal=True)
    array([0, 0, 2])
    """

    def __init__(self, length: int, queries: Numbers, keys: Numbers) -> None:
        super().__init__(length, queries=queries, keys=keys)

    @classmethod
    def of(cls, length: int, pairs: Iterable[Sequence[int]]) -> Pairs:
        """The pairs of a list, where any may stand twice."""
        listed = np.array(sorted({(int(query), int(key)) for query, key in pairs}), np.int64)
        queries, keys = listed.reshape(-1, 2).T
        return cls(length, queries, keys)

    @classmethod
    def alike(cls, numbers: NDArray[np.integer[Any]]) -> Pairs:
        """All pairs of different tokens with the same number; those below 0 have none.

        >>> Pairs.alike(np.array([7, -1, 7, -1])).matrix().nonzero()
        (array([0, 2]), array([2, 0]))
        """
        places = np.argsort(numbers, kind="stable")
        places = places[numbers[places] >= 0]
        _, first, size = np.unique(numbers[places], return_index=True, return_counts=True)
        first, size = np.repeat(first, size), np.repeat(size, size)  # of each token's own group
        queries = np.repeat(places, size)
        within = np.arange(len(queries)) - np.repeat(np.cumsum(size) - size, size)
        keys = places[np.repeat(first, size) + within]
        others = queries != keys
        return cls(len(numbers), queries[others], keys[others])

    def where(self, kept: Matrix) -> Pairs:
        """Those of the pairs for which ``kept`` is true."""
        return Pairs(self.length, self.queries[kept], self.keys[kept])


class Dense(Relation):
    """Any set of pairs, as a boolean matrix (query, key)."""

    def __init__(self, pairs: Matrix) -> None:
        super().__init__(len(pairs), dense=pairs)


def as_relation(given: Relation | Matrix) -> Relation:
    """A relation, or the kind that suits a boolean matrix (query, key) or vector (key).

    >>> type(as_relation(np.array([True, False]))).__name__
    'Columns'
    >>> type(as_relation(np.eye(30, dtype=bool))).__name__
    'Pairs'
    """
    if isinstance(given, Relation):
        return given
    if given.ndim == 1:
        return Columns(given)
    if given.sum() <= SPARSE * len(given):
        return Pairs(len(given), *np.nonzero(given))
    return Columns(given[0]) if (given == given[:1]).all() else Dense(given)


@dataclass(frozen=True)
class Weighted:
    """A relation with a weight for every query: what a linear measure sums attention with."""

    relation: Relation
    rows: Floats

    def matrix(self) -> Floats:
        """The weights as a matrix (query, key)."""
        return np.asarray(self.relation.matrix() * self.rows[:, None], np.float32)


def mass_weights(pairs: Relation | Matrix) -> Weighted | None:
    """Weights under which the sum of a map is the mean attention to a relation's keys.

    The mean is over the queries that have a key. None if there is none.

    >>> mass_weights(np.array([[False, False], [True, False]])).matrix()
    array([[0., 0.],
           [1., 0.]], dtype=float32)
    """
    relation = as_relation(pairs)
    having = relation.sizes() > 0
    count = int(having.sum())
    return Weighted(relation, np.where(having, np.float32(1 / count), 0)) if count else None


def bias_weights(pairs: Relation | Matrix, *, causal: bool = False) -> Weighted | None:
    """Weights under which the sum of a map is the sieve bias; None if no token has a sieve.

    The weight of a query is ``visible / (size of its sieve · number of tokens with one)``, where
    ``visible`` is how many tokens the query sees: all of them or, in a causal model, those up to
    itself. So uniform attention scores 1 in both.

    >>> bias_weights(np.array([[False, False], [True, True]])).matrix().tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    relation = as_relation(pairs)
    sizes = relation.sizes(causal)
    having = int((sizes > 0).sum())
    if not having:
        return None
    length = len(sizes)
    visible = np.arange(1, length + 1) if causal else np.full(length, length)
    scale = visible / (np.maximum(sizes, 1) * having)
    return Weighted(relation, np.where(sizes > 0, scale, 0.0).astype(np.float32))
