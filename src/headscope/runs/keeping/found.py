"""What a batch gave: the examples that may be kept, and their way into a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from headscope.encode import Batch
from headscope.models import Model
from headscope.results.stored import ExampleStore, Sampled, StoredText
from headscope.runs.keeping.texts import stored_text
from headscope.runs.keeping.windows import WINDOW, sparse_map


@dataclass(frozen=True)
class BatchExamples:
    """The examples of a batch that may be kept.

    Parameters
    ----------
    model, batch
        Where they come from.
    keys, digests
        Number and part of every example; the digests of those that are sampled.
    sampled
        The places in the batch of those that are taken for the sample.
    scores
        (layer, batch, head).
    entering, chosen
        (layer,): how many maps are among the strongest; (layer, map): which.
    codes
        (layer, map, row, 8): the maps of the sampled examples, then the chosen ones; see
        :func:`~headscope.runs.keeping.windows.largest`.
    share, even
        (layer, sampled, head, distance).
    rows
        How many rows were asked, (sampled,).
    """

    model: Model
    batch: Batch
    keys: Sequence[int]
    digests: Sequence[bytes]
    sampled: Sequence[int]
    scores: NDArray[np.float32]
    entering: NDArray[np.int64]
    chosen: NDArray[np.int64]
    codes: NDArray[np.int32]
    share: NDArray[np.float32]
    even: NDArray[np.float32]
    rows: Sequence[int]

    @property
    def most(self) -> int:
        """The most maps that a layer needed room for."""
        return int(self.entering.max(initial=0))

    @property
    def complete(self) -> bool:
        """Whether there was room for all of them."""
        return self.most <= int(self.chosen.shape[1])

    def into(self, store: ExampleStore, usable: NDArray[np.bool_]) -> None:
        """Keep what belongs into a store, of the examples whose attention is finite."""
        heads, first = self.scores.shape[2], len(self.sampled) * self.scores.shape[2]
        for layer, count in enumerate(self.entering.tolist()):
            for number, chosen in enumerate(self.chosen[layer, :count].tolist()):
                example, head = divmod(chosen, heads)
                score, place = float(self.scores[layer, example, head]), layer * heads + head
                if usable[example] and store.takes(place, score, self.keys[example]):
                    found = sparse_map(self.codes[layer, first + number], self._length(example))
                    text = partial(self._text, example)
                    store.add(place, score, self.keys[example], found, text)
        for number, example in enumerate(self.sampled):
            if usable[example]:
                store.add_sampled(self._sampled(number, example), partial(self._text, example))

    def _sampled(self, number: int, example: int) -> Sampled:
        heads, length = self.scores.shape[2], self._length(example)
        codes = self.codes[:, number * heads : (number + 1) * heads]
        return Sampled(
            self.digests[number],
            self.keys[example],
            self.rows[number],
            self.scores[:, example].copy(),
            self.share[:, number].copy(),
            self.even[:, number].copy(),
            [sparse_map(one, length) for layer in codes for one in layer],
        )

    def _length(self, example: int) -> int:
        return min(len(self.batch.items[example]), WINDOW)

    def _text(self, example: int) -> StoredText:
        return stored_text(self.model, self.batch.items[example], self.keys[example], WINDOW)
