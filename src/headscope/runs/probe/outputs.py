"""Head outputs and hidden states of many texts, one vector each, read from blocks on disk.

Reading takes one layer of all blocks at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headscope.models import Shape
from headscope.runs.probe.blocks import CUT, EMPTY, Texts, read_tensor, read_vectors


@dataclass(frozen=True)
class HeadOutputs:
    """The vectors of texts, on disk.

    Parameters
    ----------
    texts
        The texts, (row,).
    shape
        Layers, heads and width of the model.
    hidden
        Width of the hidden states.
    position
        Where the vectors are read: ``"cls"``, ``"last"`` or ``"mean"``.
    blocks
        The files.
    home, place
        The block that holds each row, and its place there.
    """

    texts: Sequence[Texts]
    shape: Shape
    hidden: int
    position: str
    blocks: Sequence[Path]
    home: NDArray[np.int64]
    place: NDArray[np.int64]

    @cached_property
    def row(self) -> dict[Texts, int]:
        """The row of each text."""
        return {text: row for row, text in enumerate(self.texts)}

    @cached_property
    def state(self) -> NDArray[np.uint8]:
        """``WHOLE``, ``CUT`` or ``EMPTY`` for each text."""
        states = np.zeros(len(self.texts), np.uint8)
        for number, chosen in self._homes(self.home):
            states[chosen] = read_tensor(self.blocks[number], "state")[self.place[chosen]]
        return states

    @cached_property
    def empty(self) -> frozenset[int]:
        """Rows of texts without any token, which have no vectors."""
        return frozenset(np.flatnonzero(self.state == EMPTY).tolist())

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of texts, of empty and truncated ones, and of bytes of their blocks."""
        size = sum(self.blocks[number].stat().st_size for number in np.unique(self.home).tolist())
        return {
            "texts": len(self.texts),
            "empty": len(self.empty),
            "truncated": int((self.state == CUT).sum()),
            "bytes": size,
        }

    def heads(self, layer: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The outputs of a layer's heads before the output projection, (row, head, width).

        Where layers differ in width, those of narrower heads end with zeros.
        """
        place = self.shape.place(layer)
        return self._gather("heads", place, rows, (self.shape.heads, self.shape.width))

    def layer(self, layer: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The hidden states after a layer, (row, hidden)."""
        return self._gather("layers", self.shape.place(layer), rows, (self.hidden,))

    def _gather(
        self, name: str, place: int, rows: NDArray[np.int64], shape: tuple[int, ...]
    ) -> NDArray[np.float32]:
        vectors = np.empty((len(rows), *shape), np.float32)
        for number, chosen in self._homes(self.home[rows]):
            block = read_vectors(self.blocks[number], name, place)
            vectors[chosen] = block[self.place[rows[chosen]]]
        return vectors

    @staticmethod
    def _homes(home: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """Each block, and which of the rows it holds."""
        return ((number, home == number) for number in np.unique(home).tolist())
