"""Choosing heads: the best ones alone, or greedily those that add most to what is chosen already (J5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.probes.classify import FOLDS
from headscope.probes.rows import Rows

RIDGE = 1e-2
"""Added to the features' covariance: of standardised features, a hundredth of their spread."""
CANDIDATES, NUMBERS = 144, 9216
"""Greedy selection looks at no more heads than this, the best ones alone, and at no more numbers of them together: they must fit into memory."""
CHOSEN = 3072
"""… chooses heads of no more numbers than this …"""
TRAINED_ON = 10_000
"""… and looks at no more training examples."""


def ranking(validation: NDArray[np.float64]) -> list[int]:
    """Units from the best validation score to the worst; of equals the first, and those without a score last.

    >>> ranking(np.array([0.5, 0.9, 0.5]))
    [1, 0, 2]
    """
    return [int(unit) for unit in np.argsort(-np.nan_to_num(validation, nan=-np.inf), kind="stable")]


def judged(rows: Rows, seed: int) -> tuple[NDArray[np.int64], Rows]:
    """Which rows greedy selection looks at, in which order, and their labels: training and validation, nothing of the test."""
    train = np.random.default_rng(seed).permutation(rows.train)[:TRAINED_ON]
    kept = np.concatenate([train, rows.dev])
    return kept, Rows(rows.gold[kept], rows.classes, np.arange(len(train)), np.arange(len(train), len(kept)), np.zeros(0, np.int64))


def greedy(x: Tensor, rows: Rows, *, count: int) -> list[int]:
    """Units in the order in which each adds most to those before it. ``x`` is (unit, row, width), standardised; ``rows`` are those of :func:`judged`.

    The judge is a ridge regression to the classes (or the levels of a score): its squared error on rows it was not trained on. These are the validation part, and each fold of the training
    part, judged by a regression on the others: among so many sets of heads some are good on a few hundred rows by luck. (Accuracy steps with single examples: heads chosen by
    it did better on validation and worse on test.)
    """
    units, _, width = x.shape
    flat = x.permute(1, 0, 2).reshape(x.shape[1], units * width)
    wanted = rows.targets.float() if rows.regression else torch.nn.functional.one_hot(rows.targets, rows.classes).float()
    folds = np.array_split(rows.train, min(FOLDS, len(rows.train)))
    inside = [flat[fold] for fold in folds]
    sums = [_Sums.of(part, wanted[fold], units) for part, fold in zip(inside, folds, strict=True)]
    judges = [_Judge(sums, [*range(fold), *range(fold + 1, len(folds))], inside[fold], wanted[folds[fold]]) for fold in range(len(folds) if len(folds) > 1 else 0)]
    if len(rows.dev):
        judges.append(_Judge(sums, range(len(folds)), flat[rows.dev], wanted[rows.dev]))
    left = list(range(units))
    chosen: list[int] = []
    while left and len(chosen) < count:
        errors = torch.stack([judge.errors(left) for judge in judges]).sum(0)
        unit = left.pop(int(errors.argmin()))
        block = slice(unit * width, (unit + 1) * width)
        products = [part[:, block].t() @ part for part in inside]
        for judge in judges:
            judge.add(unit, products)
        chosen.append(unit)
    return chosen


@dataclass(frozen=True)
class _Sums:
    """What a regression must know of its rows: how many they are, and sums over them of features, targets and their products (a unit's features only with its own)."""

    rows: int
    x: Tensor  # (unit · width,)
    y: Tensor  # (class,)
    xy: Tensor  # (unit · width, class)
    own: Tensor  # (unit, width, width)

    @classmethod
    def of(cls, x: Tensor, y: Tensor, units: int) -> _Sums:
        each = x.view(len(x), units, -1).transpose(0, 1)
        return cls(len(x), x.sum(0), y.sum(0), x.t() @ y, each.transpose(1, 2) @ each)


class _Judge:
    """A ridge regression, with intercept, on some folds, and its answers to held-out rows.

    Adding a unit is a step of Cholesky's decomposition, after which all others are seen less what the chosen ones already say: nothing is solved anew but each unit's own equations.
    """

    def __init__(self, sums: Sequence[_Sums], trained: Sequence[int], held: Tensor, wanted: Tensor) -> None:
        parts = [sums[fold] for fold in trained]
        self.trained, self.rows = trained, sum(part.rows for part in parts)
        units, self.width, _ = sums[0].own.shape
        self.mean = torch.stack([part.x for part in parts]).sum(0) / self.rows
        answer = torch.stack([part.y for part in parts]).sum(0) / self.rows
        means = self.mean.view(units, self.width)
        own = torch.stack([part.own for part in parts]).sum(0) / self.rows - means[:, :, None] * means[:, None]
        self.own = own + RIDGE * torch.eye(self.width)  # (unit, width, width)
        self.moment = torch.stack([part.xy for part in parts]).sum(0) / self.rows - self.mean[:, None] * answer  # (unit · width, class)
        self.seen = held - self.mean  # (row, unit · width)
        self.wrong = answer - wanted  # (row, class)
        self.factor = self.mean.new_zeros(0, units * self.width)
        """Cholesky's factor: its rows are the numbers of chosen units, its columns those of all."""

    def errors(self, units: Sequence[int]) -> Tensor:
        """The squared error with one more unit, for each of some."""
        weights = torch.linalg.solve(self.own[units], self.moment.view(len(self.own), self.width, -1)[units])
        return torch.stack([(self.wrong + self.seen[:, self._block(unit)] @ weight).pow(2).sum() for unit, weight in zip(units, weights, strict=True)])

    def add(self, unit: int, products: Sequence[Tensor]) -> None:
        """Choose a unit. ``products``: of its features with all features, fold by fold."""
        block = self._block(unit)
        rows = torch.stack([products[fold] for fold in self.trained]).sum(0) / self.rows - self.mean[block, None] * self.mean
        rows -= self.factor[:, block].t() @ self.factor
        rows[:, block] += RIDGE * torch.eye(self.width)
        root = torch.linalg.cholesky(rows[:, block])
        new = torch.linalg.solve_triangular(root, rows, upper=False)
        told = torch.linalg.solve_triangular(root, self.moment[block], upper=False)
        heard = torch.linalg.solve_triangular(root, self.seen[:, block].t(), upper=False).t()
        self.wrong = self.wrong + heard @ told
        self.seen -= heard @ new
        self.moment = self.moment - new.t() @ told
        each = new.view(self.width, len(self.own), self.width).transpose(0, 1)
        self.own = self.own - each.transpose(1, 2) @ each
        self.factor = torch.cat([self.factor, new])

    def _block(self, unit: int) -> slice:
        return slice(unit * self.width, (unit + 1) * self.width)
