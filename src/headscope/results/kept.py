"""Examples of every head: read from results, and stored while a run goes over a corpus. No torch.

The group ``examples`` of a results file is not a measure. It holds texts, each once, and for every
head the maps of its strongest examples and of a random sample that all heads share. A map is
*sparse*: of each row, the eight largest weights over 0.005. Long inputs are kept up to their first
128 tokens.

Both sets are bounded, and depend neither on the order in which examples come nor on how a run is
split: of every head the examples with the largest scores (of equals, the first of the corpus), and
for all heads together the examples with the smallest digests, which is a random sample. They are
kept in the arrays of :data:`headscope.results.schema.EXAMPLE_ARRAYS`: in a checkpoint, between
processes, and in results.
"""

from __future__ import annotations

import json
from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError, cut
from headscope.heads import Head, HeadLike
from headscope.results.schema import EXAMPLE_ARRAYS, EXAMPLES, HINT, map_places

REACH = 16
"""Histograms tell distances up to this many tokens apart; the end bins hold everything beyond."""
SCALE = 65535
"""Weights are kept as multiples of 1 / SCALE."""
NO_HEAD = -2
"""The ``head`` of a word whose head word is not known, or not kept."""
PER_TOKEN = ("tokens", "unit", "special", "sink")
"""What a kept text has of every token; the rest it has of every word."""


@dataclass(frozen=True)
class KeptText:
    """The tokens and words of a kept example.

    Parameters
    ----------
    number
        The number of the example in its corpus, from 1.
    id, group
        The example's own name, and its document.
    tokens
        The pieces as they are shown; special tokens by their names, such as ``[CLS]``.
    unit
        The word of each token, as a place in ``words``; -1 for special tokens.
    words
        The words that the tokens belong to.
    special, sink
        Which tokens are special, and which are sinks: special tokens, the first token, full stops
        and commas.
    head
        The head word of each word, as a place in ``words``; -1 for a root, -2 if it is not known.
    relation
        The dependency label of each word; "" if it is not known.
    sentence
        The number of each word's sentence.
    length
        How many tokens the model saw; more than ``tokens`` has if only a window was kept.
    part
        Which part it is of a long example that was split, from 0.

    Examples
    --------
    >>> text = KeptText(1, "1", "", ("[CLS]", "Dogs"), (-1, 0), ("Dogs",), (True, False),
    ...                 (True, False), (-1,), ("root",), (0,), 2)
    >>> KeptText.from_json(text.to_json()) == text
    True
    """

    number: int
    id: str
    group: str
    tokens: tuple[str, ...]
    unit: tuple[int, ...]
    words: tuple[str, ...]
    special: tuple[bool, ...]
    sink: tuple[bool, ...]
    head: tuple[int, ...]
    relation: tuple[str, ...]
    sentence: tuple[int, ...]
    length: int
    part: int = 0

    def to_json(self) -> str:
        """The text as JSON in ASCII, which any characters survive."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        for name in ("special", "sink"):
            values[name] = [int(value) for value in values[name]]
        return json.dumps(values, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> KeptText:
        """The text that :meth:`to_json` wrote."""
        values: dict[str, Any] = json.loads(text)
        for name, value in values.items():
            if isinstance(value, list):
                values[name] = tuple(value)
        for name in ("special", "sink"):
            values[name] = tuple(bool(value) for value in values[name])
        return cls(**values)

    def fault(self, rows: int) -> str:
        """What is wrong with a text whose maps have so many rows; "" for nothing."""
        tokens, words = len(self.tokens), len(self.words)
        values = {part.name: (getattr(self, part.name), str(part.type)) for part in fields(self)}
        for name, (value, kind) in values.items():
            if kind.startswith("tuple"):
                size = tokens if name in PER_TOKEN else words
                if not isinstance(value, tuple) or len(value) != size:
                    return f"has {name!r} of another length"
            wanted, words_for = (str, "texts") if "str" in kind else (int, "whole numbers")
            if not all(isinstance(one, wanted) for one in (value if "tuple" in kind else [value])):
                return f"has {name!r} that are not {words_for}"
        if tokens != rows or not all(-1 <= unit < words for unit in self.unit):
            return "has tokens that do not fit its words or its maps"
        if not all(NO_HEAD <= head < words for head in self.head):
            return "has head words that it does not hold"
        return ""

    def __str__(self) -> str:
        shown: list[str] = []
        last = -1
        for token, unit, special in zip(self.tokens, self.unit, self.special, strict=True):
            if special:
                continue
            if unit >= 0 and unit == last:  # another piece of the same word
                shown[-1] += token
            else:
                shown.append(token)
            last = unit
        return " ".join(shown)


@dataclass(frozen=True, eq=False)
class KeptMap:
    """What a head attends to in a kept text.

    Parameters
    ----------
    text
        The text.
    score
        The head's strength there: the mean over the tokens of words of the attention that is
        neither on sinks nor on the token itself.
    counts
        (row,): how many keys each row has.
    keys, weights
        The keys of all rows, one row after the other, and their weights. The largest weight of a
        row comes first.
    """

    text: KeptText
    score: float
    counts: NDArray[np.uint8]
    keys: NDArray[np.uint16]
    weights: NDArray[np.float32]

    @property
    def queries(self) -> NDArray[np.int64]:
        """The row of each of ``keys``."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def dense(self) -> NDArray[np.float32]:
        """The map as an array (row, token), with 0 for weights that were not kept."""
        dense = np.zeros((len(self.counts), len(self.text.tokens)), np.float32)
        dense[self.queries, self.keys] = self.weights
        return dense


