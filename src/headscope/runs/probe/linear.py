"""Many logistic regressions at once, each solved to its optimum.

A problem is a unit (a head or a layer), a training set (a fold) and an L2 value. All problems of a
unit share its rows, so their logits are one matrix product. The solver is L-BFGS on all problems
side by side, each with its own step length and its own end. Its initial curvature is that of the
features' covariance along their principal axes, plus the penalty. This is a good estimate: about
ten steps suffice even if features are correlated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import torch
from torch import Tensor

from headscope.runs.probe.loss import TrainingRows, cross_entropy
from headscope.runs.probe.problems import Fitted, Problems

TOLERANCE, SHARE = 1e-5, 1e-7
"""A problem is solved when no derivative of its mean loss is larger than the first, and a step is
expected to lower the loss by no more than the second, as a share of it. Small derivatives are not
enough: where the penalty is weak, the loss of wide features can still be several percent too high.
"""
STEPS = 1000
HISTORY = 8
MEMORY = 1 << 28
"""Upper bound on the bytes of one step's logits; rows and units are divided accordingly."""
CACHE = 1 << 24
"""Units are solved together while their features fit in this many bytes of processor cache."""
LOGITS = 1 << 21
"""Logits are computed for so many bytes of rows at a time. With a thousand classes they would
otherwise travel to memory and back five times."""
AXES = 1024
"""Widest features whose principal axes are computed."""
SPREAD_ROWS = 2048
"""About this many rows give the covariance of the features."""
ARMIJO, HALVINGS = 1e-4, 12
STUCK, STUCK_SLACK = 20, 10
"""After so many steps that do not lower its loss, a problem with small derivatives (so many times
the tolerance) is as solved as rounding allows."""
LEAST = 1e-12
PILOT, PILOT_ROWS, PILOT_SLACK = 8, 512, 30
"""A rougher solution on every eighth row comes first, if these rows are enough."""

Pair = tuple[Tensor, Tensor, Tensor]
"""A past step of L-BFGS: change of the parameters, of the gradient, and 1 / their product."""


