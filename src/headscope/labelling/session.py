"""A session of labelling: which map is shown, what was said of the last one, and the way back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.errors import unknown
from headscope.labelling.maps import Corner, Maps, Seen
from headscope.labelling.store import Store
from headscope.measures.patterns.labels import pack
from headscope.measures.patterns.network import CLASSES, PatternNet
from headscope.measures.patterns.training import predict


@dataclass(frozen=True)
class Shown:
    """The map to be labelled."""

    number: int
    corner: Corner
    seen: Seen
    attention: NDArray[np.float32]


@dataclass(frozen=True)
class Said:
    """What was said of the last map: the label ("" if it was skipped), and what the network says."""

    corner: Corner
    label: str
    guess: str


class Session:
    """Goes through maps, those labelled or skipped before left out. Every step is saved at once."""

    def __init__(self, maps: Maps, store: Store, network: PatternNet) -> None:
        self.maps = maps
        self.store = store
        self.network = network
        numbers = {maps.corner(number): number for number in range(len(maps))}
        self.history = [
            corner
            for corner in (*store.skipped, *store.corners)
            if corner is not None and corner in numbers
        ]
        over = {numbers[corner] for corner in self.history}
        self.left = [number for number in range(len(maps)) if number not in over]
        self.last: Said | None = None
        self._numbers = numbers
        self._shown: Shown | None = None

    @property
    def counts(self) -> dict[str, int]:
        """How many maps of each class the folder has."""
        found = Counter(self.store.labelled.labels)
        return {name: found[name] for name in CLASSES}

    def current(self) -> Shown | None:
        """The map to be labelled now; None when none is left."""
        if not self.left:
            return None
        number = self.left[0]
        if self._shown is None or self._shown.number != number:
            seen, attention = self.maps.map(number)
            self._shown = Shown(number, self.maps.corner(number), seen, attention)
        return self._shown

    def guess(self) -> str:
        """What the network says of the map that is shown."""
        shown = self.current()
        return self._guess(shown) if shown else ""

    def label(self, name: str) -> None:
        """Say of which class the map is, and go on."""
        if name not in CLASSES:
            raise unknown("pattern", name, CLASSES)
        if shown := self.current():
            self.store.add(shown.corner, shown.attention, name, shown.seen.second)
            self._next(shown, name)

    def skip(self) -> None:
        """Leave a map that cannot be decided, and go on."""
        if shown := self.current():
            self.store.skip(shown.corner)
            self._next(shown, "")

    def undo(self) -> bool:
        """Take back the last label or skip and show its map again; false if there is none."""
        if not self.history:
            return False
        corner = self.history.pop()
        if corner in self.store.skipped:
            self.store.unskip(corner)
        else:
            self.store.remove(corner)
        self.left.insert(0, self._numbers[corner])
        self.last = None
        return True

    def _next(self, shown: Shown, label: str) -> None:
        self.last = Said(shown.corner, label, self._guess(shown))
        self.history.append(shown.corner)
        self.left.pop(0)

    def _guess(self, shown: Shown) -> str:
        return predict(self.network, [pack(shown.attention)])[0]
