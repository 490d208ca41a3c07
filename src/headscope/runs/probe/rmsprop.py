"""Many logistic regressions by RMSProp in minibatches, stopped early, as Jo and Myaeng 2020 (A.2) train them with SentEval: what the exact solver is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from headscope.errors import UserError
from headscope.runs.probe.linear import Fitted, Problems

ALPHA = 0.99
EPSILON = 1e-8
MEMORY = 2**28
"""Units are trained together as far as their scores and weights take no more than about this many bytes."""


@dataclass(frozen=True)
class _Setting:
    rate: float
    batch: int
    patience: int
    epochs: int
    seed: int


def solve_rmsprop(
    problems: Problems,
    held: Tensor,
    *,
    rate: float = 0.1,
    batch: int = 256,
    patience: int = 3,
    epochs: int = 200,
    seed: int = 0,
) -> Fitted:
    """Train every problem as one ``nn.Linear`` would be by ``torch.optim.RMSprop``, all units and L2 values of a training set at once.

    ``held`` (set, row) says which rows tell when to stop: a problem's weights are kept from the epoch with the highest accuracy on them (the first of equals), and it stops
    after ``patience`` epochs in a row without a higher one. With soft targets, whose rows must sum to 1, the lower cross-entropy on them counts instead.

    As in SentEval every problem starts from the same random weights, and L2 is torch's ``weight_decay``: it is added to the gradient, and holds for the bias too.
    A problem's result does not depend on which others are trained beside it. ``steps`` is the number of minibatches that the longest one took.
    """
    _check(problems, held, batch=batch, patience=patience, epochs=epochs)
    setting = _Setting(rate, batch, patience, epochs, seed)
    units, _, width = problems.x.shape
    each = (
        len(problems.l2)
        * problems.classes
        * problems.x.element_size()
        * (3 * batch + 6 * (width + 1))
    )
    found, longest = [], 0
    for rows, judges in zip(problems.sets, held, strict=True):
        parts = []
        for x in torch.split(problems.x, max(1, min(units, MEMORY // each))):
            part, steps = _train(x, problems, rows.nonzero()[:, 0], judges.nonzero()[:, 0], setting)
            parts.append(part)
            longest = max(longest, steps)
        found.append(torch.cat(parts))
    both = torch.stack(found, 1).mT  # (unit, set, l2, width + 1, class)
    return Fitted(both[..., :-1, :].contiguous(), both[..., -1, :].contiguous(), longest)


def _check(problems: Problems, held: Tensor, **counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise UserError(f"the {name} parameter must be 1 or more, got {count} instead")
    if held.shape != problems.sets.shape:
        raise UserError(
            f"held must have one row for each training set, of shape {tuple(problems.sets.shape)}, got {tuple(held.shape)} instead"
        )
    for kind, sets in (("train on", problems.sets), ("say when to stop", held)):
        empty = (~sets.any(1)).nonzero()[:, 0].tolist()
        if empty:
            raise UserError(
                f"training set {empty[0] + 1} has no row to {kind}",
                hint="give more examples, or fewer folds",
            )


def _train(
    x: Tensor, problems: Problems, rows: Tensor, judges: Tensor, setting: _Setting
) -> tuple[Tensor, int]:
    """The best weights (unit, l2, class, width + 1; the last is the bias) on one training set, and how many minibatches were taken. Units leave when all their L2 values have stopped."""
    random = np.random.default_rng(setting.seed)
    weights = (
        _start(x, problems.classes, setting.seed)
        .expand(len(x), len(problems.l2), -1, -1)
        .contiguous()
    )
    decay = torch.tensor(problems.l2, dtype=x.dtype, device=x.device)[:, None, None]
    squares, best = torch.zeros_like(weights), weights.clone()
    top = torch.full(weights.shape[:2], -torch.inf, dtype=x.dtype, device=x.device)
    idle = torch.zeros(weights.shape[:2], dtype=torch.int64, device=x.device)
    units = torch.arange(len(x), device=x.device)
    steps = 0
    for _ in range(setting.epochs):
        order = rows[torch.from_numpy(random.permutation(len(rows))).to(rows.device)]
        for some in torch.split(order, setting.batch):
            gradient = _gradient(weights, _pick(x, units, some), _wanted(problems, some)).add_(
                decay * weights
            )
            squares.mul_(ALPHA).addcmul_(gradient, gradient, value=1 - ALPHA)
            weights.addcdiv_(gradient, squares.sqrt().add_(EPSILON), value=-setting.rate)
            steps += 1
        quality = _quality(weights, x, units, problems, torch.split(judges, setting.batch))
        better = (quality > top[units]) & (idle[units] < setting.patience)
        best[units] = torch.where(better[..., None, None], weights, best[units])
        top[units] = torch.where(better, quality, top[units])
        idle[units] = torch.where(better, 0, idle[units] + 1)
        going = (idle[units] < setting.patience).any(1)
        if not going.any():
            break
        if not going.all():
            units, weights, squares = units[going], weights[going], squares[going]
    return best, steps


def _start(x: Tensor, classes: int, seed: int) -> Tensor:
    """The random weights and bias (class, width + 1) of a new ``nn.Linear``."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = torch.nn.Linear(x.shape[2], classes, dtype=x.dtype)
    return torch.cat([layer.weight, layer.bias[:, None]], 1).detach().to(x.device)


def _pick(x: Tensor, units: Tensor, rows: Tensor) -> Tensor:
    """(unit, row, width): one selection among all vectors, which is faster than by units and then by rows."""
    return (
        x.reshape(-1, x.shape[2])
        .index_select(0, (units[:, None] * x.shape[1] + rows).flatten())
        .view(len(units), len(rows), -1)
    )


def _wanted(problems: Problems, rows: Tensor) -> Tensor:
    """What is to be predicted: (class, row)."""
    targets = problems.targets[rows]
    return (
        (functional.one_hot(targets, problems.classes) if targets.ndim == 1 else targets)
        .to(problems.x.dtype)
        .mT
    )


def _scores(weights: Tensor, x: Tensor) -> Tensor:
    """(unit, l2, class, row): rows last, because a softmax over few classes is quick only then."""
    flat = weights.flatten(1, 2)
    return torch.baddbmm(flat[..., -1:], flat[..., :-1], x.mT).view(*weights.shape[:3], -1)


def _gradient(weights: Tensor, x: Tensor, wanted: Tensor) -> Tensor:
    """Of the mean cross-entropy over the rows, by weights and bias."""
    error = _scores(weights, x).softmax(2).sub_(wanted).div_(wanted.shape[1]).flatten(1, 2)
    return torch.cat([error @ x, error.sum(2, keepdim=True)], 2).view_as(weights)


def _quality(
    weights: Tensor, x: Tensor, units: Tensor, problems: Problems, portions: Sequence[Tensor]
) -> Tensor:
    """(unit, l2): how many of the rows are right, or minus their summed cross-entropy where targets are soft."""
    total = weights.new_zeros(weights.shape[:2])
    for rows in portions:
        scores, wanted = _scores(weights, _pick(x, units, rows)), _wanted(problems, rows)
        total += (
            (scores.log_softmax(2) * wanted).sum((2, 3))
            if problems.targets.ndim > 1
            else (scores.argmax(2) == wanted.argmax(0)).sum(2)
        )
    return total
