"""The search for L2 in tasks with many classes, where each classifier is costly.

L2 values are tried from the strongest to the weakest, one unit at a time, and each solution is the
start of the next. Most of the time goes into weak values, which need many steps; three things
avoid most of them:

- Steps are scaled by the curvature of each class, computed at the start: about a quarter as many
  steps suffice.
- Solutions are rough at first. Only values whose validation score comes near the best one are
  solved to the optimum, and the choice is made among these.
- The search ends as soon as the validation score has fallen well below the best one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from headscope.runs.probe.linear import LOGITS, STEPS, TOLERANCE, LinearSolver
from headscope.runs.probe.loss import TrainingRows
from headscope.runs.probe.problems import Fitted, Problems

MANY = 50
"""Tasks with fewer classes are solved for all units and L2 values at once."""
ROUGH = 10
"""Rough solutions have derivatives up to so many times the tolerance."""
NEAR, FAR = 0.5, 1.0
"""A score is near the best one or far below it if they differ by so many standard errors."""
NARROW = 64
"""Wider features are left to :func:`headscope.runs.probe.linear.solve`: the curvature of a class
has (width + 1)² numbers. Besides, a search over 384 features and 200 classes ended within the
tolerance at L2 1e-5, but far from the optimum: accuracy 0.465 instead of 0.39."""
STRONG = 3
"""A penalty so many times the curvature of the cross-entropy outweighs it: then the curvature of
equally likely classes serves for all."""
RIDGE = 1e-3
"""Added to the curvature of a class, relative to its mean, where the penalty is too weak."""

Validate = Callable[[int, Fitted], Tensor]
"""Validation scores of a unit's classifiers, one for each L2 value."""


def is_costly(problems: Problems) -> bool:
    """Whether :func:`search` is faster than solving all problems: many classes, narrow features.

    Examples
    --------
    >>> rows = torch.ones(1, 4, dtype=torch.bool)
    >>> is_costly(Problems(torch.zeros(1, 4, 3), torch.tensor([0, 0, 1, 1]), 2, rows))
    False
    """
    return problems.classes >= MANY and problems.x.shape[2] <= NARROW


def search(
    problems: Problems,
    validate: Validate | None = None,
    *,
    held_out: int = 0,
    tolerance: float = TOLERANCE,
    steps: int = STEPS,
) -> Fitted:
    """Solve the problems whose L2 value may be the best of its unit.

    Parameters
    ----------
    problems
        The logistic regressions, without offset.
    validate
        Gives the validation scores of a unit's classifiers. Without it, all problems are solved.
    held_out
        Number of rows behind a validation score.
    tolerance
        A problem is solved when no derivative of its loss is larger.
    steps
        Maximum number of L-BFGS steps for each problem.

    Returns
    -------
    Fitted
        For each unit, the best L2 value and those near it are solved. Others are solved roughly.
        Values that were not tried have the classifiers of the weakest value that was; its score
        is far below the best.

    See Also
    --------
    headscope.runs.probe.linear.solve : solves all problems, faster if classes are few.

    Examples
    --------
    >>> x = torch.eye(60)[None]
    >>> rows = torch.ones(1, 60, dtype=torch.bool)
    >>> fitted = search(Problems(x, torch.arange(60), 60, rows, l2=(0.001, 0.01)))
    >>> bool((fitted.logits(x)[0, 0].argmax(-1) == torch.arange(60)).all())
    True
    """
    units = [
        _UnitSearch(problems, unit, validate, held_out, tolerance, steps).run()
        for unit in range(len(problems.x))
    ]
    return Fitted(
        torch.cat([unit.weight for unit in units]),
        torch.cat([unit.bias for unit in units]),
        max(unit.steps for unit in units),
        sum(unit.unsolved for unit in units),
    )


