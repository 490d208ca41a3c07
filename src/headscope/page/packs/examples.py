"""Examples of every head for the page: texts once, and one pack of sparse maps per head."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.heads import Head
from headscope.page.card import Cards
from headscope.page.packs.pack import pack
from headscope.page.schema import ExampleKind, HeadExample, Text
from headscope.results import Atlas
from headscope.results.kept import SCALE, KeptMap, KeptText
from headscope.stats.tables.examples import OFTEN, rarity

STRONG: ExampleKind = "strong"
TYPICAL: ExampleKind = "typical"
WEAK: ExampleKind = "weak"
RANDOM: ExampleKind = "random"
QUOTA: dict[ExampleKind, int] = {STRONG: 3, TYPICAL: 3, WEAK: 1, RANDOM: 3}
"""How many examples of each kind a head has at most, in the order in which the page shows them."""
LEVEL = 4
"""How hard gzip tries: there is one pack per head."""
FEW, FIRST, LEAST = 4, 56, 0.02
"""In a page of many heads: links of a row, tokens of a text, and the smallest weight."""


class Chosen(NamedTuple):
    """An example of a head."""

    kind: ExampleKind
    rank: int
    map: KeptMap


def example_packs(
    atlas: Atlas, *, most: int | None = 10, compact: bool = False
) -> dict[str, bytes]:
    """The packs ``texts``, ``tokens`` and ``head/3-9`` of every head, by name.

    Parameters
    ----------
    atlas
        Results of a survey.
    most
        The largest number of examples of a head; None for all that were kept.
    compact
        Whether only the first 56 tokens of each text are there, and the four largest links of each
        row, their weights as square roots in 256 steps.

    Returns
    -------
    dict of bytes
        Nothing if the results keep no examples.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks."], measures="position")
    >>> sorted(example_packs(atlas))[:3]
    ['head/1-1', 'head/1-10', 'head/1-11']
    """
    try:
        kept = atlas.kept
    except UserError:
        return {}
    if not kept.texts:
        return {}
    lottery, texts, cards = Lottery(kept.texts), _Numbered(), Cards(atlas)
    words: SampleWords | None = None
    tokens: list[list[str]] = []
    pending: dict[str, Future[bytes]] = {}
    with ThreadPoolExecutor(1) as pool:  # one head is compressed while the next one is counted
        for head in map(str, _heads(atlas)):
            sample = kept.sample(head)
            words = words or SampleWords([one.text for one in sample])
            chosen = choose(kept.strongest(head), sample, lottery, most=most)
            numbers = [texts.number(one.map.text) for one in chosen]
            top = words.top(sample)
            linked = [word for pair in top["pairs"] for word in (pair["query"], pair["key"])]
            tokens.append(list(dict.fromkeys(linked)))
            about: dict[str, Any] = top | {"sample": len(sample)}
            if not compact:
                about["card"] = cards.part(head)
            arrays = dict(zip(("histogram", "uniform"), kept.histogram(head)[1:], strict=True))
            pending[head] = pool.submit(_head_pack, chosen, numbers, about, arrays, compact)
    shown = [_first_tokens(text) if compact else text for text in texts.texts]
    packs = {
        "texts": pack({"texts": [_text(text) for text in shown], "grid": cards.grid}, {}),
        "tokens": pack({"tokens": tokens}, {}),
    }
    return packs | {f"head/{head}": one.result() for head, one in pending.items()}


class _Numbered:
    """Texts, numbered from 0 as they are first used."""

    def __init__(self) -> None:
        self.texts: list[KeptText] = []
        self._numbers: dict[int, int] = {}

    def number(self, text: KeptText) -> int:
        number = self._numbers.setdefault(id(text), len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number


def _heads(atlas: Atlas) -> list[Head]:
    layers, heads = atlas.layers, range(atlas.shape[1])
    return [Head(layer - 1, head) for layer in layers for head in heads]


class Lottery:
    """A fixed order of texts that has nothing to do with any head, the same on every computer.

    Parameters
    ----------
    texts
        All texts that may be drawn.
    """

    def __init__(self, texts: Iterable[KeptText]) -> None:
        self._ticket = {
            id(text): zlib.crc32(f"{text.number} {text.id}".encode("utf-8", "replace"))
            for text in texts
        }

    def __call__(self, map_: KeptMap) -> int:
        """The place of a map's text in the order."""
        return self._ticket[id(map_.text)]


def choose(
    strongest: list[KeptMap], sample: list[KeptMap], lottery: Lottery, *, most: int | None
) -> list[Chosen]:
    """The examples of a head that the page shows, no text twice.

    Parameters
    ----------
    strongest
        The strongest examples of the whole corpus, the strongest first.
    sample
        A random sample, the strongest first.
    lottery
        The order in which random examples are drawn.
    most
        The largest number of examples; None for all.

    Returns
    -------
    list of Chosen
        Strong, typical (nearest the median score of the sample), weak (the lowest score over 0)
        and random ones. A rank counts from 1: among all examples for strong ones, in the sample
        for others.
    """
    ranked = [(rank, map_) for rank, map_ in enumerate(sample, start=1)]
    scores = np.array([map_.score for map_ in sample])
    median = float(np.median(scores)) if len(scores) else 0.0
    candidates = {
        STRONG: [(rank, map_) for rank, map_ in enumerate(strongest, start=1)],
        TYPICAL: sorted(ranked, key=lambda pair: abs(pair[1].score - median)),
        WEAK: [pair for pair in reversed(ranked) if pair[1].score > 0],
        RANDOM: sorted(ranked, key=lambda pair: lottery(pair[1])),
    }
    chosen: dict[ExampleKind, list[Chosen]] = {kind: [] for kind in QUOTA}
    seen: set[int] = set()
    for kind, wanted in _turns(most):
        for rank, map_ in candidates[kind]:
            if len(chosen[kind]) >= wanted or (most is not None and len(seen) >= most):
                break
            if id(map_.text) not in seen:
                seen.add(id(map_.text))
                chosen[kind].append(Chosen(kind, rank, map_))
    return [map_ for some in chosen.values() for map_ in sorted(some, key=lambda item: item.rank)]


