"""Kinds of relations between tokens.

A relation is a set of pairs (query, key). As a boolean matrix it costs T² values, and attention
over it as many products. Most relations are simpler: a few diagonals, some columns, columns that
differ between groups of rows, or a list of pairs. A matrix is the last resort.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.bool_]
Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

SPARSE = 8
"""A matrix with at most so many pairs per token is better kept as a list of pairs."""


@dataclass
class Parts:
    """A weighted relation taken apart into what is quick to sum.

    Attributes
    ----------
    diagonals
        Pairs (offset, weights of the rows).
    columns
        Pairs (weights of the keys, weights of the rows): their products are the weights.
    pairs
        Triples of arrays (query, key, weight).
    matrices
        (T, T) weights.
    """

    diagonals: list[tuple[int, Floats]] = field(default_factory=list)
    columns: list[tuple[Floats, Floats]] = field(default_factory=list)
    pairs: list[tuple[Numbers, Numbers, Floats]] = field(default_factory=list)
    matrices: list[Floats] = field(default_factory=list)


class Relation(ABC):
    """A set of pairs (query, key) of one example."""

    @abstractmethod
    def sizes(self, causal: bool = False) -> Numbers:
        """How many keys each query has; of a causal model, those up to itself."""

    @abstractmethod
    def matrix(self) -> Matrix:
        """All pairs as a boolean matrix (query, key)."""

    @abstractmethod
    def parts(self, rows: Floats) -> Parts:
        """The relation with a weight for every row."""


@dataclass(frozen=True)
class Diagonals(Relation):
    """The tokens at some offsets from each token: -1 is the one before, (-1, 0, 1) a band.

    Parameters
    ----------
    length
        The number of tokens.
    offsets
        From a token to its keys.
    keys
        Which tokens may be keys; None for all.

    >>> Diagonals(3, (-1, 1)).sizes()
    array([1, 2, 1])
    """

    length: int
    offsets: tuple[int, ...]
    keys: Matrix | None = None

    def _inside(self) -> Matrix:
        """Whether each token (column) has a key at each offset (row)."""
        there = np.arange(self.length) + np.array(self.offsets)[:, None]
        inside = (there >= 0) & (there < self.length)
        if self.keys is not None:
            inside &= self.keys[there.clip(0, self.length - 1)]
        return np.asarray(inside)

    def sizes(self, causal: bool = False) -> Numbers:
        """How many keys each query has; of a causal model, those up to itself."""
        seen = np.array([not (causal and offset > 0) for offset in self.offsets])
        return np.asarray((self._inside() & seen[:, None]).sum(0), np.int64)

    def matrix(self) -> Matrix:
        """All pairs as a boolean matrix (query, key)."""
        found = np.zeros((self.length, self.length), np.bool_)
        for offset in self.offsets:
            found |= np.eye(self.length, k=offset, dtype=np.bool_)
        return found if self.keys is None else found & self.keys

    def parts(self, rows: Floats) -> Parts:
        """One diagonal for every offset, within the example."""
        return Parts(
            diagonals=[
                (offset, np.where(has, rows, np.float32(0)))
                for offset, has in zip(self.offsets, self._inside(), strict=True)
            ]
        )


@dataclass(frozen=True)
class Columns(Relation):
    """The same keys for every query, or for some of them.

    Parameters
    ----------
    keys
        Which tokens are keys.
    rows
        Which tokens are queries; None for all. In cross attention these are other tokens than the
        keys, and must be given.

    >>> Columns(np.array([True, False, True])).sizes(causal=True)
    array([1, 1, 2])
    """

    keys: Matrix
    rows: Matrix | None = None

    def sizes(self, causal: bool = False) -> Numbers:
        """How many keys each query has; of a causal model, those up to itself."""
        keys = self.keys.astype(np.int64)
        found = keys.cumsum() if causal else keys.sum()
        return found * (np.ones_like(keys) if self.rows is None else self.rows.astype(np.int64))

    def matrix(self) -> Matrix:
        """All pairs as a boolean matrix (query, key)."""
        rows = np.ones_like(self.keys) if self.rows is None else self.rows
        return np.asarray(rows[:, None] & self.keys)

    def parts(self, rows: Floats) -> Parts:
        """One set of columns."""
        chosen = rows if self.rows is None else np.where(self.rows, rows, np.float32(0))
        return Parts(columns=[(self.keys.astype(np.float32), chosen)])


@dataclass(frozen=True)
class Groups(Relation):
    """All tokens of a token's own group, itself included.

    Parameters
    ----------
    group
        The number of each token's group; -1 for a token of none.

    >>> Groups(np.array([-1, 0, 0, 1])).sizes()
    array([0, 2, 2, 1])
    """

    group: NDArray[np.integer[Any]]

    def sizes(self, causal: bool = False) -> Numbers:
        """How many keys each query has; of a causal model, those up to itself."""
        found = np.zeros(len(self.group), np.int64)
        for member in self._members():
            found += np.where(member, member.cumsum() if causal else member.sum(), 0)
        return found

    def matrix(self) -> Matrix:
        """All pairs as a boolean matrix (query, key)."""
        return np.asarray((self.group[:, None] == self.group) & (self.group >= 0))

    def parts(self, rows: Floats) -> Parts:
        """Columns for every group."""
        return Parts(
            columns=[
                (member.astype(np.float32), np.where(member, rows, np.float32(0)))
                for member in self._members()
            ]
        )

    def _members(self) -> list[Matrix]:
        return [self.group == number for number in np.unique(self.group[self.group >= 0])]


@dataclass(frozen=True)
class Pairs(Relation):
    """A list of pairs (query, key), each at most once.

    >>> Pairs.of(3, [(2, 0), (2, 1), (0, 1)]).sizes(causal=True)
    array([0, 0, 2])
    """

    length: int
    queries: Numbers
    keys: Numbers

    @classmethod
    def of(cls, length: int, pairs: Iterable[Sequence[int]]) -> Pairs:
        """The pairs of a list, where any may stand twice."""
        listed = np.array(sorted({(int(query), int(key)) for query, key in pairs}), np.int64)
        queries, keys = listed.reshape(-1, 2).T
        return cls(length, queries, keys)

    def sizes(self, causal: bool = False) -> Numbers:
        """How many keys each query has; of a causal model, those up to itself."""
        queries = self.queries[self.keys <= self.queries] if causal else self.queries
        return np.bincount(queries, minlength=self.length).astype(np.int64)

    def matrix(self) -> Matrix:
        """All pairs as a boolean matrix (query, key)."""
        found = np.zeros((self.length, self.length), np.bool_)
        found[self.queries, self.keys] = True
        return found

    def parts(self, rows: Floats) -> Parts:
        """Every pair with the weight of its row."""
        return Parts(pairs=[(self.queries, self.keys, rows[self.queries])])


@dataclass(frozen=True)
class Dense(Relation):
    """Any set of pairs, as a boolean matrix (query, key)."""

    pairs: Matrix

    def sizes(self, causal: bool = False) -> Numbers:
        """How many keys each query has; of a causal model, those up to itself."""
        seen = np.tril(self.pairs) if causal else self.pairs
        return np.asarray(seen.sum(1), np.int64)

    def matrix(self) -> Matrix:
        """All pairs as a boolean matrix (query, key)."""
        return self.pairs

    def parts(self, rows: Floats) -> Parts:
        """The whole matrix."""
        return Parts(matrices=[np.asarray(self.pairs * rows[:, None], np.float32)])


def as_relation(given: Relation | Matrix) -> Relation:
    """A relation, or the kind that suits a boolean matrix (query, key) or vector (key).

    >>> as_relation(np.array([True, False]))
    Columns(keys=array([ True, False]), rows=None)
    >>> type(as_relation(np.eye(30, dtype=bool))).__name__
    'Pairs'
    """
    if isinstance(given, Relation):
        return given
    if given.ndim == 1:
        return Columns(given)
    if given.sum() <= SPARSE * len(given):
        queries, keys = np.nonzero(given)
        return Pairs(len(given), queries, keys)
    if (given == given[:1]).all():
        return Columns(given[0])
    return Dense(given)


@dataclass(frozen=True)
class Weighted:
    """A relation with a weight for every query: what a linear measure sums attention with."""

    relation: Relation
    rows: Floats

    def parts(self) -> Parts:
        """What is quick to sum."""
        return self.relation.parts(self.rows)

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
