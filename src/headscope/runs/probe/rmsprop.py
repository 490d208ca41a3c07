"""Many logistic regressions by RMSProp in minibatches with early stopping.

Jo and Myaeng (2020, appendix A.2) train their classifiers this way, with SentEval. The exact
solver is compared with this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from headscope.errors import UserError
from headscope.options import Option, Options, takes
from headscope.runs.probe.linear import Fitted, Problems

ALPHA = 0.99
EPSILON = 1e-8
MEMORY = 2**28
"""Units are trained together while their logits and weights take about this many bytes."""


class Schedule(Options):
    """How :func:`solve_rmsprop` trains.

    Parameters
    ----------
    rate
        Learning rate.
    batch
        Number of rows in a minibatch.
    patience
        Number of consecutive epochs without improvement after which a problem stops.
    epochs
        Maximum number of epochs.
    seed
        Seed of the initial weights and of the order of the rows.
    """

    rate: float = 0.1
    batch: Annotated[int, Option(least=1, name="batch parameter")] = 256
    patience: Annotated[int, Option(least=1, name="patience parameter")] = 3
    epochs: Annotated[int, Option(least=1, name="epochs parameter")] = 200
    seed: int = 0


@takes(Schedule)
def solve_rmsprop(problems: Problems, validation: Tensor, schedule: Schedule) -> Fitted:
    """Train every problem as ``torch.optim.RMSprop`` would train one ``nn.Linear``.

    All units and L2 values of a training set are trained at once. A problem's result does not
    depend on which others are trained beside it. As in SentEval, every problem starts from the
    same random weights, and L2 is torch's ``weight_decay``: it is added to the gradient and applies
    to the bias too.

    Parameters
    ----------
    problems
        The logistic regressions.
    validation
        (set, row), true for the rows that decide when to stop. A problem keeps its weights from
        the first epoch with the highest accuracy on them. For soft targets, whose rows must sum to
        1, the lowest cross-entropy counts instead.

    Returns
    -------
    Fitted
        ``steps`` is the number of minibatches of the problem that took longest.

    Raises
    ------
    UserError
        If a number is below 1, or a training set has no rows to train on or to stop by.

    Examples
    --------
    >>> x = torch.tensor([[[-1.0], [-1.0], [1.0], [1.0]]])
    >>> sets = torch.ones(1, 4, dtype=torch.bool)
    >>> fitted = solve_rmsprop(Problems(x, torch.tensor([0, 0, 1, 1]), 2, sets), sets)
    >>> fitted.logits(x)[0, 0, 0].argmax(-1).tolist()
    [0, 0, 1, 1]
    """
    _check(problems, validation)
    units, _, width = problems.x.shape
    numbers = len(problems.l2) * problems.classes * (3 * schedule.batch + 6 * (width + 1))
    together = max(1, min(units, MEMORY // (numbers * problems.x.element_size())))
    weights, longest = [], 0
    for rows, judges in zip(problems.sets, validation, strict=True):
        parts = []
        for x in torch.split(problems.x, together):
            part, steps = _train(
                x, problems, rows.nonzero()[:, 0], judges.nonzero()[:, 0], schedule
            )
            parts.append(part)
            longest = max(longest, steps)
        weights.append(torch.cat(parts))
    both = torch.stack(weights, 1).mT  # (unit, set, l2, width + 1, class)
    return Fitted(both[..., :-1, :].contiguous(), both[..., -1, :].contiguous(), longest)


def _check(problems: Problems, validation: Tensor) -> None:
    if validation.shape != problems.sets.shape:
        raise UserError(
            "the validation parameter must have one row per training set, of shape "
            f"{tuple(problems.sets.shape)}; got {tuple(validation.shape)} instead"
        )
    for purpose, sets in (("train on", problems.sets), ("decide when to stop", validation)):
        empty = (~sets.any(1)).nonzero()[:, 0].tolist()
        if empty:
            raise UserError(
                f"training set {empty[0] + 1} has no rows to {purpose}",
                hint="use more examples or fewer folds",
            )


def _train(
    x: Tensor, problems: Problems, rows: Tensor, judges: Tensor, schedule: Schedule
) -> tuple[Tensor, int]:
    """The best weights on one training set, and the number of minibatches.

    Weights are (unit, l2, class, width + 1); the last column is the bias. A unit is dropped when
    all its L2 values have stopped.
    """
    random = np.random.default_rng(schedule.seed)
    weights = (
        _start(x, problems.classes, schedule.seed)
        .expand(len(x), len(problems.l2), -1, -1)
        .contiguous()
    )
    decay = torch.tensor(problems.l2, dtype=x.dtype, device=x.device)[:, None, None]
    squares, best = torch.zeros_like(weights), weights.clone()
    top = torch.full(weights.shape[:2], -torch.inf, dtype=x.dtype, device=x.device)
    idle = torch.zeros(weights.shape[:2], dtype=torch.int64, device=x.device)
    units = torch.arange(len(x), device=x.device)
    steps = 0
    for _ in range(schedule.epochs):
        order = rows[torch.from_numpy(random.permutation(len(rows))).to(rows.device)]
        for some in torch.split(order, schedule.batch):
            gradient = _gradient(weights, _pick(x, units, some), _targets(problems, some))
            gradient.add_(decay * weights)
            squares.mul_(ALPHA).addcmul_(gradient, gradient, value=1 - ALPHA)
            weights.addcdiv_(gradient, squares.sqrt().add_(EPSILON), value=-schedule.rate)
            steps += 1
        quality = _quality(weights, x, units, problems, torch.split(judges, schedule.batch))
        better = (quality > top[units]) & (idle[units] < schedule.patience)
        best[units] = torch.where(better[..., None, None], weights, best[units])
        top[units] = torch.where(better, quality, top[units])
        idle[units] = torch.where(better, 0, idle[units] + 1)
        going = (idle[units] < schedule.patience).any(1)
        if not going.any():
            break
        if not going.all():
            units, weights, squares = units[going], weights[going], squares[going]
    return best, steps


def _start(x: Tensor, classes: int, seed: int) -> Tensor:
    """The random weights and bias, (class, width + 1), of a new ``nn.Linear``."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = torch.nn.Linear(x.shape[2], classes, dtype=x.dtype)
    return torch.cat([layer.weight, layer.bias[:, None]], 1).detach().to(x.device)


