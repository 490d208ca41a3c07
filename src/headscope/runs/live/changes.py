"""What heads that are off do to the maps of other heads."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.heads import Head
from headscope.models import Shape
from headscope.runs.live.listeners import Moved


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


@dataclass(frozen=True)
class Changes:
    """What heads that are off do to the maps of all heads.

    Attributes
    ----------
    divergence
        Mean Jensen–Shannon divergence of the rows, in nats, (layer, head).
    small
        All maps with these heads off, pooled, (layer, head, cell, cell).
    moves
        The heads whose maps change most, without those that are off.
    """

    divergence: NDArray[np.float32]
    small: NDArray[np.uint8]
    moves: list[Move]


def strongest_moves(
    moved: Moved, divergence: NDArray[np.float32], shape: Shape, off: Set[Head], most: int
) -> list[Move]:
    """The heads whose maps change most.

    Parameters
    ----------
    moved
        What a pass over two copies of a text gave.
    divergence
        How far each map moves, (layer, head).
    shape
        The shape of the stack.
    off
        Heads that are left out.
    most
        How many heads are listed.
    """
    heads = shape.every_head
    found: list[Move] = []
    for number in np.argsort(-divergence.ravel(), kind="stable").tolist():
        if heads[number] in off or divergence.flat[number] <= 0 or len(found) == most:
            continue
        place = divmod(number, shape.heads)
        before, after = moved.before[place].numpy(), moved.after[place].numpy()
        up, down = int((after - before).argmax()), int((after - before).argmin())
        found.append(
            Move(
                heads[number],
                float(divergence.flat[number]),
                int(moved.row[place]),
                (up, float(before[up]), float(after[up])),
                (down, float(before[down]), float(after[down])),
            )
        )
    return found
