"""Selecting heads: by their own score, or greedily by what they add to those selected before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from headscope.runs.probe.linear import Fitted, Problems, solve
from headscope.runs.probe.many_classes import MANY, Descent, SoftmaxRegression
from headscope.runs.probe.rows import LabelledRows

CANDIDATES, NUMBERS, WORK = 144, 9216, 8e9
"""Greedy selection considers at most so many heads, so many features of them together (which must
fit in memory), and so many rows × features × classes."""
SELECTED = 1024
"""It selects heads of at most so many features together, unless more heads are requested."""
TRAINED_ON, HELD_OUT = 10_000, 0.2
"""It uses at most so many training examples. Without a validation split, a fifth is held out."""
JUDGE_L2, TOLERANCE = 1e-2, 1e-3
"""L2 of the classifier that judges a selection, and its tolerance: losses need no more."""
SHORTLIST = 4
"""Number of heads for which a classifier is trained at each step."""
RIDGE = 1e-2
"""Added to the covariance of selected features in the ridge regression: 1 % of their variance."""
SHARE, STEPS = 1e-4, 200
"""With many classes, a classifier of a judge is good enough when the next step is expected to lower
its loss by this share of it; and the maximum number of steps."""


def ranking(validation: NDArray[np.float64]) -> list[int]:
    """Order units from the best validation score to the worst.

    Parameters
    ----------
    validation
        (unit,)

    Returns
    -------
    list of int
        Equally good units keep their order; units without a score come last.

    Examples
    --------
    >>> ranking(np.array([0.5, np.nan, 0.9, 0.5]))
    [2, 0, 3, 1]
    """
    order = np.argsort(-np.nan_to_num(validation, nan=-np.inf), kind="stable")
    return [int(unit) for unit in order]


def judging_rows(rows: LabelledRows, seed: int) -> tuple[NDArray[np.int64], LabelledRows]:
    """The rows that greedy selection uses.

    Parameters
    ----------
    rows
        The rows of the task.
    seed
        Seed of the choice.

    Returns
    -------
    kept
        Their row numbers.
    judging
        Their labels, with part of the training rows for training. The validation rows are the
        task's own; without them, a fifth of the training rows.

    Examples
    --------
    >>> labels = np.arange(10.0)
    >>> task = LabelledRows(labels, 10, np.arange(5), np.arange(0), np.arange(5, 10))
    >>> kept, judging = judging_rows(task, seed=0)
    >>> sorted(kept.tolist()), len(judging.train), len(judging.dev)
    ([0, 1, 2, 3, 4], 4, 1)
    """
    order = np.random.default_rng(seed).permutation(rows.train)
    if len(rows.dev):
        train, held_out = order[:TRAINED_ON], rows.dev
    else:
        count = max(1, round(HELD_OUT * len(order)))
        train, held_out = order[count : count + TRAINED_ON], order[:count]
    kept = np.concatenate([train, held_out])
    places = np.arange(len(kept))
    return kept, LabelledRows(
        rows.gold[kept],
        rows.classes,
        places[: len(train)],
        places[len(train) :],
        np.zeros(0, np.int64),
    )


def candidates(order: Sequence[int], rows: LabelledRows, width: int, count: int) -> list[int]:
    """The heads from which greedy selection chooses.

    Parameters
    ----------
    order
        Heads from the best to the worst.
    rows
        The rows of :func:`judging_rows`.
    width
        Number of features of a head.
    count
        Number of heads to select.

    Returns
    -------
    list of int
        As many of the best heads as time and memory allow, and at least ``count``.
    """
    work = len(rows.train) * width * rows.outputs
    most = min(CANDIDATES, NUMBERS // width, int(WORK / work))
    return list(order[: max(count, most)])


def greedy(x: Tensor, rows: LabelledRows, *, count: int) -> list[int]:
    """Select units one by one, each time the one that adds most to those selected before.

    The judge is the classifier itself, trained on the selected units and one more. The unit with
    the lowest cross-entropy on the validation rows is selected (accuracy moves in steps of single
    examples). Only the most promising units are tried this way. How promising a unit is follows
    from a small problem: remove from its features what the selected units predict of them, add
    them to the present classifier, leave everything else unchanged, and compute the loss. With
    many classes a single Newton step stands for its solution.

    Parameters
    ----------
    x
        Standardised features, (unit, row, width).
    rows
        The rows of :func:`judging_rows`.
    count
        Number of units to select.

    Returns
    -------
    list of int
        Units in the order of their selection.
    """
    judge = (ManyClassesJudge if rows.outputs >= MANY else Judge)(x, rows)
    while judge.left and len(judge.selected) < count:
        judge.add()
    return judge.selected


# --- judges: which unit adds most to those selected before ---


class Judge:
    """Selected units, the rest, and the classifier on the selected ones.

    Parameters
    ----------
    x
        Standardised features, (unit, row, width).
    rows
        Labels, training and validation rows.

    Attributes
    ----------
    selected, left
        Units in the order of their selection, and the other ones.
    logits
        Those of the classifier on the selected units, (row, class).
    residual
        The features of every unit without what the selected ones predict of them.
    """

    def __init__(self, x: Tensor, rows: LabelledRows) -> None:
        self.x, self.residual, self.rows = x, x.clone(), rows
        self.targets = rows.targets
        self.left, self.selected = list(range(len(x))), list[int]()
        self.logits = x.new_zeros(x.shape[1], rows.outputs)

    def add(self) -> None:
        """Select one more unit."""
        order = self.estimates().argsort(stable=True)[:SHORTLIST].tolist()
        best = self.best([self.left[place] for place in order])
        self.left.remove(best)
        self.selected.append(best)
        self._subtract(best)

    def estimates(self) -> Tensor:
        """About the validation loss with each of the units that are left, (unit,)."""
        return self._losses(self.residual[self.left], self.logits[None])[0]

    def best(self, shortlist: Sequence[int]) -> int:
        """The unit with which a new classifier has the lowest validation loss."""
        features = torch.stack([self.features(unit) for unit in shortlist])
        losses, fitted = self._losses(features)
        best = int(losses.argmin())
        self.logits = features[best] @ fitted.weight[best, 0, 0] + fitted.bias[best, 0, 0]
        return shortlist[best]

    def features(self, unit: int) -> Tensor:
        """Features of the selected units and one more, (row, width)."""
        return torch.cat([*self.x[self.selected], self.x[unit]], 1)

    def validation_loss(self, logits: Tensor) -> Tensor:
        """Cross-entropy on the validation rows, whose logits are given."""
        return functional.cross_entropy(logits, self.targets[self.rows.dev])

    def _losses(self, x: Tensor, offset: Tensor | None = None) -> tuple[Tensor, Fitted]:
        """Train a classifier on each unit of ``x``: its validation loss, and the classifiers."""
        sets = torch.zeros(1, x.shape[1], dtype=torch.bool)
        sets[0, self.rows.train] = True
        problems = Problems(x, self.targets, self.rows.outputs, sets, (JUDGE_L2,), offset)
        fitted = solve(problems, tolerance=TOLERANCE, share=1.0)
        held_out, losses = self.rows.dev, []
        for one, weight, bias in zip(x, fitted.weight[:, 0, 0], fitted.bias[:, 0, 0], strict=True):
            logits = one[held_out] @ weight + bias + (0 if offset is None else offset[0, held_out])
            losses.append(self.validation_loss(logits))
        return torch.stack(losses), fitted

    def _subtract(self, unit: int) -> None:
        """Remove from all units what the new one predicts of them, by ridge regression."""
        new, train = self.residual[unit].clone(), self.rows.train
        inside = new[train]
        covariance = inside.t() @ inside / len(train) + RIDGE * torch.eye(new.shape[1])
        for other in self.left:
            self.residual[other] -= new @ torch.linalg.solve(
                covariance, inside.t() @ self.residual[other][train] / len(train)
            )


class ManyClassesJudge(Judge):
    """A judge for tasks with many classes, where each evaluation of a loss is costly.

    - The estimates for all units follow from a single evaluation: one Newton step for each, with
      the curvature that the covariance of its features and the mean of p (1 - p) of each class
      suggest.
    - A classifier on more units starts from the one on fewer, and from that step.
    """

    def __init__(self, x: Tensor, rows: LabelledRows) -> None:
        super().__init__(x, rows)
        self.theta = x.new_zeros(1, rows.outputs)
        self.newton: dict[int, Tensor] = {}

    def estimates(self) -> Tensor:
        """About the validation loss with each of the units that are left, (unit,)."""
        share = torch.softmax(self.logits[self.rows.train], 1)
        bend = (share - share.square()).mean(0)
        targets = self.targets[self.rows.train]
        if targets.dim() == 1:
            share[torch.arange(len(share)), targets] -= 1
        else:
            share -= targets
        held_out, losses = self.rows.dev, []
        for unit in self.left:
            x = self.residual[unit, self.rows.train]
            variances, axes = torch.linalg.eigh(x.t() @ x / len(x))
            gradient = axes.t() @ (x.t() @ share) / len(x)
            curvature = torch.outer(variances.clamp(min=0), bend) + JUDGE_L2
            self.newton[unit] = axes @ (gradient / curvature).neg_()
            losses.append(
                self.validation_loss(
                    self.logits[held_out] + self.residual[unit, held_out] @ self.newton[unit]
                )
            )
        return torch.stack(losses)

    def best(self, shortlist: Sequence[int]) -> int:
        """The unit with which a new classifier has the lowest validation loss."""
        train, held_out = self.rows.train, self.rows.dev
        best, lowest, theta = shortlist[0], torch.tensor(torch.inf), self.theta
        for unit in shortlist:
            x = self.features(unit)
            loss = SoftmaxRegression(x[train], self.targets[train], self.rows.outputs)
            start = torch.cat([self.theta[:-1], self.newton[unit], self.theta[-1:]])
            descent = Descent(loss, start, JUDGE_L2)
            descent.until(SHARE, STEPS)
            weight, bias = descent.theta[:-1], descent.theta[-1]
            value = self.validation_loss(x[held_out] @ weight + bias)
            if value < lowest:
                best, lowest, theta = unit, value, descent.theta
        self.theta = theta
        self.logits = self.features(best) @ theta[:-1] + theta[-1]
        return best
