"""What the explorer keeps of a forward pass, taken in a block of rows at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import ModelError
from headscope.heads import Head
from headscope.models import LayerView, Shape
from headscope.models.projections import ValueNorms, norm_weighted

SIDE = 32
"""Cells of a thumbnail, at most, in each direction."""
FULL = 65535
"""Weight 1 as an unsigned number of 16 bits."""

Check = Callable[[], None]
"""Called in every layer; raises if nobody waits for the answer any more."""


class EnoughLayers(Exception):
    """Raised by a listener to end a pass: the layers above are not needed."""


class LiveStack(NamedTuple):
    """The stack whose heads are listened to, its shape, what is called in every block, and what
    weighs the maps where they are to be norm-weighted.
    """

    stack: str
    shape: Shape
    check: Check
    norms: ValueNorms | None = None


class StackListener(ABC):
    """Listens to the blocks of one stack."""

    whole_maps = False

    def __init__(self, where: LiveStack) -> None:
        self.where, self.shape = where, where.shape
        self.whole_maps |= where.norms is not None and where.norms.whole_maps
        self._lengths: Tensor | None = None  # of what the keys of the present layer send

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Take a block of rows."""
        self.where.check()
        if view.stack != self.where.stack:
            return
        if self.where.norms is not None:
            if self._lengths is None:
                self._lengths = self.where.norms.of(view)
            block = norm_weighted(block, self._lengths)
        self.add(view.layer, block, first_row)

    def end(self, view: LayerView) -> None:
        """Take the end of a layer."""
        self._lengths = None
        if view.stack == self.where.stack:
            self.after(view)

    @abstractmethod
    def add(self, layer: int, block: Tensor, first_row: int) -> None:
        """Take a block of rows of the stack, (text, head, row, key)."""

    @abstractmethod
    def after(self, view: LayerView) -> None:
        """Take the end of a layer of the stack."""


class Pooled(StackListener):
    """All heads' maps, pooled to few cells, and the mean outputs of all heads.

    A cell holds the attention from its rows, averaged, to its keys, added up: a row of cells sums
    to 1 as a row of the map does.

    Parameters
    ----------
    where
        What is listened to.
    length
        The number of tokens.
    copy
        Which copy of the text is pooled, where a pass runs several.
    """

    def __init__(self, where: LiveStack, *, length: int, copy: int = 0) -> None:
        super().__init__(where)
        shape = self.shape
        self.copy, self.side = copy, min(length, SIDE)
        self.cells = torch.arange(length) * self.side // length
        self.groups = torch.nn.functional.one_hot(self.cells, self.side).float()
        self.sums = torch.zeros(shape.layers, shape.heads, self.side, self.side)
        self.means: dict[int, Tensor] = {}

    def add(self, layer: int, block: Tensor, first_row: int) -> None:
        """Add a block of rows."""
        weights = block[self.copy].float()
        pooled = (weights @ self.groups.to(weights.device)).cpu()
        rows = self.cells[first_row : first_row + pooled.shape[1]]
        self.sums[self.shape.place(layer)].index_add_(1, rows, pooled)

    def after(self, view: LayerView) -> None:
        """Keep the mean output of each head over the tokens."""
        self.means[view.layer] = view.output[self.copy].double().mean(0)

    def result(self) -> NDArray[np.float32]:
        """(layer, head, cell, cell)."""
        counts = torch.bincount(self.cells, minlength=self.side)
        return np.asarray((self.sums / counts[:, None]).numpy())


class Window(StackListener):
    """Some rows and keys of some heads' maps. Ends the pass after the last layer that is needed.

    Parameters
    ----------
    where
        What is listened to.
    wanted
        For each layer, from 0, the heads, from 0, and their places in the result.
    rows, keys
        The first row or key, and the one after the last.
    """

    def __init__(
        self,
        where: LiveStack,
        *,
        wanted: Mapping[int, Sequence[tuple[int, int]]],
        rows: tuple[int, int],
        keys: tuple[int, int],
    ) -> None:
        super().__init__(where)
        self.wanted, self.window, self.keys = wanted, rows, slice(*keys)
        count = sum(map(len, wanted.values()))
        self.weights = np.zeros((count, rows[1] - rows[0], keys[1] - keys[0]), np.float32)

    def add(self, layer: int, block: Tensor, first_row: int) -> None:
        """Copy what lies in the window."""
        first, last = self.window
        start, stop = max(first, first_row), min(last, first_row + block.shape[2])
        if start >= stop or layer not in self.wanted:
            return
        part = block[0, :, start - first_row : stop - first_row, self.keys].float()
        for head, place in self.wanted[layer]:
            self.weights[place, start - first : stop - first] = part[head].cpu().numpy()

    def after(self, view: LayerView) -> None:
        """Stop the pass where nothing more is wanted."""
        if view.layer >= max(self.wanted):
            raise EnoughLayers