def solve(
    problems: Problems,
    *,
    tolerance: float = TOLERANCE,
    share: float = SHARE,
    steps: int = STEPS,
    memory: int = MEMORY,
) -> Fitted:
    """Minimise the loss of every problem.

    The loss is the mean cross-entropy over the training set plus l2 / 2 times the sum of squared
    weights; biases are not penalised.

    Parameters
    ----------
    problems
        The logistic regressions.
    tolerance
        A problem is solved when no derivative of its loss is larger,
    share
        and a step is expected to lower the loss by this share of it, or less.
    steps
        Maximum number of L-BFGS steps.
    memory
        Approximate number of bytes to work in.

    Returns
    -------
    Fitted

    Examples
    --------
    >>> x = torch.tensor([[[-1.0], [-1.0], [1.0], [1.0]]])
    >>> sets = torch.ones(1, 4, dtype=torch.bool)
    >>> fitted = solve(Problems(x, torch.tensor([0, 0, 1, 1]), 2, sets, l2=(0.1,)))
    >>> fitted.logits(x)[0, 0, 0].argmax(-1).tolist()
    [0, 0, 1, 1]
    """
    units, rows, width = problems.x.shape
    size = 1 if problems.classes == 2 else problems.classes
    parameters = width * size * len(problems.sets) * len(problems.l2)
    state = (2 * HISTORY + 6) * parameters * problems.x.element_size()
    cached = CACHE // (rows * width * problems.x.element_size()) or 1
    together = max(1, min(cached, memory // max(state, 1)))
    with torch.inference_mode():  # small tensors: what autograd notes of each takes a fifth
        parts = [
            LinearSolver(problems.part(slice(start, start + together)), memory).solve(
                steps, tolerance, share
            )
            for start in range(0, units, together)
        ]
    return Fitted(
        torch.cat([part.weight for part in parts]),
        torch.cat([part.bias for part in parts]),
        max(part.steps for part in parts),
        sum(part.unsolved for part in parts),
    )


class LinearSolver:
    """The problems of some units.

    Parameters are (unit, set, l2, class, width + 1); the last column is the bias. For two classes
    only their difference is sought. Rows come last in everything that has them: products of few
    problems with many rows are several times faster that way.
    """

    def __init__(self, problems: Problems, memory: int) -> None:
        self.memory, self.classes = memory, problems.classes
        self.binary = problems.classes == 2
        self.data = TrainingRows.of(problems)
        x = self.data.x
        # Of two classes with weights w and -w, l2/2 · 2|w|² is l2/4 · |2w|².
        self.penalty = (x.new_tensor(problems.l2) / (2 if self.binary else 1))[:, None, None]
        self.shape = (
            x.shape[0],
            len(problems.sets),
            len(problems.l2),
            1 if self.binary else self.classes,
            x.shape[2] + 1,
        )
        curvature, self.axes = _spread(x)
        self.bend = 0.25 if self.binary else (1 - 1 / self.classes) / self.classes
        self.scale = 1 / (
            self.bend * curvature.clamp(min=1e-6)[:, None, None, None, :] + self.penalty
        )

    def solve(self, steps: int, tolerance: float, share: float) -> Fitted:
        """Train the classifiers, first on a part of the rows if there are many."""
        theta = self.data.x.new_zeros(self.shape)
        if self.data.x.shape[1] >= PILOT * PILOT_ROWS:
            theta, _, _ = self._descend(
                self.data.every(PILOT), theta, steps, PILOT_SLACK * tolerance, 1.0
            )
        theta, taken, unsolved = self._descend(self.data, theta, steps, tolerance, share)
        weight, bias = theta[..., :-1], theta[..., -1]
        if self.binary:
            weight, bias = torch.cat([-weight, weight], 3) / 2, torch.cat([-bias, bias], 3) / 2
        return Fitted(weight.transpose(3, 4).contiguous(), bias.contiguous(), taken, unsolved)

    def _descend(
        self, data: TrainingRows, theta: Tensor, steps: int, tolerance: float, share: float
    ) -> tuple[Tensor, int, int]:
        """L-BFGS: the parameters, the number of steps, and how many problems are not solved.

        An L2 value is dropped as soon as all its problems are solved.
        """
        final, left = theta.clone(), torch.arange(self.shape[2], device=theta.device)
        value, gradient = self._evaluate(data, theta, left)
        past: deque[Pair] = deque(maxlen=HISTORY)
        step, stuck = 0, torch.zeros_like(value)
        while True:
            direction = self._direction(gradient, past, left)
            steepest = gradient.abs().amax((3, 4))
            moving = steepest > tolerance
            moving |= -_dot(gradient, direction) / 2 > share * value
            moving &= (stuck < STUCK) | (steepest > STUCK_SLACK * tolerance)
            if step == steps or not bool(moving.any()):
                break
            going = moving.any(0).any(0)
            if not bool(going.all()):
                final[:, :, left[~going]] = theta[:, :, ~going]
                theta, value, gradient, direction, moving, stuck = (
                    each[:, :, going] for each in (theta, value, gradient, direction, moving, stuck)
                )
                past = _kept(past, going)
                left = left[going]
            step += 1
            direction = direction * moving[..., None, None]
            moved, lower, next_gradient = self._line_search(
                data, theta, direction, value, gradient, left
            )
            stuck = torch.where(lower < value * (1 - share), 0.0, stuck + 1)
            value = lower
            past.append(_pair(moved - theta, next_gradient - gradient))
            theta, gradient = moved, next_gradient
        final[:, :, left] = theta
        return final, step, int(moving.sum())

    def _line_search(
        self,
        data: TrainingRows,
        theta: Tensor,
        direction: Tensor,
        value: Tensor,
        gradient: Tensor,
        left: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Halve the step of each problem until it lowers the loss: parameters, loss, gradient."""
        slope, length = _dot(gradient, direction), torch.ones_like(value)
        for _ in range(HALVINGS):
            moved = theta + length[..., None, None] * direction
            next_value, next_gradient = self._evaluate(data, moved, left)
            # Near the optimum the loss cannot tell a step from rounding.
            bad = next_value > value + ARMIJO * length * slope + 1e-6 * value.abs()
            if not bool(bad.any()):
                break
            length = torch.where(bad, length / 2, length)
        return moved, next_value, next_gradient

    def _direction(self, gradient: Tensor, past: Sequence[Pair], left: Tensor) -> Tensor:
        """The two loops of L-BFGS. A pair of weight 0 (no curvature seen) has no effect."""
        direction = -gradient
        shares: list[Tensor] = []
        for change, bent, weight in reversed(past):
            share = weight * _dot(change, direction)
            shares.append(share)
            direction = direction - share[..., None, None] * bent
        direction = self._precondition(direction, left)
        if past:
            change, bent, weight = past[-1]
            bowed = _dot(bent, self._precondition(bent, left))
            fit = torch.where(
                (weight > 0) & (bowed > 0),
                _dot(change, bent) / bowed.clamp(min=1e-30),
                torch.ones_like(bowed),
            )
            direction = direction * fit[..., None, None]
        for (change, bent, weight), share in zip(past, reversed(shares), strict=True):
            back = weight * _dot(bent, direction)
            direction = direction + (share - back)[..., None, None] * change
        return direction

    def _precondition(self, gradient: Tensor, left: Tensor) -> Tensor:
        """A gradient times the inverse of the curvature that the features' covariance suggests."""
        weight, bias, scale = gradient[..., :-1], gradient[..., -1:], self.scale[:, :, left]
        if self.axes is None:
            return torch.cat([weight * scale, bias / self.bend], -1)
        turned = (weight.flatten(1, 3) @ self.axes).reshape(weight.shape) * scale
        back = (turned.flatten(1, 3) @ self.axes.transpose(1, 2)).reshape(weight.shape)
        return torch.cat([back, bias / self.bend], -1)

    def _evaluate(self, data: TrainingRows, theta: Tensor, left: Tensor) -> tuple[Tensor, Tensor]:
        """Loss of every problem, (unit, set, l2), and its gradient, like the parameters."""
        units, sets, values, size, width = theta.shape
        flat = theta.reshape(units, -1, width)
        penalised = theta[..., :-1] * self.penalty[left]
        loss = 0.5 * (theta[..., :-1] * penalised).sum((3, 4))
        gradient = torch.zeros_like(flat)
        bytes_per_row = units * flat.shape[1] * flat.element_size()
        portion = max(64, min(LOGITS, self.memory // 4) // bytes_per_row)
        for start in range(0, data.x.shape[1], portion):
            some = slice(start, start + portion)
            x, share = data.x[:, some], data.share[:, None, some]
            z = (flat[..., :-1] @ x.transpose(1, 2)).add_(flat[..., -1:])
            z = z.reshape(units, sets, values, size, x.shape[1])
            if data.offset is not None:
                z += data.offset[..., some]
            portion_loss, residual = cross_entropy(z, data.y[..., some], share)
            loss = loss + portion_loss
            weighed = residual.reshape(units, -1, x.shape[1])
            gradient[..., :-1] += weighed @ x
            gradient[..., -1] += weighed.sum(-1)
        whole = gradient.reshape(theta.shape)
        whole[..., :-1] += penalised
        return loss, whole


def _spread(x: Tensor) -> tuple[Tensor, Tensor | None]:
    """Variances of the features along their principal axes, (unit, width), and the axes.

    Wide features have no axes: their own variances stand in.
    """
    some = x[:, :: max(1, x.shape[1] // SPREAD_ROWS)]
    covariance = some.transpose(1, 2) @ some / max(1, some.shape[1])
    if x.shape[2] > AXES:
        return covariance.diagonal(dim1=1, dim2=2), None
    variances, axes = torch.linalg.eigh(covariance)
    return variances, axes


def _pair(change: Tensor, bent: Tensor) -> Pair:
    """A step for the history of L-BFGS; its weight is 0 where no curvature was seen."""
    product = _dot(change, bent)
    weight = torch.where(product > LEAST, 1 / product.clamp(min=LEAST), torch.zeros_like(product))
    return change, bent, weight


def _kept(past: Sequence[Pair], going: Tensor) -> deque[Pair]:
    """The history of the L2 values that are not solved."""
    kept = (
        (change[:, :, going], bent[:, :, going], weight[:, :, going])
        for change, bent, weight in past
    )
    return deque(kept, maxlen=HISTORY)


def _dot(one: Tensor, two: Tensor) -> Tensor:
    """Inner product per problem, (unit, set, l2)."""
    return (one * two).sum((3, 4))
