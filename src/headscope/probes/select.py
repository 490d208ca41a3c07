"""Choosing heads: the best ones alone, or greedily those that add most to what is chosen already (J5)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.probes.classify import Rows

RIDGE = 1e-2
"""Added to the features' covariance: of standardised features, a hundredth of their spread."""
CANDIDATES, NUMBERS = 144, 9216
"""Greedy selection looks at no more heads than this, the best ones alone, and at no more numbers of them together: their covariance must fit into memory."""
TRAINED_ON = 10_000
"""… and at no more training examples."""
HELD_OUT = 0.2


def ranking(validation: NDArray[np.float64]) -> list[int]:
    """Units from the best validation score to the worst; of equals the first, and those without a score last.

    >>> ranking(np.array([0.5, 0.9, 0.5]))
    [1, 0, 2]
    """
    return [int(unit) for unit in np.argsort(-np.nan_to_num(validation, nan=-np.inf), kind="stable")]


def judged(rows: Rows, seed: int) -> tuple[NDArray[np.int64], Rows]:
    """Which rows greedy selection looks at, and their labels: some to train on, and as validation its own part, or a fifth of the training rows where there is none."""
    train, held = _parts(rows, seed)
    kept = np.concatenate([train, held])
    return kept, Rows(rows.gold[kept], rows.classes, np.arange(len(train)), np.arange(len(train), len(kept)), np.zeros(0, np.int64))


def greedy(x: Tensor, rows: Rows, *, count: int) -> list[int]:
    """Units in the order in which each adds most to those before it. ``x`` is (unit, row, width), standardised; ``rows`` are those of :func:`judged`.

    The judge is a ridge regression to the classes (or the levels of a score): its squared error on the validation part. (Accuracy steps with single
    examples: heads chosen by it did better on validation and worse on test.)
    Adding a unit is a block sweep of the normal equations, after which all others are seen less what the chosen ones already say: no classifier is trained anew.
    """
    train, held = rows.train, rows.dev
    units, _, width = x.shape
    flat = x.permute(1, 0, 2).reshape(x.shape[1], units * width)
    wanted = rows.targets.float() if rows.regression else torch.nn.functional.one_hot(rows.targets, rows.classes).float()
    y = wanted - wanted[train].mean(0)
    inside = flat[train]
    gram = inside.t() @ inside / len(train) + RIDGE * torch.eye(units * width)
    moment = inside.t() @ y[train] / len(train)
    seen, said = flat[held].clone(), wanted[train].mean(0).repeat(len(held), 1)
    chosen: list[int] = []
    while len(chosen) < min(count, units):
        errors: dict[int, float] = {}
        for unit in sorted(set(range(units)) - set(chosen)):
            block = slice(unit * width, (unit + 1) * width)
            answer = said + seen[:, block] @ torch.linalg.solve(gram[block, block], moment[block])
            errors[unit] = float((answer - wanted[held]).pow(2).sum())
        unit = min(errors, key=errors.__getitem__)
        block = slice(unit * width, (unit + 1) * width)
        said = said + seen[:, block] @ torch.linalg.solve(gram[block, block], moment[block])
        turn = torch.linalg.solve(gram[block, block], gram[block])
        seen -= seen[:, block] @ turn
        moment = moment - turn.t() @ moment[block]
        gram = gram - gram[:, block] @ turn
        chosen.append(unit)
    return chosen


def _parts(rows: Rows, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows to train on and those to judge by."""
    order = np.random.default_rng(seed).permutation(rows.train)
    if len(rows.dev):
        return order[:TRAINED_ON], rows.dev
    held = max(1, round(HELD_OUT * len(order)))
    return order[held : held + TRAINED_ON], order[:held]
