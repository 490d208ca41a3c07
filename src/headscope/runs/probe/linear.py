"""Many logistic regressions at once, each solved to its optimum (J3).

One problem is a unit (a head, a layer), a training set (a fold) and an L2 value; all problems of a unit share its rows, so that their logits are one matrix product.
The solver is L-BFGS on all problems side by side, each with its own step and its own end. Its first guess of the curvature is that of the features' spread, along their
principal axes, plus the penalty: a good one, so that about ten steps suffice where features are correlated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

L2 = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""The values that the paper chooses from."""
TOLERANCE = 1e-5
"""A problem is solved when no derivative of its mean loss is larger."""
STEPS = 300
HISTORY = 8
MEMORY = 1 << 28
"""How many bytes the logits of one step may take; rows and units are cut into portions accordingly."""
CACHE = 1 << 24
"""Units are solved together as long as their features take no more bytes than this: they stay in the processor's cache."""
LOGITS = 1 << 21
"""Logits are computed in portions of rows of about so many bytes: with a thousand classes they would else go to memory and back five times."""
AXES = 1024
"""Wider features' principal axes are not sought."""
SPREAD_ROWS = 2048
"""About so many rows say how features vary together."""
ARMIJO, HALVINGS = 1e-4, 12
LEAST = 1e-12
PILOT, PILOT_ROWS, PILOT_SLACK = 8, 512, 30
"""A first, rougher solution is sought on one row in eight, if these are enough."""


@dataclass(frozen=True)
class Problems:
    """Logistic regressions on the same rows: one for every unit, training set and L2."""

    x: Tensor  # (unit, row, width), standardised
    targets: Tensor  # (row,) classes, or (row, class) probabilities
    classes: int
    sets: Tensor  # (set, row), true on the rows that a set trains on
    l2: tuple[float, ...] = L2
    offset: Tensor | None = (
        None  # (set, row, class): logits that are there already, and to which those of the features are added
    )

    def part(self, units: slice) -> Problems:
        """Those of some units."""
        return replace(self, x=self.x[units])


@dataclass(frozen=True)
class Fitted:
    """The classifiers: ``weight`` (unit, set, l2, width, class) and ``bias`` (unit, set, l2, class)."""

    weight: Tensor
    bias: Tensor
    steps: int
    unsolved: int = 0
    """How many problems were still moving after the last step."""

    def scores(self, x: Tensor) -> Tensor:
        """The logits of rows: (unit, row, width) to (unit, set, l2, row, class)."""
        return torch.einsum("und,usldc->uslnc", x, self.weight) + self.bias[:, :, :, None]


