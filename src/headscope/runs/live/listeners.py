"""What the explorer keeps of a forward pass, taken in a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import ModelError, UserError
from headscope.models import LayerView, Shape

SIDE = 32
"""Cells of a thumbnail, at most, in each direction."""
FULL = 65535
"""Weight 1 as an unsigned number of 16 bits."""

Check = Callable[[], None]
"""Called in every layer; raises if nobody waits for the answer any more."""


class EnoughLayers(Exception):
    """Raised by a listener to end a pass: the layers above are not needed."""


class Pooled:
    """All heads' maps, pooled to few cells, and the mean outputs of all heads.

    A cell holds the attention from its rows, averaged, to its keys, added up: a row of cells sums
    to 1 as a row of the map does.

    Parameters
    ----------
    stack, shape
        The stack whose heads are pooled, and its shape.
    length
        The number of tokens.
    side
        The most cells in each direction.
    copy
        Which copy of the text is pooled, where a pass runs several.
    check
        Called in every block.
    """

    whole_maps = False

    def __init__(
        self,
        stack: str,
        shape: Shape,
        length: int,
        *,
        check: Check,
        side: int = SIDE,
        copy: int = 0,
    ) -> None:
        self.stack, self.shape, self.copy, self.check = stack, shape, copy, check
        self.side = min(length, side)
        self.cells = torch.arange(length) * self.side // length
        self.groups = torch.nn.functional.one_hot(self.cells, self.side).float()
        self.sums = torch.zeros(shape.layers, shape.heads, self.side, self.side)
        self.means: dict[int, Tensor] = {}

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Add a block of rows."""
        self.check()
        if view.stack != self.stack:
            return
        weights = block[self.copy].float()
        pooled = (weights @ self.groups.to(weights.device)).cpu()
        rows = self.cells[first_row : first_row + pooled.shape[1]]
        self.sums[self.shape.place(view.layer)].index_add_(1, rows, pooled)

    def end(self, view: LayerView) -> None:
        """Keep the mean output of each head over the tokens."""
        if view.stack == self.stack:
            self.means[view.layer] = view.output[self.copy].double().mean(0)

    def result(self) -> NDArray[np.float32]:
        """(layer, head, cell, cell)."""
        counts = torch.bincount(self.cells, minlength=self.side)
        return np.asarray((self.sums / counts[:, None]).numpy())


class Window:
    """Some rows and keys of some heads' maps. Ends the pass after the last layer that is needed.

    Parameters
    ----------
    stack
        The stack of the heads.
    wanted
        For each layer, from 0, the heads, from 0, and their places in the result.
    rows, keys
        The first row or key, and the one after the last.
    check
        Called in every block.
    """

    whole_maps = False

    def __init__(
        self,
        stack: str,
        wanted: Mapping[int, Sequence[tuple[int, int]]],
        rows: tuple[int, int],
        keys: tuple[int, int],
        *,
        check: Check,
    ) -> None:
        self.stack, self.wanted, self.window, self.keys = stack, wanted, rows, slice(*keys)
        self.check = check
        count = sum(map(len, wanted.values()))
        self.weights = np.zeros((count, rows[1] - rows[0], keys[1] - keys[0]), np.float32)

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Copy what lies in the window."""
        self.check()
        if view.stack != self.stack or view.layer not in self.wanted:
            return
        first, last = self.window
        start, stop = max(first, first_row), min(last, first_row + block.shape[2])
        if start >= stop:
            return
        part = block[0, :, start - first_row : stop - first_row, self.keys].float()
        for head, place in self.wanted[view.layer]:
            self.weights[place, start - first : stop - first] = part[head].cpu().numpy()

    def end(self, view: LayerView) -> None:
        """Stop the pass where nothing more is wanted."""
        if view.stack == self.stack and view.layer >= max(self.wanted):
            raise EnoughLayers


class Moved:
    """How far each head's map moves between two copies of a text, in Jensen–Shannon divergence.

    Ends the pass after the last layer, so it must be the last of the listeners.

    Parameters
    ----------
    stack, shape
        The stack whose heads are compared, and its shape.
    rows
        Which rows may be named as the one that moves most, (token,).
    check
        Called in every block.
    """

    whole_maps = False

    def __init__(self, stack: str, shape: Shape, rows: NDArray[np.bool_], *, check: Check) -> None:
        self.stack, self.shape, self.check = stack, shape, check
        length = len(rows)
        self.named = torch.from_numpy(rows)
        self.sums = torch.zeros(shape.layers, shape.heads, dtype=torch.float64)
        self.most = torch.full((shape.layers, shape.heads), -1.0)
        self.row = torch.zeros(shape.layers, shape.heads, dtype=torch.long)
        self.before = torch.zeros(shape.layers, shape.heads, length)
        self.after = torch.zeros(shape.layers, shape.heads, length)
        self.length = length

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Compare a block of rows of the two copies."""
        self.check()
        if view.stack != self.stack:
            return
        before, after = block[0].float(), block[1].float()
        found = divergence(before, after).cpu()
        place = self.shape.place(view.layer)
        self.sums[place] += found.double().sum(1)
        named = self.named[first_row : first_row + found.shape[1]]
        value, row = found.masked_fill(~named, -1.0).max(1)
        better = torch.nonzero(value > self.most[place])[:, 0]
        self.most[place, better] = value[better]
        self.row[place, better] = row[better] + first_row
        kept, rows = better.to(before.device), row[better].to(before.device)
        self.before[place, better] = before[kept, rows].cpu()
        self.after[place, better] = after[kept, rows].cpu()

    def end(self, view: LayerView) -> None:
        """Stop the pass after the last layer."""
        if view.stack == self.stack and view.layer == self.shape.numbers[-1]:
            raise EnoughLayers

    def result(self) -> NDArray[np.float32]:
        """The mean over the rows, in nats, (layer, head)."""
        return (self.sums / self.length).float().numpy()


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


def inside(given: tuple[int, int] | None, whole: tuple[int, int]) -> tuple[int, int]:
    """A window within the text."""
    if given is None:
        return whole
    first, last = max(given[0], whole[0]), min(given[1], whole[1])
    if first >= last:
        raise UserError(
            f"the window must lie within tokens 0 to {whole[1]}; got {given[0]} to {given[1]}"
        )
    return first, last
