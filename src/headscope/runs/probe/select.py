"""Selecting heads: by their own score, or greedily by what they add to those selected before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from headscope.runs.probe.linear import solve
from headscope.runs.probe.problems import Fitted, Problems
from headscope.runs.probe.rows import LabelledRows

JUDGE_L2, TOLERANCE = 1e-2, 1e-3
"""L2 of the classifier that judges a selection, and its tolerance: losses need no more."""
SHORTLIST = 4
"""Number of heads for which a classifier is trained at each step."""
RIDGE = 1e-2
"""Added to the covariance of selected features in the ridge regression: 1 % of their variance."""
CANDIDATES, NUMBERS, WORK = 144, 9216, 8e9
"""Greedy selection considers at most so many heads, so many features of them together (which must
fit in memory), and so many rows × features × classes."""
SELECTED = 1024
"""It selects heads of at most so many features together, unless more heads are requested."""
TRAINED_ON, HELD_OUT = 10_000, 0.2
"""It uses at most so many training examples. Without a validation split, a fifth is held out."""


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
    them to the present classifier, leave everything else unchanged, and compute the loss.

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
    judge = _Judge(x, rows)
    while judge.left and len(judge.selected) < count:
        judge.add()
    return judge.selected


class _Judge:
    """Selected units, the rest, and the classifier on the selected ones.

    ``logits`` are those of this classifier; ``residual`` are the features of every unit without
    what the selected ones predict of them.
    """

    def __init__(self, x: Tensor, rows: LabelledRows) -> None:
        self.x, self.residual, self.rows = x, x.clone(), rows
        self.targets = rows.targets
        self.sets = torch.zeros(1, x.shape[1], dtype=torch.bool)
        self.sets[0, rows.train] = True
        self.left, self.selected = list(range(len(x))), list[int]()
        self.logits = x.new_zeros(1, x.shape[1], rows.outputs)

    def add(self) -> None:
        """Select one more unit."""
        estimates, _ = self._losses(self.residual[self.left], self.logits)
        order = estimates.argsort(stable=True)[:SHORTLIST].tolist()
        shortlist = [self.left[place] for place in order]
        features = torch.stack(
            [torch.cat([*self.x[self.selected], self.x[unit]], 1) for unit in shortlist]
        )
        losses, fitted = self._losses(features)
        best = int(losses.argmin())
        self.logits = features[best] @ fitted.weight[best, :, 0] + fitted.bias[best, :, :1]
        self.left.remove(shortlist[best])
        self.selected.append(shortlist[best])
        self._subtract(shortlist[best])

    def _losses(self, x: Tensor, offset: Tensor | None = None) -> tuple[Tensor, Fitted]:
        """Train a classifier on each unit of ``x``: its validation loss, and the classifiers."""
        problems = Problems(x, self.targets, self.rows.outputs, self.sets, (JUDGE_L2,), offset)
        fitted = solve(problems, tolerance=TOLERANCE, share=1.0)
        held_out, losses = self.rows.dev, []
        for one, weight, bias in zip(x, fitted.weight[:, 0, 0], fitted.bias[:, 0, 0], strict=True):
            logits = one[held_out] @ weight + bias + (0 if offset is None else offset[0, held_out])
            losses.append(functional.cross_entropy(logits, self.targets[held_out]))
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
