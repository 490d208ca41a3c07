"""Vectors of heads for the probing jobs, made by numpy alone: every environment has it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

HEADS, WIDTH = 36, 32
TRAIN, HELD, TEST = 1000, 500, 500
L2 = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


@dataclass(frozen=True)
class MadeHeads:
    """Standardised vectors (head, row, width) and one of two classes per row."""

    x: NDArray[np.float32]
    y: NDArray[np.int64]

    def parts(self, head: int) -> list[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        """Return training, held-out and test rows of a head."""
        ends = (0, TRAIN, TRAIN + HELD, TRAIN + HELD + TEST)
        return [(self.x[head, first:last], self.y[first:last]) for first, last in pairwise(ends)]


def make() -> MadeHeads:
    """Make heads that tell the classes apart better and better; the first cannot at all."""
    random = np.random.default_rng(0)
    rows = TRAIN + HELD + TEST
    y = random.integers(2, size=rows)
    x = random.normal(size=(HEADS, rows, WIDTH))
    strength = np.linspace(0, 0.4, HEADS)[:, None, None]
    x += strength * (y - 0.5)[None, :, None] * random.normal(size=(HEADS, 1, WIDTH))
    x = (x - x[:, :TRAIN].mean(1, keepdims=True)) / x[:, :TRAIN].std(1, keepdims=True)
    return MadeHeads(x.astype(np.float32), y.astype(np.int64))