class KeptExamples:
    """The examples of every head in some results: ``atlas.kept``.

    Parameters
    ----------
    data
        The group ``examples`` of a results file.

    Attributes
    ----------
    texts : tuple of KeptText
        All texts, each once, in the order of the corpus.

    Examples
    --------
    >>> import headscope as hs
    >>> kept = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="position").kept
    >>> [str(text) for text in kept.texts]
    ['The dog barks .', 'A cat sleeps .']
    >>> strongest = kept.strongest("1-3")[0]
    >>> strongest.text.tokens[int(strongest.dense()[3].argmax())]
    'dog'
    >>> offsets, share, uniform = kept.histogram("1-3")
    >>> int(offsets[share.argmax()])
    -1
    """

    def __init__(self, data: xr.Dataset) -> None:
        self._arrays: dict[str, NDArray[Any]] = {
            str(name): array.values for name, array in data.data_vars.items()
        }
        self._layers = [int(label) - 1 for label in data["layer"].values]
        self._heads = int(data.sizes["head"])

    @cached_property
    def texts(self) -> tuple[KeptText, ...]:
        """All texts, each once, in the order of the corpus."""
        whole = self._arrays["texts"].tobytes()
        ends = np.cumsum(self._arrays["text_bytes"]).tolist()
        rows = self._arrays["text_rows"].tolist()
        return tuple(
            _checked(number, whole[start:end], rows[number])
            for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False))
        )

    @cached_property
    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the rows and the keys of each map begin, and where the last ends."""
        _, rows, links = map_places(self._arrays)
        return rows, links[rows]

    @cached_property
    def _weights(self) -> NDArray[np.float32]:
        """The weights of all maps, one after the other."""
        weights = self._arrays["weights"].astype(np.float32) / np.float32(SCALE)
        weights.flags.writeable = False
        return weights

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        """(layer · head,): the number of each head's strongest map among all maps."""
        kept = (self._arrays["strongest_text"] >= 0).sum(-1).ravel()
        return np.concatenate([[0], np.cumsum(kept)])

    def _head(self, head: HeadLike) -> tuple[int, int]:
        """The places of a head's layer and of the head in the arrays."""
        parsed = Head.parse(head, layers=self._layers, heads=self._heads)
        return self._layers.index(parsed.layer), parsed.head

    def _map(self, number: int, text: int, score: float) -> KeptMap:
        rows, links = self._places
        counts = self._arrays["counts"][rows[number] : rows[number + 1]]
        span = slice(links[number], links[number + 1])
        keys, weights = self._arrays["keys"][span], self._weights[span]
        return KeptMap(self.texts[text], score, counts, keys, weights)

    def strongest(self, head: HeadLike) -> list[KeptMap]:
        """The examples on which a head is strongest, the strongest first.

        Parameters
        ----------
        head
            ``"3-9"`` (from 1), ``"L2H8"`` (from 0), or a :class:`~headscope.Head`.
        """
        layer, number = self._head(head)
        first = int(self._first[layer * self._heads + number])
        texts = self._arrays["strongest_text"][layer, number].tolist()
        scores = self._arrays["strongest_score"][layer, number].tolist()
        return [
            self._map(first + rank, text, score)
            for rank, (text, score) in enumerate(zip(texts, scores, strict=True))
            if text >= 0
        ]

    def sample(self, head: HeadLike) -> list[KeptMap]:
        """The random sample that all heads share, by the strength of one head.

        Parameters
        ----------
        head
            As in :meth:`strongest`.
        """
        layer, number = self._head(head)
        heads = len(self._layers) * self._heads
        begin = int(self._first[-1]) + layer * self._heads + number
        scores = self._arrays["sample_score"][:, layer, number]
        texts = self._arrays["sample_text"]
        return [
            self._map(begin + int(place) * heads, int(texts[place]), float(scores[place]))
            for place in np.lexsort((texts, -scores))
        ]

    def histogram(
        self, head: HeadLike
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """How far away a head attends, over the sample.

        Parameters
        ----------
        head
            As in :meth:`strongest`.

        Returns
        -------
        offsets
            From -16 to 16: key minus query. The ends hold everything beyond, too.
        share
            The share of attention at each offset that is not on sinks, from the tokens of words.
            They sum to the head's activity.
        uniform
            What it would be if each token spread its attention that is not on sinks evenly over
            the tokens it sees, sinks excepted. NaN, like ``share``, without any sample.
        """
        layer, number = self._head(head)
        rows = float(self._arrays["sample_rows"].sum()) or np.nan
        share, uniform = (
            self._arrays[name][:, layer, number].sum(0, dtype=np.float64) / rows
            for name in ("sample_share", "sample_uniform")
        )
        return np.arange(-REACH, REACH + 1), share, uniform

    def __len__(self) -> int:
        return len(self._arrays["text_rows"])

    def __repr__(self) -> str:
        strongest = self._arrays["strongest_text"].shape[-1]
        return (
            f"{len(self)} texts: up to {strongest} strongest examples of each head, and a sample "
            f"of {len(self._arrays['sample_text'])}"
        )


def _checked(number: int, text: bytes, rows: int) -> KeptText:
    """A text, read when it is first asked for, which may be long after the file was opened."""
    try:
        kept = KeptText.from_json(text)
        fault = kept.fault(rows)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        fault = f"cannot be read: {cut(str(error), 200)}"
    if fault:
        raise ResultsError(
            f"these results have wrong contents: text {number + 1} of the examples {fault}",
            hint=HINT,
        )
    return kept


Array = NDArray[Any]
PARTS = 2**20
"""An example that is split has fewer parts than this. A key is its number times this, plus the
number of its part, so that keys sort as the corpus does."""
LAST = 2**63 - 1
"""Larger than every key."""
DIGEST_BYTES = 32


class StoredText(NamedTuple):
    """A :class:`~headscope.results.kept.KeptText`: how many tokens it has, and its JSON."""

    rows: int
    json: str


class SparseMap(NamedTuple):
    """The largest weights of a map; see :class:`headscope.results.kept.KeptMap`."""

    counts: NDArray[np.uint8]
    keys: NDArray[np.uint16]
    weights: NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Sampled:
    """An example of the sample, with the maps of all heads.

    Parameters
    ----------
    digest
        By which the sample is drawn.
    key
        Number and part of the example.
    rows
        How many of its tokens were asked: those of words.
    scores
        (layer, head).
    share, uniform
        (layer, head, offset), summed over the rows.
    maps
        Of all heads, layer by layer.
    """

    digest: bytes
    key: int
    rows: int
    scores: Array
    share: Array
    uniform: Array
    maps: Sequence[SparseMap]

    @property
    def rank(self) -> tuple[bytes, int]:
        """What the sample is sorted by."""
        return self.digest, self.key


class Bars(NamedTuple):
    """What an example must reach to be kept.

    Parameters
    ----------
    scores, keys
        Score and key of the last of each head's strongest, (layer, head). Everything reaches minus
        infinity, where there is room.
    sample
        Digest and key of the last of the sample; None while there is room.
    """

    scores: NDArray[np.float32]
    keys: NDArray[np.int64]
    sample: tuple[bytes, int] | None


@dataclass
class Standing:
    """Who is kept so far, without the maps: what others must be better than.

    Parameters
    ----------
    best
        Of each head: minus the score and the key of its strongest examples, in order.
    sample
        Digest and key of each example of the sample, in order.
    """

    best: list[list[tuple[float, int]]]
    sample: list[tuple[bytes, int]] = field(default_factory=list)

    def joined(self, other: Standing, strongest: int, size: int) -> Standing:
        """Those who would be kept of both. One that is in both counts once."""
        best = [
            sorted({*one, *two})[:strongest] for one, two in zip(self.best, other.best, strict=True)
        ]
        return Standing(best, sorted({*self.sample, *other.sample})[:size])


class ExampleStore:
    """The examples that are kept so far.

    Parameters
    ----------
    layers
        The numbers of the layers, from 1.
    heads
        How many heads each layer has.
    size
        How many examples the sample has.
    strongest
        How many examples of each head are kept.
    """

    def __init__(self, layers: Sequence[int], heads: int, size: int, strongest: int) -> None:
        self.layers, self.heads = tuple(layers), heads
        self.size, self.most = size, strongest
        self.floor: Standing | None = None
        """What others have seen of the same run: who falls behind it is not kept here either."""
        self.clear()

    def clear(self) -> None:
        """Keep nothing."""
        self.best: list[list[tuple[float, int, SparseMap]]] = [
            [] for _ in range(len(self.layers) * self.heads)
        ]
        self.sample: list[Sampled] = []
        self.texts: dict[int, StoredText] = {}

    def standing(self) -> Standing:
        """Who is kept, here and by others."""
        mine = Standing(
            [[entry[:2] for entry in entries] for entries in self.best],
            [sampled.rank for sampled in self.sample],
        )
        return mine if self.floor is None else mine.joined(self.floor, self.most, self.size)

    def bars(self) -> Bars:
        """What the next examples must reach."""
        standing, shape = self.standing(), (len(self.layers), self.heads)
        last = [
            entries[-1] if len(entries) == self.most else (np.inf, LAST)
            for entries in standing.best
        ]
        scores = np.array([-score for score, _ in last], np.float32).reshape(shape)
        keys = np.array([key for _, key in last], np.int64).reshape(shape)
        full = len(standing.sample) == self.size
        return Bars(scores, keys, standing.sample[-1] if full else None)

    def takes(self, place: int, score: float, key: int) -> bool:
        """Whether an example would be among the strongest of a head."""
        entries = self.best[place]
        return len(entries) < self.most or (-score, key) < entries[-1][:2]

    def add(
        self, place: int, score: float, key: int, sparse: SparseMap, text: Callable[[], StoredText]
    ) -> None:
        """Keep an example for a head, if it is among the strongest.

        Parameters
        ----------
        place
            The head: its layer's place times the heads of a layer, plus its number.
        score, key
            The head's score there, and number and part of the example.
        sparse
            The map.
        text
            Gives the text, if it is not here yet.
        """
        if not self.takes(place, score, key):
            return
        insort(self.best[place], (-score, key, sparse), key=lambda entry: entry[:2])
        del self.best[place][self.most :]
        self._keep_text(key, text)

    def add_sampled(self, sampled: Sampled, text: Callable[[], StoredText]) -> None:
        """Keep an example for all heads, if its digest is among the smallest."""
        if len(self.sample) == self.size and sampled.rank > self.sample[-1].rank:
            return
        insort(self.sample, sampled, key=lambda entry: entry.rank)
        del self.sample[self.size :]
        self._keep_text(sampled.key, text)

    def _keep_text(self, key: int, text: Callable[[], StoredText]) -> None:
        if key not in self.texts:
            self.texts[key] = text()
        if len(self.texts) > 2 * (self.size + len(self.best) * self.most):
            self._forget_texts()

    def _forget_texts(self) -> None:
        """Drop the texts of examples that others have displaced."""
        used = {sampled.key for sampled in self.sample}
        used |= {key for entries in self.best for _, key, _ in entries}
        self.texts = {key: self.texts[key] for key in sorted(used)}

    def arrays(self) -> dict[str, Array]:
        """Everything as plain arrays, the same ones whatever the order examples came in."""
        self._forget_texts()
        numbers = {key: number for number, key in enumerate(self.texts)}
        texts = np.full((len(self.best), self.most), -1, np.int32)
        scores = np.full((len(self.best), self.most), np.nan, np.float32)
        for number, entries in enumerate(self.best):
            texts[number, : len(entries)] = [numbers[key] for _, key, _ in entries]
            scores[number, : len(entries)] = [-score for score, _, _ in entries]
        maps = [sparse for entries in self.best for _, _, sparse in entries]
        maps += [sparse for case in self.sample for sparse in case.maps]
        encoded = [text.json.encode("ascii") for text in self.texts.values()]
        sample = self.sample
        values: dict[str, Any] = {
            "texts": np.frombuffer(b"".join(encoded), np.uint8),
            "text_bytes": [len(text) for text in encoded],
            "text_rows": [text.rows for text in self.texts.values()],
            "text_key": list(self.texts),
            "strongest_text": texts,
            "strongest_score": scores,
            "sample_text": [numbers[case.key] for case in sample],
            "sample_digest": np.frombuffer(b"".join(case.digest for case in sample), np.uint8),
            "sample_rows": [case.rows for case in sample],
            "sample_score": [case.scores for case in sample],
            "sample_share": [case.share for case in sample],
            "sample_uniform": [case.uniform for case in sample],
        }
        for at, name in enumerate(SparseMap._fields):
            none = np.zeros(0, EXAMPLE_ARRAYS[name][1])
            values[name] = np.concatenate([none, *(sparse[at] for sparse in maps)])
        sizes = {"layer": len(self.layers), "head": self.heads, "rank": self.most}
        sizes["offset"] = 2 * REACH + 1
        sizes["digest_byte"] = len(sample[0].digest) if sample else DIGEST_BYTES
        return {
            name: np.asarray(values[name], kind).reshape([sizes.get(dim, -1) for dim in dims])
            for name, (dims, kind) in EXAMPLE_ARRAYS.items()
        }

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take up what a checkpoint kept."""
        self.clear()
        self.merge(arrays)

    def merge(self, arrays: Mapping[str, Array]) -> None:
        """Keep what another has kept, given as its arrays, as far as it is better."""
        _, rows, links = map_places(arrays)
        ends = np.concatenate([[0], np.cumsum(arrays["text_bytes"])])
        numbers = count()

        def next_map() -> SparseMap:  # copied: the arrays it comes from are let go
            number = next(numbers)
            row = slice(rows[number], rows[number + 1])
            link = slice(links[row.start], links[row.stop])
            spans = zip(SparseMap._fields, (row, link, link), strict=True)
            return SparseMap(*(arrays[name][span].copy() for name, span in spans))

        def text(number: int) -> StoredText:
            json = arrays["texts"][ends[number] : ends[number + 1]].tobytes()
            return StoredText(int(arrays["text_rows"][number]), str(json, "ascii"))

        for place, texts in enumerate(arrays["strongest_text"].reshape(-1, self.most)):
            scores = arrays["strongest_score"].reshape(-1, self.most)[place]
            for number, score in zip(texts.tolist(), scores.tolist(), strict=True):
                if number >= 0:
                    key = int(arrays["text_key"][number])
                    self.add(place, score, key, next_map(), partial(text, number))
        for at, number in enumerate(arrays["sample_text"].tolist()):
            sampled = Sampled(
                arrays["sample_digest"][at].tobytes(),
                int(arrays["text_key"][number]),
                int(arrays["sample_rows"][at]),
                arrays["sample_score"][at],
                arrays["sample_share"][at],
                arrays["sample_uniform"][at],
                [next_map() for _ in self.best],
            )
            self.add_sampled(sampled, partial(text, number))

    def dataset(self) -> xr.Dataset:
        """Everything with labels, as results hold it."""
        arrays = self.arrays()
        variables = {name: (dims, arrays[name]) for name, (dims, _) in EXAMPLE_ARRAYS.items()}
        labels = {
            "layer": np.array(self.layers, np.int64),
            "head": np.arange(1, self.heads + 1),
            "offset": np.arange(-REACH, REACH + 1),
        }
        about = {
            "title": "Examples of every head",
            "unit": "share of attention",
            "kind": EXAMPLES,
            "listed": "no",
        }
        return xr.Dataset(variables, labels, about)

    @classmethod
    def of(cls, data: xr.Dataset, size: int) -> ExampleStore:
        """What some results hold, to merge it with others."""
        layers = [int(number) for number in data["layer"].values]
        store = cls(layers, data.sizes["head"], size, data.sizes["rank"])
        store.restore({name: data[name].values for name in EXAMPLE_ARRAYS})
        return store
