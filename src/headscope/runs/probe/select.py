"""Choosing heads: the best ones alone, or greedily those that add most to what is chosen already (J5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from headscope.runs.probe.linear import Fitted, Problems, solve
from headscope.runs.probe.rows import Rows

JUDGE_L2, TOLERANCE = 1e-2, 1e-3
"""The classifier that judges a choice: its L2, and how far it is solved, which is as far as losses can be told apart."""
SHORT = 4
"""So many heads are tried in earnest each time."""
RIDGE = 1e-2
"""Added to the covariance of chosen features, when others are seen less what these say: a hundredth of their spread."""
CANDIDATES, NUMBERS, WORK = 144, 9216, 8e9
"""Greedy selection looks at no more heads than this, the best ones alone; at no more numbers of them together, which must fit into memory; and at no more than this many rows × numbers × classes …"""
CHOSEN = 1024
"""… chooses heads of no more numbers than this, unless more are asked for …"""
TRAINED_ON, HELD_OUT = 10_000, 0.2
"""… and looks at no more training examples. Without a validation part, a fifth of training is held out."""


def ranking(validation: NDArray[np.float64]) -> list[int]:
    """Units from the best validation score to the worst; of equals the first, and those without a score last.

    >>> ranking(np.array([0.5, 0.9, 0.5]))
    [1, 0, 2]
    """
    return [
        int(unit) for unit in np.argsort(-np.nan_to_num(validation, nan=-np.inf), kind="stable")
    ]


def judged(rows: Rows, seed: int) -> tuple[NDArray[np.int64], Rows]:
    """Which rows greedy selection looks at, and their labels: some to train on, and as validation its own part, or a fifth of the training rows where there is none."""
    train, held = _parts(rows, seed)
    kept = np.concatenate([train, held])
    return kept, Rows(
        rows.gold[kept],
        rows.classes,
        np.arange(len(train)),
        np.arange(len(train), len(kept)),
        np.zeros(0, np.int64),
    )


def candidates(order: Sequence[int], rows: Rows, width: int, count: int) -> list[int]:
    """The heads that greedy selection chooses from: as many of the best ones alone as time and memory allow, and no fewer than are to be chosen."""
    outputs = rows.classes or len(rows.levels)
    most = min(CANDIDATES, NUMBERS // width, int(WORK / (len(rows.train) * width * outputs)))
    return list(order[: max(count, most)])


def greedy(x: Tensor, rows: Rows, *, count: int) -> list[int]:
    """Units in the order in which each adds most to those before it. ``x`` is (unit, row, width), standardised; ``rows`` are those of :func:`judged`.

    The judge is the classifier itself, trained on the chosen units and one more: the one with the lowest cross-entropy on validation is taken. (Accuracy steps with single examples.)
    Only the few most promising units are tried so. What a unit promises is the loss when its own features, less what the chosen ones say of them, are added to the classifier
    that is there and nothing else is changed: a problem as small as that of the unit alone.
    """
    judge = _Judge(x, rows)
    while judge.left and len(judge.chosen) < count:
        judge.add()
    return judge.chosen


class _Judge:
    def __init__(self, x: Tensor, rows: Rows) -> None:
        self.x, self.rest, self.rows = x, x.clone(), rows
        self.targets, self.outputs = rows.targets, rows.classes or len(rows.levels)
        self.sets = torch.zeros(1, x.shape[1], dtype=torch.bool)
        self.sets[0, rows.train] = True
        self.left, self.chosen = list(range(len(x))), list[int]()
        self.said = x.new_zeros(1, x.shape[1], self.outputs)
        """The logits of the classifier on the chosen units."""

    def add(self) -> None:
        """Choose one more unit."""
        promised, _ = self._losses(self.rest[self.left], self.said)
        short = [self.left[place] for place in promised.argsort(stable=True)[:SHORT].tolist()]
        features = torch.stack(
            [torch.cat([*self.x[self.chosen], self.x[unit]], 1) for unit in short]
        )
        losses, fitted = self._losses(features)
        place = int(losses.argmin())
        self.said = features[place] @ fitted.weight[place, :, 0] + fitted.bias[place, :, :1]
        self.left.remove(short[place])
        self.chosen.append(short[place])
        self._see_less(short[place])

    def _losses(self, x: Tensor, offset: Tensor | None = None) -> tuple[Tensor, Fitted]:
        """The loss on validation of a classifier on each unit of ``x``, and these classifiers."""
        fitted = solve(
            Problems(x, self.targets, self.outputs, self.sets, (JUDGE_L2,), offset),
            tolerance=TOLERANCE,
        )
        held, losses = self.rows.dev, []
        for one, weight, bias in zip(x, fitted.weight[:, 0, 0], fitted.bias[:, 0, 0], strict=True):
            logits = one[held] @ weight + bias + (0 if offset is None else offset[0, held])
            losses.append(functional.cross_entropy(logits, self.targets[held]))
        return torch.stack(losses), fitted

    def _see_less(self, unit: int) -> None:
        """Take out of all units what the new one says of them, by ridge regression."""
        new, train = self.rest[unit].clone(), self.rows.train
        inside = new[train]
        spread = inside.t() @ inside / len(train) + RIDGE * torch.eye(new.shape[1])
        for other in self.left:
            self.rest[other] -= new @ torch.linalg.solve(
                spread, inside.t() @ self.rest[other][train] / len(train)
            )


def _parts(rows: Rows, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows to train on and those to judge by."""
    order = np.random.default_rng(seed).permutation(rows.train)
    if len(rows.dev):
        return order[:TRAINED_ON], rows.dev
    held = max(1, round(HELD_OUT * len(order)))
    return order[held : held + TRAINED_ON], order[:held]
