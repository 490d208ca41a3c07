"""Selecting heads: by their own score, or greedily by what they add to those selected before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.runs.probe.judge import Judge, ManyClassesJudge
from headscope.runs.probe.many_classes import MANY
from headscope.runs.probe.rows import LabelledRows

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
