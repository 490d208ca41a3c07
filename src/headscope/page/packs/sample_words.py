"""Top words and pairs of words of all heads at once.

What :mod:`headscope.stats.tables.examples` gives for one head, several times as fast for many: what
the texts have in common for all heads is worked out once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.results.kept import KeptMap, KeptText
from headscope.stats.tables.examples import OFTEN

Numbers = NDArray[np.int64]


class SampleWords:
    """The words of a sample of texts, ready to be counted for any head.

    Every pair of words of every text has a *cell*: with W words, a text has W × W of them. A head's
    links are summed into the cells, and the cells into pairs of different words.

    Parameters
    ----------
    texts
        The texts of the sample.

    See Also
    --------
    headscope.stats.tables.examples : the same for one head.
    """

    def __init__(self, texts: list[KeptText]) -> None:
        self._place = {id(text): place for place, text in enumerate(texts)}
        numbers: dict[str, int] = {}
        types = [_numbered(text, numbers) for text in texts]
        self.words = list(numbers)
        sizes = np.array([len(one) for one in types], np.int64)
        self._first_token = _starts([len(text.tokens) for text in texts])
        first_cell = _starts(sizes**2)
        self._cells = int(first_cell[-1])
        self._row, self._key, self._share = _tokens(texts, sizes, first_cell)
        self._same = np.concatenate(
            [np.zeros(0, np.int64)]
            + [start + np.arange(n) * (n + 1) for start, n in zip(first_cell, sizes, strict=False)]
        )
        self._query_type = _joined([np.repeat(one, len(one)) for one in types])
        self._key_type = _joined([np.tile(one, len(one)) for one in types])
        codes = self._query_type * max(len(self.words), 1) + self._key_type
        self._codes, self._pair = np.unique(codes, return_inverse=True)
        # Few pairs of words stand in two places: counting only these is ten times as fast.
        often = np.bincount(self._pair, minlength=len(self._codes)) >= OFTEN
        self._repeated = np.flatnonzero(often)
        self._among_repeated = np.where(often, np.cumsum(often) - 1, -1)[self._pair]

    def top(self, maps: list[KeptMap], n: int = 8) -> dict[str, list[dict[str, Any]]]:
        """The top pairs, queries and keys of a head, as the page reads them.

        Parameters
        ----------
        maps
            The maps of the head in these texts, in any order.
        n
            How many of each.
        """
        some, weights = self._sums(maps)
        return {
            "pairs": self._pairs(some, weights, n),
            "queries": self._shares(self._query_type[some], weights, n),
            "keys": self._shares(self._key_type[some], weights, n),
        }

    def _sums(self, maps: list[KeptMap]) -> tuple[Numbers, NDArray[np.float64]]:
        """The cells of two different words that attend to each other, and their attention."""
        places = [self._place[id(one.text)] for one in maps]
        rows = _joined(
            [_range(self._first_token[p], one.counts) for p, one in zip(places, maps, strict=True)]
        )
        counts = np.concatenate([np.zeros(0, np.uint8), *(one.counts for one in maps)])
        query = np.repeat(self._row[rows], counts)
        links = [len(one.keys) for one in maps]
        key = self._key[
            _joined([one.keys for one in maps]) + np.repeat(self._first_token[places], links)
        ]
        weight = np.concatenate([np.zeros(0), *(one.weights for one in maps)])
        weight *= np.repeat(self._share[rows], counts)
        good = (query >= 0) & (key >= 0)
        cells = query[good] + key[good]
        sums: NDArray[np.float64] = np.bincount(cells, weight[good], self._cells).astype(
            np.float64, copy=False
        )
        sums[self._same] = 0
        some: Numbers = np.flatnonzero(sums > 0).astype(np.int64, copy=False)
        return some, sums[some]

    def _pairs(self, cells: Numbers, weights: NDArray[np.float64], n: int) -> list[dict[str, Any]]:
        places = self._among_repeated[cells]
        codes = self._codes[self._repeated]
        seen, means = _counted(places[places >= 0], weights[places >= 0], len(codes))
        found = np.flatnonzero(seen >= OFTEN)
        if len(found) < n:
            codes = self._codes
            seen, means = _counted(self._pair[cells], weights, len(codes))
            found = np.flatnonzero(seen)
        order = found[np.lexsort((codes[found], -means[found], seen[found] < OFTEN))[:n]]
        words = len(self.words)
        return [
            {
                "query": self.words[int(codes[pair]) // words],
                "key": self.words[int(codes[pair]) % words],
                "mean": round(float(means[pair]), 5),
                "n": int(seen[pair]),
            }
            for pair in order
        ]

    def _shares(self, types: Numbers, weights: NDArray[np.float64], n: int) -> list[dict[str, Any]]:
        sums: NDArray[np.float64] = np.bincount(types, weights, len(self.words)).astype(np.float64)
        total = sums.sum()
        order = _largest(sums, n)
        return [
            {"token": self.words[word], "share": round(float(sums[word] / total), 5)}
            for word in order
            if sums[word] > 0
        ]


def _numbered(text: KeptText, numbers: dict[str, int]) -> Numbers:
    """The number of each word, in lower case; new words get new numbers."""
    words = (numbers.setdefault(word.lower(), len(numbers)) for word in text.words)
    return np.fromiter(words, np.int64, len(text.words))


def _tokens(
    texts: list[KeptText], sizes: Numbers, first_cell: Numbers
) -> tuple[Numbers, Numbers, NDArray[np.float64]]:
    """Of every token: the first cell of its row, its place in the row, its share of its word.

    Tokens of no word and sinks have -1.
    """
    rows, keys, shares = [], [], []
    for text, size, start in zip(texts, sizes, first_cell, strict=False):
        unit = np.array(text.unit, np.int64)
        good = (unit >= 0) & ~np.array(text.sink, bool)
        pieces = np.bincount(unit[unit >= 0], minlength=int(size))
        rows.append(np.where(good, start + unit * size, -1))
        keys.append(np.where(good, unit, -1))
        shares.append(np.where(good, 1 / np.maximum(pieces[np.maximum(unit, 0)], 1), 0.0))
    return _joined(rows), _joined(keys), np.concatenate([np.zeros(0), *shares])


def _counted(
    places: Numbers, weights: NDArray[np.float64], size: int
) -> tuple[Numbers, NDArray[np.float64]]:
    """How often each place occurs, and the mean of its weights."""
    seen = np.bincount(places, minlength=size)
    return seen, np.bincount(places, weights, size) / np.maximum(seen, 1)


def _largest(values: NDArray[np.float64], n: int) -> Numbers:
    """The places of the largest values, the largest first, the first of equals first."""
    if len(values) <= n:
        return np.argsort(-values, kind="stable")
    bound = np.partition(values, len(values) - n)[len(values) - n]
    places = np.flatnonzero(values >= bound)
    return places[np.argsort(-values[places], kind="stable")[:n]]


def _starts(sizes: Any) -> Numbers:
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))]).astype(np.int64)


def _range(start: int, counts: NDArray[Any]) -> Numbers:
    return np.arange(start, start + len(counts), dtype=np.int64)


def _joined(parts: list[NDArray[Any]]) -> Numbers:
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
