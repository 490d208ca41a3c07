"""Logistic regressions to be solved side by side, and their solutions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from headscope.runs.probe import L2


@dataclass(frozen=True)
class Problems:
    """Logistic regressions on the same rows: one per unit, training set and L2 value.

    A unit is a head, a layer or several heads together.

    Parameters
    ----------
    x
        Standardised features, (unit, row, width).
    targets
        Classes, (row,), or probabilities, (row, class).
    classes
        Number of classes.
    sets
        (set, row), true for the rows of a training set.
    l2
        L2 penalties.
    offset
        Logits to which those of the features are added, (set, row, class).
    """

    x: Tensor
    targets: Tensor
    classes: int
    sets: Tensor
    l2: tuple[float, ...] = L2
    offset: Tensor | None = None

    def part(self, units: slice) -> Problems:
        """The problems of some units."""
        return replace(self, x=self.x[units])


@dataclass(frozen=True)
class Fitted:
    """Trained classifiers.

    Parameters
    ----------
    weight
        (unit, set, l2, width, class)
    bias
        (unit, set, l2, class)
    steps
        Number of steps of the longest optimisation.
    unsolved
        Number of problems that had not converged after the last step.
    """

    weight: Tensor
    bias: Tensor
    steps: int
    unsolved: int = 0

    def logits(self, x: Tensor) -> Tensor:
        """Logits of rows: (unit, row, width) to (unit, set, l2, row, class)."""
        return torch.einsum("und,usldc->uslnc", x, self.weight) + self.bias[:, :, :, None]