class _UnitSearch:
    """The classifiers of one unit: ``theta`` are their parameters, (l2, set, class, width + 1)."""

    def __init__(
        self,
        problems: Problems,
        unit: int,
        validate: Validate | None,
        held_out: int,
        tolerance: float,
        steps: int,
    ) -> None:
        self.unit, self.validate, self.held_out = unit, validate, max(1, held_out)
        self.tolerance, self.steps = tolerance, steps
        self.l2 = problems.l2
        one = problems.part(slice(unit, unit + 1))
        self.solvers = [
            ClassCurvatureSolver(replace(one, sets=chosen[None]), tolerance)
            for chosen in problems.sets
        ]
        shape = self.solvers[0].shape[3:]
        self.theta = problems.x.new_zeros(len(self.l2), len(self.solvers), *shape)
        self.scores = torch.full((len(self.l2),), -torch.inf, dtype=torch.float64)
        self.solved = torch.zeros(len(self.l2), dtype=torch.bool)
        self.taken = self.unsolved = 0

    def run(self) -> Fitted:
        """Try L2 values from the strongest, then solve those that may be the best."""
        order = sorted(range(len(self.l2)), key=lambda place: -self.l2[place])
        self._approach(order[0])
        for number, place in enumerate(order):
            if number:
                self.theta[place] = self.theta[order[number - 1]]
            if self.validate is not None:
                self._descend(place, ROUGH * self.tolerance)
            else:
                self._solve(place)
            if self._below_best(FAR)[place]:
                self.theta[order[number:]] = self.theta[place].clone()
                break
        while bool((left := ~self._below_best(NEAR) & ~self.solved).any()):
            for place in torch.nonzero(left)[:, 0].tolist():
                self._solve(place)
        return self._fitted(slice(None))

    def _solve(self, place: int) -> None:
        """Find the optimum of an L2 value."""
        self.unsolved += self._descend(place, self.tolerance)
        self.solved[place] = True

    def _approach(self, place: int) -> None:
        """Start the strongest value, if it is weak, from rough solutions of stronger ones."""
        for number, solver in enumerate(self.solvers):
            l2, start = self.l2[place], self.theta[place, number]
            ladder = [
                l2 * 10**power for power in (3, 2, 1) if l2 * 10**power < 100 * solver.typical
            ]
            for stronger in ladder:
                start, _, _ = solver.improve(start, stronger, self.steps, ROUGH * self.tolerance)
            self.theta[place, number] = start

    def _descend(self, place: int, tolerance: float) -> int:
        """Improve the classifiers of an L2 value: how many are not solved."""
        unsolved = 0
        for number, solver in enumerate(self.solvers):
            start = self.theta[place, number]
            self.theta[place, number], taken, left = solver.improve(
                start, self.l2[place], self.steps, tolerance
            )
            self.taken, unsolved = max(self.taken, taken), unsolved + left
        if self.validate is None:
            self.scores[place] = 0.0
        else:
            score = self.validate(self.unit, self._fitted(slice(place, place + 1)))
            self.scores[place] = torch.nan_to_num(score, nan=-1.0)[0].cpu()
        return unsolved

    def _below_best(self, errors: float) -> Tensor:
        """Which scores are so many standard errors or more below the best, (l2,)."""
        best = self.scores.max()
        variance = (best * (1 - best)).clamp(min=1 / self.held_out)
        return self.scores < best - errors * (variance / self.held_out).sqrt()

    def _fitted(self, some: slice) -> Fitted:
        theta = self.theta[some].transpose(0, 1)[None]
        weight = theta[..., :-1].transpose(3, 4).contiguous()
        return Fitted(weight, theta[..., -1].contiguous(), self.taken, self.unsolved)