def _pick(x: Tensor, units: Tensor, rows: Tensor) -> Tensor:
    """(unit, row, width), in one selection: faster than by units and then by rows."""
    return (
        x.reshape(-1, x.shape[2])
        .index_select(0, (units[:, None] * x.shape[1] + rows).flatten())
        .view(len(units), len(rows), -1)
    )


def _targets(problems: Problems, rows: Tensor) -> Tensor:
    """Probabilities of the classes, (class, row)."""
    targets = problems.targets[rows]
    if targets.ndim == 1:
        targets = functional.one_hot(targets, problems.classes)
    return targets.to(problems.x.dtype).mT


def _logits(weights: Tensor, x: Tensor) -> Tensor:
    """(unit, l2, class, row): a softmax over few classes is fast only if rows come last."""
    flat = weights.flatten(1, 2)
    return torch.baddbmm(flat[..., -1:], flat[..., :-1], x.mT).view(*weights.shape[:3], -1)


def _gradient(weights: Tensor, x: Tensor, targets: Tensor) -> Tensor:
    """Gradient of the mean cross-entropy over the rows with respect to weights and bias."""
    error = _logits(weights, x).softmax(2).sub_(targets).div_(targets.shape[1]).flatten(1, 2)
    return torch.cat([error @ x, error.sum(2, keepdim=True)], 2).view_as(weights)


def _quality(
    weights: Tensor, x: Tensor, units: Tensor, problems: Problems, portions: Sequence[Tensor]
) -> Tensor:
    """(unit, l2): number of correct rows; for soft targets, minus the sum of cross-entropies."""
    total = weights.new_zeros(weights.shape[:2])
    for rows in portions:
        logits, targets = _logits(weights, _pick(x, units, rows)), _targets(problems, rows)
        total += (
            (logits.log_softmax(2) * targets).sum((2, 3))
            if problems.targets.ndim > 1
            else (logits.argmax(2) == targets.argmax(0)).sum(2)
        )
    return total