@dataclass(frozen=True)
class Move:
    """How a head's map changes: the row that moves most, and where it looks more and less.

    ``more`` and ``less`` are a key with its weight before and after.
    """

    head: Head
    divergence: float
    row: int
    more: tuple[int, float, float]
    less: tuple[int, float, float]


class Moved(StackListener):
    """How far each head's map moves between two copies of a text, in Jensen–Shannon divergence.

    Ends the pass after the last layer, so it must be the last of the listeners.

    Parameters
    ----------
    where
        What is listened to.
    named
        Which rows may be named as the one that moves most, (token,).
    """

    def __init__(self, where: LiveStack, *, named: NDArray[np.bool_]) -> None:
        super().__init__(where)
        grid = (self.shape.layers, self.shape.heads)
        self.named = torch.from_numpy(named)
        self.sums = torch.zeros(grid, dtype=torch.float64)
        self.most = torch.full(grid, -1.0)
        self.row = torch.zeros(grid, dtype=torch.long)
        self.before, self.later = torch.zeros(2, *grid, len(named))

    def add(self, layer: int, block: Tensor, first_row: int) -> None:
        """Compare a block of rows of the two copies."""
        before, after = block[0].float(), block[1].float()
        moved = divergence(before, after).cpu()
        at = self.shape.place(layer)
        self.sums[at] += moved.double().sum(1)
        named = self.named[first_row : first_row + moved.shape[1]]
        value, row = moved.masked_fill(~named, -1.0).max(1)
        better = torch.nonzero(value > self.most[at])[:, 0]
        self.most[at, better] = value[better]
        self.row[at, better] = row[better] + first_row
        kept, rows = better.to(before.device), row[better].to(before.device)
        self.before[at, better] = before[kept, rows].cpu()
        self.later[at, better] = after[kept, rows].cpu()

    def after(self, view: LayerView) -> None:
        """Stop the pass after the last layer."""
        if view.layer == self.shape.numbers[-1]:
            raise EnoughLayers

    def result(self) -> NDArray[np.float32]:
        """The mean over the rows, in nats, (layer, head)."""
        return (self.sums / len(self.named)).float().numpy()

    def strongest(self, off: Set[Head], most: int) -> list[Move]:
        """The heads whose maps change most, without those that are off."""
        heads, far, moves = self.shape.every_head, self.result(), list[Move]()
        for number in np.argsort(-far.ravel(), kind="stable").tolist():
            if heads[number] in off or far.flat[number] <= 0 or len(moves) == most:
                continue
            at = divmod(number, self.shape.heads)
            before, after = self.before[at].numpy(), self.later[at].numpy()
            up, down = int((after - before).argmax()), int((after - before).argmin())
            moves.append(
                Move(
                    heads[number],
                    float(far.flat[number]),
                    int(self.row[at]),
                    (up, float(before[up]), float(after[up])),
                    (down, float(before[down]), float(after[down])),
                )
            )
        return moves


def divergence(one: Tensor, other: Tensor) -> Tensor:
    """The Jensen–Shannon divergence of rows that are alike in shape, in nats.

    >>> one, other = torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.tensor([[0.0, 1.0], [0.5, 0.5]])
    >>> divergence(one, other)
    tensor([0.6931, 0.0000])
    """
    middle = (one + other) / 2
    log = torch.special.xlogy
    total: Tensor = (log(one, one) + log(other, other)) / 2 - log(middle, middle)
    return total.sum(-1).clamp_min(0.0)


def as_bytes(weights: NDArray[np.float32], name: str) -> NDArray[np.uint8]:
    """Square roots of weights in 256 steps."""
    shades = np.rint(255 * np.sqrt(_finite(weights, name)))
    return np.asarray(shades, np.uint8)


def as_words(weights: NDArray[np.float32], name: str) -> NDArray[np.uint16]:
    """Weights in 65,536 steps."""
    return np.asarray(np.rint(FULL * _finite(weights, name)), np.uint16)


def _finite(weights: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    if not np.isfinite(weights).all():
        raise ModelError(
            f"the attention of {name} is not finite on this text",
            hint="load the model in float32: dtype='float32'",
            command="start the explorer again with --dtype float32",
        )
    return np.clip(weights, 0.0, 1.0)