class ClassCurvatureSolver(LinearSolver):
    """One unit and training set, one L2 value at a time, with the curvature of each class.

    Parameters
    ----------
    problems
        A single unit and training set.
    tolerance
        As in :func:`search`.
    """

    def __init__(self, problems: Problems, tolerance: float) -> None:
        super().__init__(replace(problems, l2=problems.l2[:1]), tolerance, LOGITS * 4)
        x = self.data.x
        # A column of ones stands for the bias: it saves two passes over the logits.
        self.ones = torch.cat([x, torch.ones_like(x[..., :1])], 2)[0]
        self.seen: list[tuple[Tensor, Tensor]] = []
        width = self.ones.shape[1]
        self.pairs = torch.triu_indices(width, width, device=x.device)
        self.portion = max(64, LOGITS // (self.classes * x.element_size()))
        # Where all classes are equally likely, they have the same curvature: (1, product).
        self.uniform = self._products(self.ones).mean(0, keepdim=True) * self.bend
        self.typical = float(self.ones.square().mean()) * self.bend

    def improve(
        self, start: Tensor, l2: float, steps: int, tolerance: float
    ) -> tuple[Tensor, int, int]:
        """Descend from parameters (class, width + 1): better ones, steps, and if not solved."""
        self.penalty = self.penalty.new_full((1, 1, 1), l2)
        self.inverse = _inverse(self._curvature(start, l2), self.pairs, l2)
        theta, taken, unsolved = self._descend(
            self.data, start.reshape(self.shape), steps, tolerance
        )
        return theta.reshape(start.shape), taken, unsolved

    def _curvature(self, theta: Tensor, l2: float) -> Tensor:
        """Curvature for steps from ``theta``: a rough solution may be where two descents start."""
        if l2 >= STRONG * self.typical or not bool(theta.any()):
            return self.uniform
        for known, curvature in self.seen:
            if torch.equal(known, theta):
                return curvature
        self.seen.append((theta.clone(), self._curvature_at(theta)))
        return self.seen[-1][1]

    def _curvature_at(self, theta: Tensor) -> Tensor:
        """Second derivatives of the cross-entropy at ``theta`` for each class, (class, product)."""
        total = theta.new_zeros(len(theta), self._products(self.ones[:1]).shape[1])
        for start in range(0, len(self.ones), self.portion):
            x = self.ones[start : start + self.portion]
            share = torch.softmax(x @ theta.t(), 1)
            bend = torch.addcmul(share, share, share, value=-1)
            total.addmm_(bend.t(), self._products(x), alpha=1 / len(self.ones))
        return total

    def _products(self, x: Tensor) -> Tensor:
        """Products of the features of each row, each pair once."""
        return x[:, self.pairs[0]] * x[:, self.pairs[1]]

    def _precondition(self, gradient: Tensor, left: Tensor) -> Tensor:
        """A gradient times the inverse of the curvature of its class."""
        classes = gradient.reshape(-1, gradient.shape[-1], 1)
        return (self.inverse @ classes).reshape(gradient.shape)

    def _evaluate(self, data: TrainingRows, theta: Tensor, left: Tensor) -> tuple[Tensor, Tensor]:
        """Loss, (1, 1, 1), and its gradient, like the parameters."""
        flat = theta.reshape(theta.shape[3:])
        penalised = theta[..., :-1] * self.penalty
        loss = 0.5 * (theta[..., :-1] * penalised).sum((3, 4))
        gradient = torch.zeros_like(flat)
        rows = len(self.ones)
        for start in range(0, rows, self.portion):
            x, y = (
                self.ones[start : start + self.portion],
                data.y[..., start : start + self.portion],
            )
            z = x @ flat.t()
            gold = z.gather(1, y[:, None]).sum() if y.dim() == 1 else (z * y.t()).sum()
            largest = z.amax(1)
            z = torch.softmax(z, 1)
            loss += ((largest - z.amax(1).log()).sum() - gold) / rows
            if y.dim() == 1:
                z.scatter_add_(1, y[:, None], z.new_full((len(x), 1), -1.0))
            else:
                z -= y.t()
            gradient.addmm_(z.t(), x, alpha=1 / rows)
        whole = gradient.reshape(theta.shape)
        whole[..., :-1] += penalised
        return loss, whole


def _inverse(total: Tensor, pairs: Tensor, l2: float) -> Tensor:
    """Inverse curvature of each class, from the upper triangles of the curvatures."""
    width = int(pairs.max()) + 1
    whole = total.new_empty(len(total), width, width)
    whole[:, pairs[0], pairs[1]] = total
    whole[:, pairs[1], pairs[0]] = total
    diagonal = whole.diagonal(dim1=1, dim2=2)
    ridge = RIDGE * diagonal.mean(1, keepdim=True).clamp(min=1e-9).expand(-1, width).clone()
    diagonal += ridge
    diagonal[:, :-1] += l2
    return torch.cholesky_inverse(torch.linalg.cholesky(whole))