def _turns(most: int | None) -> list[tuple[ExampleKind, int]]:
    """Which kind takes its pick when, and how many examples it may have by then.

    Kinds take turns, so that a small number of examples still has one of each kind.
    """
    turns = [
        (kind, turn)
        for turn in range(1, max(QUOTA.values()) + 1)
        for kind, quota in QUOTA.items()
        if turn <= quota
    ]
    if most is not None and most <= sum(QUOTA.values()):
        return turns
    everything = 1 << 30
    return [*turns, (STRONG, everything), (RANDOM, everything)]


def _head_pack(
    chosen: list[Chosen],
    texts: list[int],
    about: dict[str, Any],
    more: dict[str, NDArray[Any]],
    compact: bool,
) -> bytes:
    """The pack of one head: its examples with the numbers of their texts, and what is known of the
    sample.
    """
    links = [_largest_links(one.map) if compact else _links(one.map) for one in chosen]
    examples: list[HeadExample] = []
    row = link = 0
    for (kind, rank, one), text, (rows, keys, _) in zip(chosen, texts, links, strict=True):
        example: HeadExample = {
            "text": text,
            "kind": kind,
            "rank": rank,
            "score": round(float(one.score), 5),
            "row": row,
            "rows": len(rows),
            "link": link,
        }
        examples.append(example)
        row += len(rows)
        link += len(keys)
    size = np.uint8 if compact else np.uint16
    arrays: dict[str, NDArray[Any]] = {
        "counts": _joined([counts for counts, _, _ in links], np.uint8),
        "keys": _joined([keys for _, keys, _ in links], size),
        "weights": _joined([_rounded(weights, compact) for _, _, weights in links], size),
    }
    document = {"examples": examples} | about
    if compact:
        return pack(document, arrays | more, level=9, bits=8)
    return pack(document, arrays | more, level=LEVEL)


Links = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""How many links each row has; their keys and weights."""


def _rounded(weights: NDArray[Any], compact: bool) -> NDArray[Any]:
    """Weights in 65,536 steps, or their square roots in 256."""
    scaled: NDArray[Any] = np.rint(np.sqrt(weights) * 255 if compact else weights * SCALE)
    return scaled


def _links(map_: KeptMap) -> Links:
    return map_.counts, map_.keys, map_.weights


def _largest_links(map_: KeptMap) -> Links:
    """The largest links of the first rows, in the order of the map."""
    rows = np.repeat(np.arange(len(map_.counts)), map_.counts)
    order = np.lexsort((-map_.weights, rows))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - _starts(map_.counts)[rows]
    few = (rank < FEW) & (map_.weights >= LEAST) & (rows < FIRST) & (map_.keys < FIRST)
    counts = np.bincount(rows[few], minlength=min(len(map_.counts), FIRST))
    return counts, map_.keys[few], map_.weights[few]


def _first_tokens(text: KeptText) -> KeptText:
    """The beginning of a text: words without a token are left out."""
    unit = text.unit[:FIRST]
    words = max(unit, default=-1) + 1
    return replace(
        text,
        tokens=text.tokens[:FIRST],
        unit=unit,
        special=text.special[:FIRST],
        sink=text.sink[:FIRST],
        words=text.words[:words],
        head=tuple(head if head < words else -2 for head in text.head[:words]),
        relation=text.relation[:words],
    )


def _joined(parts: list[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)


def _text(text: KeptText) -> Text:
    return {
        "id": text.id,
        "tokens": list(text.tokens),
        "unit": list(text.unit),
        "words": list(text.words),
        "special": [int(flag) for flag in text.special],
        "sink": [int(flag) for flag in text.sink],
        "head": list(text.head),
        "relation": list(text.relation),
        "length": text.length,
    }


# --- The words that a head links, in the sample of its texts --------------------------------------

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
    headscope.stats.kept_tokens : the same for one head.
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
        self._query_type = _in_a_row([np.repeat(one, len(one)) for one in types])
        self._key_type = _in_a_row([np.tile(one, len(one)) for one in types])
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
        places = [self._place[id(map_.text)] for map_ in maps]
        rows = _in_a_row(
            [_range(self._first_token[p], one.counts) for p, one in zip(places, maps, strict=True)]
        )
        counts = np.concatenate([np.zeros(0, np.uint8), *(map_.counts for map_ in maps)])
        query = np.repeat(self._row[rows], counts)
        links = [len(map_.keys) for map_ in maps]
        key = self._key[
            _in_a_row([map_.keys for map_ in maps]) + np.repeat(self._first_token[places], links)
        ]
        weight = np.concatenate([np.zeros(0), *(map_.weights for map_ in maps)])
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
        often = np.flatnonzero(seen >= OFTEN)
        if len(often) < n:
            codes = self._codes
            seen, means = _counted(self._pair[cells], weights, len(codes))
            often = np.flatnonzero(seen)
        order = often[np.lexsort((codes[often], -means[often], rarity(seen[often])))[:n]]
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
        return [
            {"token": self.words[word], "share": round(float(sums[word] / total), 5)}
            for word in _largest(sums, n)
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
    return _in_a_row(rows), _in_a_row(keys), np.concatenate([np.zeros(0), *shares])


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


def _in_a_row(parts: list[NDArray[Any]]) -> Numbers:
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
