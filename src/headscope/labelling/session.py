"""A labelling session: the map to label next, the last label, and undo."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.errors import unknown
from headscope.labelling.maps import CorpusMaps, ExampleMaps, MapId
from headscope.labelling.store import LabelStore
from headscope.measures.patterns.labels import pack
from headscope.measures.patterns.network import CLASSES, PatternNet
from headscope.measures.patterns.training import predict


@dataclass(frozen=True)
class CurrentMap:
    """The map to be labelled: its place in the order, its identity, its example and its weights."""

    number: int
    map_id: MapId
    example: ExampleMaps
    attention: NDArray[np.float32]


@dataclass(frozen=True)
class LastLabel:
    """The last decision: the map, the user's label ("" if skipped) and the network's prediction."""

    map_id: MapId
    label: str
    prediction: str


class LabelSession:
    """Go through maps one by one and label them. Every decision is saved immediately.

    Parameters
    ----------
    maps
        The maps to label. Those that the store already has, labelled or skipped, are passed over.
    store
        Where labels are kept.
    network
        The network whose prediction is shown after each label.

    Attributes
    ----------
    remaining
        Places in the order of ``maps`` that are still to be labelled.
    history
        The decisions that can be undone, the latest last.
    last
        The last decision; None at the start and after an undo.
    """

    def __init__(self, maps: CorpusMaps, store: LabelStore, network: PatternNet) -> None:
        self.maps = maps
        self.store = store
        self.network = network
        numbers = {maps.map_id(number): number for number in range(len(maps))}
        decided = (*store.skipped, *store.map_ids)
        self.history = [map_id for map_id in decided if map_id is not None and map_id in numbers]
        done = {numbers[map_id] for map_id in self.history}
        self.remaining = [number for number in range(len(maps)) if number not in done]
        self.last: LastLabel | None = None
        self._numbers = numbers
        self._current: CurrentMap | None = None

    @property
    def counts(self) -> dict[str, int]:
        """The number of labelled maps of each class in the store."""
        labels = Counter(self.store.labelled.labels)
        return {name: labels[name] for name in CLASSES}

    def current(self) -> CurrentMap | None:
        """Return the map to be labelled now, or None when none remains."""
        if not self.remaining:
            return None
        number = self.remaining[0]
        if self._current is None or self._current.number != number:
            example, attention = self.maps.map(number)
            self._current = CurrentMap(number, self.maps.map_id(number), example, attention)
        return self._current

    def prediction(self) -> str:
        """Return the network's class for the current map, or "" when none remains."""
        current = self.current()
        return self._predict(current) if current else ""

    def label(self, name: str) -> None:
        """Label the current map and move on to the next.

        Raises
        ------
        UserError
            If the name is not one of the five classes.
        """
        if name not in CLASSES:
            raise unknown("pattern", name, CLASSES)
        if current := self.current():
            self.store.add(current.map_id, current.attention, name, current.example.second)
            self._advance(current, name)

    def skip(self) -> None:
        """Skip the current map, because its class cannot be decided."""
        if current := self.current():
            self.store.skip(current.map_id)
            self._advance(current, "")

    def undo(self) -> bool:
        """Undo the last label or skip and show its map again. False if there is nothing to undo."""
        if not self.history:
            return False
        map_id = self.history.pop()
        if map_id in self.store.skipped:
            self.store.unskip(map_id)
        else:
            self.store.remove(map_id)
        self.remaining.insert(0, self._numbers[map_id])
        self.last = None
        return True

    def _advance(self, current: CurrentMap, label: str) -> None:
        self.last = LastLabel(current.map_id, label, self._predict(current))
        self.history.append(current.map_id)
        self.remaining.pop(0)

    def _predict(self, current: CurrentMap) -> str:
        return predict(self.network, [pack(current.attention)])[0]
