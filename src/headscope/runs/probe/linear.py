"""Many logistic regressions at once, each solved to its optimum.

A problem is a unit (a head or a layer), a training set (a fold) and an L2 value. All problems of a
unit share its rows, so their logits are one matrix product. The solver is L-BFGS on all problems
side by side, each with its own step length and its own end. Its initial curvature is that of the
features' covariance along their principal axes, plus the penalty. This is a good estimate: about
ten steps suffice even if features are correlated.

Where rows can be separated and the penalty is weak, it is a poor one: the loss bends ever less as
it falls, and a solution that looks finished may be several percent above the minimum. Such problems
are found by a second look (``LinearSolver._doubtful``) and solved to the end by Newton's method
in double precision (:func:`newton`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log

import torch
from torch import Tensor
from torch.nn import functional

from headscope.runs.probe import L2

TOLERANCE, SHARE = 1e-5, 1e-7
"""L-BFGS ends when no derivative of a problem's mean loss is larger than the first, and a step is
expected to lower the loss by no more than the second, as a share of it. Small derivatives are not
enough: where the penalty is weak, the loss of wide features can still be several percent too high.
"""
DOUBT = 3
"""A problem is solved again by Newton's method where a more careful estimate of the step's gain is
so many times the share."""
WORK = 1 << 27
"""Newton's method is tried for problems of so many rows × features × classes; larger ones stay
unsolved."""
STEPS, FEW_STEPS = 1000, 100
"""Most steps of L-BFGS; the second where Newton's method, which is then faster, may follow."""
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


@dataclass(frozen=True)
class Problems:
    """Logistic regressions on the same rows: one per unit, training set and L2 value.

    A unit is a head, a layer or several heads together.

    Parameters
    ----------
    x
        Standardised features, (unit, row, width).
    targets
        Classes, (row,), or probabilities, (row, class).
    classes
        Number of classes.
    sets
        (set, row), true for the rows of a training set.
    l2
        L2 penalties.
    offset
        Logits to which those of the features are added, (set, row, class).
    """

    x: Tensor
    targets: Tensor
    classes: int
    sets: Tensor
    l2: tuple[float, ...] = L2
    offset: Tensor | None = None

    def part(self, units: slice) -> Problems:
        """The problems of some units."""
        return replace(self, x=self.x[units])


