"""Storing the examples of every head, while a run goes over a corpus or shards are merged.

Two bounded sets, which do not depend on the order in which examples come, nor on how a run is
split: of every head the examples with the largest scores (of equals, the first of the corpus), and
for all heads together the examples with the smallest digests, which is a random sample. They are
kept in the arrays of :data:`headscope.results.schema.EXAMPLE_ARRAYS`: in a checkpoint, between
processes, and in results, from which :mod:`headscope.results.kept` reads them.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.results.kept import REACH
from headscope.results.schema import EXAMPLE_ARRAYS, EXAMPLES, map_places

Array = NDArray[Any]
PARTS = 2**20
"""An example that is split has fewer parts than this. A key is its number times this, plus the
number of its part, so that keys sort as the corpus does."""
LAST = 2**63 - 1
"""Larger than every key."""
MAP_ARRAYS = {"counts": np.uint8, "keys": np.uint16, "weights": np.uint16}
"""The arrays of maps, in the order of :class:`SparseMap`."""
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
            [one.rank for one in self.sample],
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

    def add_sampled(self, one: Sampled, text: Callable[[], StoredText]) -> None:
        """Keep an example for all heads, if its digest is among the smallest."""
        if len(self.sample) == self.size and one.rank > self.sample[-1].rank:
            return
        insort(self.sample, one, key=lambda entry: entry.rank)
        del self.sample[self.size :]
        self._keep_text(one.key, text)

    def _keep_text(self, key: int, text: Callable[[], StoredText]) -> None:
        if key not in self.texts:
            self.texts[key] = text()
        if len(self.texts) > 2 * (self.size + len(self.best) * self.most):
            self._forget_texts()

    def _forget_texts(self) -> None:
        """Drop the texts of examples that others have displaced."""
        used = {one.key for one in self.sample}
        used |= {key for entries in self.best for _, key, _ in entries}
        self.texts = {key: self.texts[key] for key in sorted(used)}

    def arrays(self) -> dict[str, Array]:
        """Everything as plain arrays, the same ones whatever the order examples came in."""
        self._forget_texts()
        place = {key: number for number, key in enumerate(self.texts)}
        shape = (len(self.layers), self.heads, self.most)
        texts = np.full(shape, -1, np.int32).reshape(-1, self.most)
        scores = np.full(shape, np.nan, np.float32).reshape(-1, self.most)
        for number, entries in enumerate(self.best):
            texts[number, : len(entries)] = [place[key] for _, key, _ in entries]
            scores[number, : len(entries)] = [-score for score, _, _ in entries]
        maps = [sparse for entries in self.best for _, _, sparse in entries]
        maps += [sparse for one in self.sample for sparse in one.maps]
        encoded = [text.json.encode("ascii") for text in self.texts.values()]
        return {
            "texts": np.frombuffer(b"".join(encoded), np.uint8),
            "text_bytes": np.array([len(text) for text in encoded], np.int64),
            "text_rows": np.array([text.rows for text in self.texts.values()], np.int32),
            "text_key": np.array(list(self.texts), np.int64),
            "strongest_text": texts.reshape(shape),
            "strongest_score": scores.reshape(shape),
            **self._sample_arrays(place),
            **{
                name: np.concatenate([np.zeros(0, kind), *(sparse[at] for sparse in maps)])
                for at, (name, kind) in enumerate(MAP_ARRAYS.items())
            },
        }

    def _sample_arrays(self, place: Mapping[int, int]) -> dict[str, Array]:
        sample, grid, bins = self.sample, (len(self.layers), self.heads), 2 * REACH + 1
        digests = np.frombuffer(b"".join(one.digest for one in sample), np.uint8)

        def stacked(name: str, *shape: int) -> Array:
            return np.array([getattr(one, name) for one in sample], np.float32).reshape(-1, *shape)

        return {
            "sample_text": np.array([place[one.key] for one in sample], np.int32),
            "sample_digest": digests.reshape(len(sample), -1 if sample else DIGEST_BYTES),
            "sample_rows": np.array([one.rows for one in sample], np.int32),
            "sample_score": stacked("scores", *grid),
            "sample_share": stacked("share", *grid, bins),
            "sample_uniform": stacked("uniform", *grid, bins),
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
            spans = zip(MAP_ARRAYS, (row, link, link), strict=True)
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
            one = Sampled(
                arrays["sample_digest"][at].tobytes(),
                int(arrays["text_key"][number]),
                int(arrays["sample_rows"][at]),
                arrays["sample_score"][at],
                arrays["sample_share"][at],
                arrays["sample_uniform"][at],
                [next_map() for _ in self.best],
            )
            self.add_sampled(one, partial(text, number))

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
