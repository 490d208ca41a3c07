"""Which examples are kept for every head, while a run goes over a corpus or shards are merged.

Two bounded sets, which do not depend on the order in which examples come, nor on how a run is
split: of every head the examples with the largest scores (of equals, the first of the corpus), and
for all heads together the examples with the smallest digests, which is a random sample.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import xarray as xr

from headscope.results.kept import REACH
from headscope.results.stored.arrays import DIMS, StoredMaps, joined_maps, label_arrays, stacked
from headscope.results.stored.entries import (
    LAST,
    Array,
    Bars,
    Sampled,
    SparseMap,
    Standing,
    StoredText,
)


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
        encoded = [text.json.encode("ascii") for text in self.texts.values()]
        return {
            "texts": np.frombuffer(b"".join(encoded), np.uint8),
            "text_bytes": np.array([len(text) for text in encoded], np.int64),
            "text_rows": np.array([text.rows for text in self.texts.values()], np.int32),
            "text_key": np.array(list(self.texts), np.int64),
            "strongest_text": texts.reshape(shape),
            "strongest_score": scores.reshape(shape),
            **self._sample_arrays(place),
            **joined_maps(list(self._maps())),
        }

    def _sample_arrays(self, place: Mapping[int, int]) -> dict[str, Array]:
        grid, bins = (len(self.layers), self.heads), 2 * REACH + 1
        digests = b"".join(one.digest for one in self.sample)
        return {
            "sample_text": np.array([place[one.key] for one in self.sample], np.int32),
            "sample_digest": np.frombuffer(digests, np.uint8).reshape(len(self.sample), -1)
            if self.sample
            else np.zeros((0, 32), np.uint8),
            "sample_rows": np.array([one.rows for one in self.sample], np.int32),
            "sample_score": stacked([one.scores for one in self.sample], grid),
            "sample_share": stacked([one.share for one in self.sample], (*grid, bins)),
            "sample_uniform": stacked([one.uniform for one in self.sample], (*grid, bins)),
        }

    def _maps(self) -> Iterator[SparseMap]:
        for entries in self.best:
            yield from (sparse for _, _, sparse in entries)
        for one in self.sample:
            yield from one.maps

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take up what a checkpoint kept."""
        self.clear()
        self.merge(arrays)

    def merge(self, arrays: Mapping[str, Array]) -> None:
        """Keep what another has kept, given as its arrays, as far as it is better."""
        maps = StoredMaps(arrays)
        for place, texts in enumerate(arrays["strongest_text"].reshape(-1, self.most)):
            scores = arrays["strongest_score"].reshape(-1, self.most)[place]
            for text, score in zip(texts.tolist(), scores.tolist(), strict=True):
                if text >= 0:
                    key, sparse = int(arrays["text_key"][text]), maps.take(text)
                    self.add(place, score, key, sparse, partial(maps.text, text))
        for number, text in enumerate(arrays["sample_text"].tolist()):
            one = Sampled(
                arrays["sample_digest"][number].tobytes(),
                int(arrays["text_key"][text]),
                int(arrays["sample_rows"][number]),
                arrays["sample_score"][number],
                arrays["sample_share"][number],
                arrays["sample_uniform"][number],
                [maps.take(text) for _ in self.best],
            )
            self.add_sampled(one, partial(maps.text, text))

    def dataset(self) -> xr.Dataset:
        """Everything with labels, as results hold it."""
        return label_arrays(self.arrays(), self.layers)

    @classmethod
    def of(cls, data: xr.Dataset, size: int) -> ExampleStore:
        """What some results hold, to merge it with others."""
        layers = [int(number) for number in data["layer"].values]
        store = cls(layers, data.sizes["head"], size, data.sizes["rank"])
        store.restore({name: data[name].values for name in DIMS})
        return store