def solve(
    problems: Problems, *, tolerance: float = TOLERANCE, steps: int = STEPS, memory: int = MEMORY
) -> Fitted:
    """The optimum of every problem: the mean cross-entropy over its set's rows plus l2/2 · the sum of squared weights (biases are free)."""
    units, rows, width = problems.x.shape
    size = 1 if problems.classes == 2 else problems.classes
    held = (
        (2 * HISTORY + 6)
        * width
        * size
        * len(problems.sets)
        * len(problems.l2)
        * problems.x.element_size()
    )
    together = max(
        1, min(CACHE // (rows * width * problems.x.element_size()) or 1, memory // max(held, 1))
    )
    found = [
        _Solver(problems.part(slice(start, start + together)), tolerance, memory).solve(steps)
        for start in range(0, units, together)
    ]
    return Fitted(
        torch.cat([part.weight for part in found]),
        torch.cat([part.bias for part in found]),
        max(part.steps for part in found),
        sum(part.unsolved for part in found),
    )


class _Solver:
    """Some units' problems. Parameters are (unit, set, l2, class, width + 1), the last column being the bias; of two classes only the difference is sought.

    Rows come last in everything that has them: products of few problems with many rows are several times faster that way.
    """

    def __init__(self, problems: Problems, tolerance: float, memory: int) -> None:
        self.tolerance, self.memory, self.classes = tolerance, memory, problems.classes
        self.binary = problems.classes == 2
        trained = _as_slice(problems.sets.any(0))
        rows, targets = problems.x[:, trained], problems.targets[trained]
        some = rows[:, :: max(1, rows.shape[1] // SPREAD_ROWS)]
        spread = some.transpose(1, 2) @ some / max(1, some.shape[1])
        self.axes: Tensor | None = None
        if rows.shape[2] <= AXES:
            curvature, self.axes = torch.linalg.eigh(spread)
        else:
            curvature = spread.diagonal(dim1=1, dim2=2)
        if self.binary:
            targets = (targets if targets.dim() == 1 else targets[:, 1]).to(rows.dtype)[None]
        elif targets.dim() == 2:
            targets = targets.to(rows.dtype).t().contiguous()
        offset = (
            None if problems.offset is None else problems.offset[:, None, trained].transpose(2, 3)
        )
        if offset is not None and self.binary:
            offset = offset[:, :, 1:] - offset[:, :, :1]
        self.data = _Rows(rows, targets, _shares(problems.sets[:, trained], rows.dtype), offset)
        # Of two classes with weights w and -w, l2/2 · 2|w|² is l2/4 · |2w|².
        self.penalty = (rows.new_tensor(problems.l2) / (2 if self.binary else 1))[:, None, None]
        self.shape = (
            rows.shape[0],
            len(problems.sets),
            len(problems.l2),
            1 if self.binary else self.classes,
            rows.shape[2] + 1,
        )
        bend = 0.25 if self.binary else (1 - 1 / self.classes) / self.classes
        self.bend = bend
        self.scale = 1 / (bend * curvature.clamp(min=1e-6)[:, None, None, None, :] + self.penalty)

    def solve(self, steps: int) -> Fitted:
        """The classifiers, first on a part of the rows where there are many."""
        theta = self.data.x.new_zeros(self.shape)
        if self.data.x.shape[1] >= PILOT * PILOT_ROWS:
            theta, _, _ = self._descend(
                self.data.part(PILOT), theta, steps, PILOT_SLACK * self.tolerance
            )
        theta, taken, unsolved = self._descend(self.data, theta, steps, self.tolerance)
        weight, bias = theta[..., :-1], theta[..., -1]
        if self.binary:
            weight, bias = torch.cat([-weight, weight], 3) / 2, torch.cat([-bias, bias], 3) / 2
        return Fitted(weight.transpose(3, 4).contiguous(), bias.contiguous(), taken, unsolved)

    def _descend(
        self, data: _Rows, theta: Tensor, steps: int, tolerance: float
    ) -> tuple[Tensor, int, int]:
        """L-BFGS: the parameters, the steps taken, and how many problems are not solved. L2 values whose problems are all solved are not computed any further."""
        final, left = theta.clone(), torch.arange(self.shape[2], device=theta.device)
        value, gradient = self._evaluate(data, theta, left)
        past: deque[tuple[Tensor, Tensor, Tensor]] = deque(maxlen=HISTORY)
        moving = gradient.abs().amax((3, 4)) > tolerance
        step = 0
        while step < steps and bool(moving.any()):
            step += 1
            direction = self._direction(gradient, past, left) * moving[..., None, None]
            slope = _dot(gradient, direction)
            length = torch.ones_like(value)
            for _ in range(HALVINGS):
                moved = theta + length[..., None, None] * direction
                next_value, next_gradient = self._evaluate(data, moved, left)
                # Near the optimum the loss no longer tells a step from rounding.
                bad = next_value > value + ARMIJO * length * slope + 1e-6 * value.abs()
                if not bool(bad.any()):
                    break
                length = torch.where(bad, length / 2, length)
            change, bent = moved - theta, next_gradient - gradient
            product = _dot(change, bent)
            past.append(
                (
                    change,
                    bent,
                    torch.where(
                        product > LEAST, 1 / product.clamp(min=LEAST), torch.zeros_like(product)
                    ),
                )
            )
            theta, value, gradient = moved, next_value, next_gradient
            moving = gradient.abs().amax((3, 4)) > tolerance
            going = moving.any(0).any(0)
            if not bool(going.all()):
                final[:, :, left[~going]] = theta[:, :, ~going]
                theta, value, gradient, moving = (
                    theta[:, :, going],
                    value[:, :, going],
                    gradient[:, :, going],
                    moving[:, :, going],
                )
                past = deque(
                    (
                        (one[:, :, going], two[:, :, going], weight[:, :, going])
                        for one, two, weight in past
                    ),
                    maxlen=HISTORY,
                )
                left = left[going]
        final[:, :, left] = theta
        return final, step, int(moving.sum())

    def _direction(
        self, gradient: Tensor, past: Sequence[tuple[Tensor, Tensor, Tensor]], left: Tensor
    ) -> Tensor:
        """The two loops of L-BFGS. A pair whose weight is 0 (no curvature seen) changes nothing."""
        direction = -gradient
        shares: list[Tensor] = []
        for change, bent, weight in reversed(past):
            share = weight * _dot(change, direction)
            shares.append(share)
            direction = direction - share[..., None, None] * bent
        direction = self._smooth(direction, left)
        if past:
            change, bent, weight = past[-1]
            bowed = _dot(bent, self._smooth(bent, left))
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

    def _smooth(self, gradient: Tensor, left: Tensor) -> Tensor:
        """The step that the features' spread alone suggests: a gradient times the inverse of a rough second derivative."""
        weight, bias, scale = gradient[..., :-1], gradient[..., -1:], self.scale[:, :, left]
        if self.axes is None:
            return torch.cat([weight * scale, bias / self.bend], -1)
        turned = (weight.flatten(1, 3) @ self.axes).reshape(weight.shape) * scale
        return torch.cat(
            [
                (turned.flatten(1, 3) @ self.axes.transpose(1, 2)).reshape(weight.shape),
                bias / self.bend,
            ],
            -1,
        )

    def _evaluate(self, data: _Rows, theta: Tensor, left: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of every problem, (unit, set, l2), and its gradient, like the parameters; rows in portions."""
        units, sets, values, size, width = theta.shape
        flat = theta.reshape(units, -1, width)
        penalised = theta[..., :-1] * self.penalty[left]
        loss = 0.5 * (theta[..., :-1] * penalised).sum((3, 4))
        gradient = torch.zeros_like(flat)
        rows = data.x.shape[1]
        portion = max(
            64, min(LOGITS, self.memory // 4) // (units * flat.shape[1] * flat.element_size())
        )
        for start in range(0, rows, portion):
            x, share = (
                data.x[:, start : start + portion],
                data.share[:, None, start : start + portion],
            )
            z = (
                (flat[..., :-1] @ x.transpose(1, 2))
                .add_(flat[..., -1:])
                .reshape(units, sets, values, size, x.shape[1])
            )
            if data.offset is not None:
                z += data.offset[..., start : start + portion]
            told, residual = _cross_entropy(z, data.y[..., start : start + portion], share)
            loss = loss + told
            weighed = residual.reshape(units, -1, x.shape[1])
            gradient[..., :-1] += weighed @ x
            gradient[..., -1] += weighed.sum(-1)
        whole = gradient.reshape(theta.shape)
        whole[..., :-1] += penalised
        return loss, whole


@dataclass(frozen=True)
class _Rows:
    x: Tensor  # (unit, row, width)
    y: Tensor  # (row,) classes, or (class, row) probabilities; of two classes the second's only
    share: Tensor  # (set, row): what a row counts in a set's mean
    offset: (
        Tensor | None
    )  # (set, 1, class, row); of two classes how much the second's exceeds the first's

    def part(self, step: int) -> _Rows:
        """One row in so many."""
        offset = None if self.offset is None else self.offset[..., ::step]
        return _Rows(
            self.x[:, ::step].contiguous(),
            self.y[..., ::step].contiguous(),
            _shares(self.share[:, ::step] > 0, self.x.dtype),
            offset,
        )


def _cross_entropy(z: Tensor, y: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """Of logits (unit, set, l2, class, row), which are used up: the mean loss, and its derivative. One row of logits stands for the second of two classes.

    ``y`` are probabilities (class, row), or classes (row,); ``share`` (set, 1, row) is what a row counts in a set's mean.
    """
    if z.shape[3] == 1:
        loss = (functional.softplus(z) - y * z)[:, :, :, 0]
        return (loss * share).sum(-1), z.sigmoid_().sub_(y).mul_(share[..., None, :])
    z -= z.amax(3, keepdim=True)
    at = y.expand(*z.shape[:3], 1, -1) if y.dim() == 1 else None
    told = z.gather(3, at)[:, :, :, 0] if at is not None else (y * z).sum(3)
    total = z.exp_().sum(3)
    loss = ((total.log() - told) * share).sum(-1)
    z *= (share / total)[..., None, :]
    if at is not None:
        z.scatter_add_(3, at, -share[..., None, :].expand(at.shape))
        return loss, z
    return loss, z.sub_(y * share[..., None, :])


def _as_slice(chosen: Tensor) -> Tensor | slice:
    """Rows that lie together as a slice, which needs no copy of the features."""
    places = torch.nonzero(chosen)[:, 0]
    together = len(places) > 0 and int(places[-1] - places[0]) + 1 == len(places)
    return slice(int(places[0]), int(places[-1]) + 1) if together else chosen


def _shares(sets: Tensor, dtype: torch.dtype) -> Tensor:
    """What each row counts in each set's mean, (set, row)."""
    return sets.to(dtype) / sets.sum(1, keepdim=True).clamp(min=1)


def _dot(one: Tensor, two: Tensor) -> Tensor:
    """Problem by problem, (unit, set, l2)."""
    return (one * two).sum((3, 4))