@dataclass(frozen=True)
class Fitted:
    """Trained classifiers.

    Parameters
    ----------
    weight
        (unit, set, l2, width, class)
    bias
        (unit, set, l2, class)
    steps
        Number of steps of the longest optimisation.
    unsolved
        Number of problems that had not converged after the last step.
    """

    weight: Tensor
    bias: Tensor
    steps: int
    unsolved: int = 0

    @classmethod
    def joined(cls, parts: Sequence[Fitted]) -> Fitted:
        """The classifiers of several units, of which each part has some."""
        return cls(
            torch.cat([part.weight for part in parts]),
            torch.cat([part.bias for part in parts]),
            max(part.steps for part in parts),
            sum(part.unsolved for part in parts),
        )

    def unit(self, number: int) -> Fitted:
        """The classifiers of one unit."""
        one = slice(number, number + 1)
        return replace(self, weight=self.weight[one], bias=self.bias[one])

    def logits(self, x: Tensor) -> Tensor:
        """Logits of rows: (unit, row, width) to (unit, set, l2, row, class)."""
        return torch.einsum("und,usldc->uslnc", x, self.weight) + self.bias[:, :, :, None]


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
    if rows * width * size <= WORK:
        steps = min(steps, FEW_STEPS)
    cached = CACHE // (rows * width * problems.x.element_size()) or 1
    together = max(1, min(cached, memory // max(state, 1)))
    with torch.inference_mode():  # small tensors: what autograd notes of each takes a fifth
        parts = [
            LinearSolver(problems.part(slice(start, start + together)), memory).solve(
                steps, tolerance, share
            )
            for start in range(0, units, together)
        ]
    return Fitted.joined(parts)


@dataclass(frozen=True)
class TrainingRows:
    """The rows that some problems train on.

    Parameters
    ----------
    x
        Features, (unit, row, width).
    y
        Classes, (row,), or probabilities, (class, row). For two classes, (1, row): the
        probability of the second.
    share
        Weight of a row in the mean over a training set, (set, row).
    offset
        (set, 1, class, row). For two classes, the second's logits minus the first's.
    """

    x: Tensor
    y: Tensor
    share: Tensor
    offset: Tensor | None

    @classmethod
    def of(cls, problems: Problems) -> TrainingRows:
        """The rows that any training set of some problems contains."""
        binary = problems.classes == 2
        trained = _as_slice(problems.sets.any(0))
        x, targets = problems.x[:, trained], problems.targets[trained]
        if binary:
            targets = (targets if targets.dim() == 1 else targets[:, 1]).to(x.dtype)[None]
        elif targets.dim() == 2:
            targets = targets.to(x.dtype).t().contiguous()
        offset = problems.offset
        if offset is not None:
            offset = offset[:, None, trained].transpose(2, 3)
            if binary:
                offset = offset[:, :, 1:] - offset[:, :, :1]
        return cls(x, targets, row_shares(problems.sets[:, trained], x.dtype), offset)

    def every(self, step: int) -> TrainingRows:
        """Every ``step``-th row."""
        offset = None if self.offset is None else self.offset[..., ::step]
        return TrainingRows(
            self.x[:, ::step].contiguous(),
            self.y[..., ::step].contiguous(),
            row_shares(self.share[:, ::step] > 0, self.x.dtype),
            offset,
        )


def row_shares(sets: Tensor, dtype: torch.dtype) -> Tensor:
    """Weight of each row in the mean over each training set, (set, row).

    Examples
    --------
    >>> row_shares(torch.tensor([[True, True, False]]), torch.float32).tolist()
    [[0.5, 0.5, 0.0]]
    """
    return sets.to(dtype) / sets.sum(1, keepdim=True).clamp(min=1)


def cross_entropy(z: Tensor, y: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy of each problem and its derivative with respect to the logits.

    Parameters
    ----------
    z
        Logits, (unit, set, l2, class, row); overwritten. A single class stands for two: its
        logits are the second class's minus the first's.
    y
        Probabilities, (class, row), or classes, (row,).
    share
        Weight of a row in the mean over a training set, (set, 1, row).

    Returns
    -------
    loss
        (unit, set, l2)
    derivative
        Like ``z``.

    Examples
    --------
    >>> z = torch.zeros(1, 1, 1, 4, 2)
    >>> loss, _ = cross_entropy(z, torch.tensor([0, 3]), torch.full((1, 1, 2), 0.5))
    >>> round(loss.item(), 4)  # log 4
    1.3863
    """
    if z.shape[3] == 1:
        loss = (functional.softplus(z) - y * z)[:, :, :, 0]
        return (loss * share).sum(-1), z.sigmoid_().sub_(y).mul_(share[..., None, :])
    z -= z.amax(3, keepdim=True)
    at = y.expand(*z.shape[:3], 1, -1) if y.dim() == 1 else None
    gold = z.gather(3, at)[:, :, :, 0] if at is not None else (y * z).sum(3)
    total = z.exp_().sum(3)
    loss = ((total.log() - gold) * share).sum(-1)
    z *= (share / total)[..., None, :]
    if at is not None:
        z.scatter_add_(3, at, -share[..., None, :].expand(at.shape))
        return loss, z
    return loss, z.sub_(y * share[..., None, :])


def _as_slice(chosen: Tensor) -> Tensor | slice:
    """Adjacent rows as a slice, which saves a copy of the features."""
    places = torch.nonzero(chosen)[:, 0]
    adjacent = len(places) > 0 and int(places[-1] - places[0]) + 1 == len(places)
    return slice(int(places[0]), int(places[-1]) + 1) if adjacent else chosen


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
        failed = sum(
            not self._finish(theta, tuple(place), share) for place in unsolved.nonzero().tolist()
        )
        weight, bias = theta[..., :-1], theta[..., -1]
        if self.binary:
            weight, bias = torch.cat([-weight, weight], 3) / 2, torch.cat([-bias, bias], 3) / 2
        return Fitted(weight.transpose(3, 4).contiguous(), bias.contiguous(), taken, failed)

    def _descend(
        self, data: TrainingRows, theta: Tensor, steps: int, tolerance: float, share: float
    ) -> tuple[Tensor, int, Tensor]:
        """L-BFGS: the parameters, the number of steps, and which problems may not be solved.

        An L2 value is dropped as soon as all its problems are solved.
        """
        final, left = theta.clone(), torch.arange(self.shape[2], device=theta.device)
        unsolved = torch.zeros(self.shape[:3], dtype=torch.bool, device=theta.device)
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
                done = left[~going]
                final[:, :, done] = theta[:, :, ~going]
                unsolved[:, :, done] = self._doubtful(
                    value[:, :, ~going], gradient[:, :, ~going], done, share
                )
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
        unsolved[:, :, left] = moving | self._doubtful(value, gradient, left, share)
        return final, step, unsolved

    def _doubtful(self, value: Tensor, gradient: Tensor, left: Tensor, share: float) -> Tensor:
        """Which problems a step may still improve, (unit, set, l2).

        The gain of a step is estimated with a curvature that falls as the loss does, from that of
        equally likely classes: p (1 - p) of a row is no more than its loss. What is left of the
        curvature of separated rows is the penalty alone, and derivatives must be small beside it.
        """
        fallen = (value / log(self.classes)).clamp(max=1)[..., None, None]
        weight, bias = gradient[..., :-1], gradient[..., -1:]
        if self.axes is not None:
            weight = (weight.flatten(1, 3) @ self.axes).reshape(weight.shape)
        penalty = self.penalty[left]
        bend = 1 / self.scale[:, :, left] - penalty
        gain = (weight.square() / (bend * fallen + penalty)).sum((3, 4))
        gain += (bias.square() / (self.bend * fallen)).sum((3, 4))
        return gain / 2 > DOUBT * share * value

    def _finish(self, theta: Tensor, place: tuple[int, ...], share: float) -> bool:
        """Solve one problem by Newton's method, in place; whether it was solved."""
        unit, chosen, value = place
        data, kind = self.data, torch.float64 if theta.device.type != "mps" else theta.dtype
        rows = data.share[chosen] > 0
        if int(rows.sum()) * theta[place].numel() > WORK:
            return False
        x = data.x[unit, rows].to(kind)
        if data.y.dim() == 1:
            y = functional.one_hot(data.y[rows], self.classes).to(kind)
        else:
            y = data.y[:, rows].t().to(kind)
        offset = 0.0 if data.offset is None else data.offset[chosen, 0][:, rows].t().to(kind)
        solution, solved = newton(
            torch.cat([x, torch.ones_like(x[:, :1])], 1),
            y,
            theta[place].t().to(kind),
            float(self.penalty[value]),
            share=LAST * share,
            offset=offset,
        )
        theta[place] = solution.t().to(theta.dtype)
        return solved

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


# --- Newton's method for a single problem ---

NEWTON_STEPS, CONJUGATE_STEPS, FORCING = 50, 200, 0.1
"""Most steps of Newton's method, most conjugate gradients within a step, and how much they reduce
the residual."""
RENEWED = 20
"""The curvature of each class is computed again after a step with more conjugate gradients."""
LAST = 10
"""A step of Newton's method that gains no more than so many times the share is the last: it leaves
about a hundredth of that."""
BLOCKS = 1 << 25
"""The curvature of each class is used if it has at most so many numbers in all."""


def newton(
    x: Tensor,
    y: Tensor,
    theta: Tensor,
    penalty: float,
    *,
    share: float,
    offset: Tensor | float = 0.0,
) -> tuple[Tensor, bool]:
    """Minimise the loss of a single problem by Newton's method.

    Each step is found by conjugate gradients, preconditioned by the curvature of each class, which
    serves for several steps. For two classes this is all but the whole curvature, so that few of
    them suffice. For more, what all classes share is removed: it changes nothing but the penalty.

    Parameters
    ----------
    x
        Features and a column of ones, (row, width + 1).
    y
        Probabilities, (row, class); for two classes, (row, 1): the probability of the second.
    theta
        Where to start, (width + 1, class).
    penalty
        The loss is the mean cross-entropy plus penalty / 2 times the sum of squared weights.
    share
        The step is the last that is expected to lower the loss by this share of it, or less.
    offset
        Logits to which those of the features are added, (row, class).

    Returns
    -------
    theta
        The solution.
    solved
        Whether it was reached.

    Examples
    --------
    >>> x = torch.tensor([[-1.0, 1.0], [1.0, 1.0], [2.0, 1.0]], dtype=torch.float64)
    >>> y = torch.tensor([[0.0], [1.0], [1.0]], dtype=torch.float64)
    >>> theta, solved = newton(x, y, torch.zeros(2, 1, dtype=torch.float64), 0.1, share=1e-9)
    >>> (x @ theta > 0).flatten().tolist(), solved
    ([False, True, True], True)
    """
    binary, free = y.shape[1] == 1, torch.ones_like(theta)
    free[-1] = 0  # biases are not penalised

    def loss(theta: Tensor) -> tuple[float, Tensor]:
        z = x @ theta + offset
        if binary:
            lost, chances = functional.softplus(z) - y * z, z.sigmoid()
        else:
            chances = z.log_softmax(1)
            lost, chances = -y * chances, chances.exp()
        squares = (theta * free).square().sum()
        return float(lost.sum() / len(x) + penalty / 2 * squares), chances

    value, chances = loss(theta)
    taken = CONJUGATE_STEPS
    for _ in range(NEWTON_STEPS):
        gradient = x.t() @ (chances - y) / len(x) + penalty * free * theta
        if taken > RENEWED:
            inverse = _class_by_class(x, chances - chances.square(), penalty)
        step, taken = _newton_step(x, chances, gradient, penalty * free, inverse)
        gain = -float((gradient * step).sum())
        if gain / 2 <= share * value:
            return theta + step, True
        length = 1.0
        for _ in range(HALVINGS):
            next_value, next_chances = loss(theta + length * step)
            if next_value <= value - ARMIJO * length * gain:
                break
            length /= 2
        else:
            return theta, False
        theta, value, chances = theta + length * step, next_value, next_chances
    return theta, False


def centred(values: Tensor) -> Tensor:
    """Remove what all classes share, (width + 1, class)."""
    return values - values.mean(1, keepdim=True)


def _newton_step(
    x: Tensor,
    chances: Tensor,
    gradient: Tensor,
    penalty: Tensor,
    inverse: Callable[[Tensor], Tensor],
) -> tuple[Tensor, int]:
    """The step of Newton's method, and how many conjugate gradients it took."""
    binary = chances.shape[1] == 1

    def scaled(rest: Tensor) -> Tensor:
        return inverse(rest) if binary else centred(inverse(rest))

    def curved(step: Tensor) -> Tensor:
        """The curvature times a step."""
        moved = x @ step
        if binary:
            moved = (chances - chances.square()) * moved
        else:
            moved = chances * (moved - (chances * moved).sum(1, keepdim=True))
        return x.t() @ moved / len(x) + penalty * step

    step, rest = torch.zeros_like(gradient), -gradient
    along = towards = scaled(rest)
    size = first = float((rest * towards).sum())
    taken = 0
    while taken < CONJUGATE_STEPS and size > FORCING**2 * first:
        taken += 1
        bent = curved(along)
        length = size / float((along * bent).sum())
        step, rest = step + length * along, rest - length * bent
        towards = scaled(rest)
        size, before = float((rest * towards).sum()), size
        along = towards + size / before * along
    return step, taken


def _class_by_class(x: Tensor, bend: Tensor, penalty: float) -> Callable[[Tensor], Tensor]:
    """The inverse of the curvature of each class, with a penalty on the bias too.

    With fewer rows than features, the matrices that are inverted are between rows (Woodbury).
    """
    (rows, width), classes = x.shape, bend.shape[1]
    if classes * min(rows, width) ** 2 > BLOCKS:
        diagonal = x.square().t() @ bend / rows + penalty
        return lambda rest: rest / diagonal
    if rows >= width:
        blocks = torch.stack([(x.t() * one) @ x for one in bend.t()]) / rows
        blocks.diagonal(dim1=1, dim2=2).add_(penalty)
        factor = torch.linalg.cholesky(blocks)
        return lambda rest: torch.cholesky_solve(rest.t()[..., None], factor)[..., 0].t()
    root = (bend / rows).sqrt()
    blocks = x @ x.t() * root.t()[:, :, None] * root.t()[:, None]
    blocks.diagonal(dim1=1, dim2=2).add_(penalty)
    factor = torch.linalg.cholesky(blocks)

    def scaled(rest: Tensor) -> Tensor:
        along = torch.cholesky_solve((root * (x @ rest)).t()[..., None], factor)[..., 0].t()
        return (rest - x.t() @ (root * along)) / penalty

    return scaled
