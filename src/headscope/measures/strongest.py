"""The largest attention among a set of token pairs (Kovaleva et al. 2019, §4.2 and §4.5): frame
links, verbs and their subjects, nouns and pronouns.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import Batch, Encoded
from headscope.measures.base import Measure
from headscope.measures.layout import PickedPairs
from headscope.models import LayerView

Places = NDArray[np.int64]
"""A set of places, (place,); or of pairs (query, key), (pair, 2)."""


@dataclass(frozen=True)
class Sets:
    """One set of places for each example and label, padded with places of its own so that its
    maximum stays what it is.
    """

    places: Tensor  # (batch, label, place)
    empty: Tensor  # (batch, 1, label)


def pack(sets: Sequence[Sequence[Places]], device: Any = "cpu") -> Sets:
    """Sets of places of each example and label as one tensor."""
    most = max((len(places) for labels in sets for places in labels), default=0)
    packed = np.zeros((len(sets), len(sets[0]), max(most, 1)), np.int64)
    for row, labels in enumerate(sets):
        for column, places in enumerate(labels):
            if len(places):
                packed[row, column] = places[0]
                packed[row, column, : len(places)] = places
    empty = np.array([[[len(places) == 0 for places in labels]] for labels in sets])
    return Sets(torch.from_numpy(packed).to(device), torch.from_numpy(empty).to(device))


def largest(values: Tensor, sets: Sets) -> Tensor:
    """The largest value at each set's places: (batch, head, place) -> (batch, head, label); NaN for
    an empty set.

    >>> largest(torch.tensor([[[0.1, 0.7, 0.2]]]), pack([[np.array([0, 2]), np.array([], int)]]))
    tensor([[[0.2000,    nan]]])
    """
    batch, labels, most = sets.places.shape
    places = sets.places.view(batch, 1, -1).expand(-1, values.shape[1], -1)
    found = values.gather(2, places).view(batch, -1, labels, most).amax(-1)
    return found.masked_fill(sets.empty, float("nan"))


def every_pair(queries: Places, keys: Places) -> Places:
    """All pairs of a query and a key.

    >>> every_pair(np.array([4, 5]), np.array([1])).tolist()
    [[4, 1], [5, 1]]
    """
    return np.stack([np.repeat(queries, len(keys)), np.tile(keys, len(queries))], axis=1)


@dataclass
class PairSets:
    """The pairs of every example and label of a batch, and to which of them each belongs."""

    size: int
    labels: int
    picked: PickedPairs | None
    targets: Tensor
    heads: int = 0


class Strongest(Measure):
    """The largest attention among pairs of tokens: a subclass only says which pairs. In a causal
    model a pair whose key comes later is no pair.
    """

    unit = "share of attention"
    in_blocks = True

    @abstractmethod
    def pairs(self, item: Encoded) -> Sequence[Places]:
        """The pairs (query, key) of each label, (pair, 2)."""

    def prepare(self, batch: Batch, device: Any) -> PairSets:
        """List all pairs."""
        found: list[Places] = [np.zeros((0, 3), np.int64)]
        for example, item in enumerate(batch.items):
            for label, pairs in enumerate(self.pairs(item)):
                if self.context.causal:
                    pairs = pairs[pairs[:, 1] <= pairs[:, 0]]
                place = np.full((len(pairs), 1), example * self.width + label)
                found.append(np.concatenate([place, pairs], 1))
        targets, queries, keys = np.concatenate(found).T
        picked = PickedPairs(targets // self.width, queries, keys, device) if len(keys) else None
        return PairSets(len(batch), self.width, picked, torch.from_numpy(targets.copy()).to(device))

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: PairSets) -> None:
        """Pick the pairs of the block."""
        prepared.heads = block.shape[1]
        if prepared.picked is not None:
            prepared.picked.rows(block, first_row)

    def end(self, view: LayerView, prepared: PairSets) -> Tensor:
        """(batch, head, label); NaN where there is no pair."""
        shape = (prepared.heads, prepared.size * prepared.labels)
        largest = torch.full(shape, float("nan"), device=prepared.targets.device)
        if prepared.picked is not None:
            values = prepared.picked.end()
            largest.scatter_reduce_(
                1, prepared.targets.expand_as(values), values, "amax", include_self=False
            )
        return largest.view(-1, prepared.size, prepared.labels).transpose(0, 1)
