"""The search for L2 in tasks with many classes, where each classifier is costly.

L2 values are tried from strong to weak, one unit at a time. Most of the time goes into weak values,
which need many steps; this is avoided as follows:

- Steps are scaled by the curvature of each class (:mod:`headscope.runs.probe.softmax`).
- A descent starts from the solution of the value before, or where the last two point to.
- Solutions are rough at first, and improved in stages. At each stage, only values whose validation
  score is near the best one are improved further; the fewer, the more exact the solutions are. The
  best value is solved to the optimum, with all that come within a few examples of it.
- The search ends as soon as the validation score has fallen well below the best one. It begins with
  the second strongest value; the strongest is tried only if that one is not far below the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log

import torch
from torch import Tensor

from headscope.runs.probe.linear import Fitted, Problems
from headscope.runs.probe.softmax import Descent, SoftmaxRegression

MANY = 50
"""Tasks with fewer classes are solved for all units and L2 values at once."""
TOLERANCE = 1e-7
"""A problem is solved when a step is expected to lower the loss by this share of it, or less. The
loss is then within 1e-5 of its minimum, relative to it."""
STEPS = 1000
STAGES = ((1e-4, 0.5), (1e-6, 0.2))
"""Tolerances of solutions that are not final. Those at most so many standard errors below the best
validation score are improved further; the last ones to the tolerance of the search. Rougher first
solutions would be poor starts for the next value, which costs more than it saves."""
ROUGH = 1e-3
"""Tolerance of values that only lead to a weaker one, and of controls."""
FAR = 1.0
"""No weaker values are tried after one that is so many standard errors below the best."""
WEAKER = 10.0
"""On the way to a weak penalty, each value is the one before divided by this."""

Validate = Callable[[int, Fitted], Tensor]
"""Validation scores of a unit's classifiers, one for each L2 value."""


def is_costly(problems: Problems) -> bool:
    """Whether :func:`search` is faster than solving all problems at once.

    Examples
    --------
    >>> rows = torch.ones(1, 4, dtype=torch.bool)
    >>> is_costly(Problems(torch.zeros(1, 4, 3), torch.tensor([0, 0, 1, 1]), 2, rows))
    False
    """
    return problems.classes >= MANY


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
        A problem is solved when a step is expected to lower its loss by this share of it, or less.
    steps
        Maximum number of L-BFGS steps for each problem.

    Returns
    -------
    Fitted
        For each unit, the best L2 value and those within a few examples of it are solved. Others
        are solved less exactly, the farther they are from the best. Values that were not tried
        have the classifiers of the nearest value that was; its score is far below the best.

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
    return Fitted.joined(
        [
            _UnitSearch(problems, unit, validate, held_out, tolerance, steps).run()
            for unit in range(len(problems.x))
        ]
    )


class _Path:
    """The solutions of one training set along L2, and where the next descent starts."""

    def __init__(self, loss: SoftmaxRegression, steps: int) -> None:
        self.loss, self.steps = loss, steps
        self.passed: list[Descent] = []

    def descend(self, l2: float, tolerance: float) -> Descent:
        """A solution for a penalty, by way of stronger ones if none has been passed."""
        if self.passed and l2 >= self.passed[-1].l2:
            self.passed = []
        if not self.passed and not self.loss.is_strong(l2):
            self.descend(l2 * WEAKER, ROUGH)
        descent = self._start(l2)
        descent.until(tolerance, self.steps)
        self.passed.append(descent)
        return descent

    def _start(self, l2: float) -> Descent:
        """A descent from the last solution, or from where the last two point to.

        Wide features fit the training rows ever better when the penalty is lowered, and parameters
        grow about as much from one power of ten to the next. Those of narrow features level off.
        """
        if not self.passed:
            return Descent(self.loss, self.loss.zeros, l2)
        last = self.passed[-1]
        if self.loss.is_narrow or len(self.passed) == 1 or self.loss.is_strong(last.l2):
            return last.onward(l2)
        before = self.passed[-2]
        farther = log(last.l2 / l2) / log(before.l2 / last.l2)
        theta = last.theta.add(last.theta - before.theta, alpha=min(farther, 1.0))
        return Descent(self.loss, theta, l2)


class _UnitSearch:
    """The classifiers of one unit: one descent for each L2 value tried and training set."""

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
        self.tolerance, self.steps, self.l2 = tolerance, steps, problems.l2
        self.order = sorted(range(len(self.l2)), key=lambda place: -self.l2[place])
        x = problems.x[unit]
        self.paths = [
            _Path(SoftmaxRegression(x[rows], problems.targets[rows], problems.classes), steps)
            for rows in problems.sets
        ]
        self.descents: dict[int, list[Descent]] = {}
        self.scores = torch.full((len(self.l2),), -torch.inf, dtype=torch.float64)
        self.stage: dict[int, int] = {}
        self.tolerances = [*(rough for rough, _ in STAGES if rough > tolerance), tolerance]
        self.unsolved = 0

    def run(self) -> Fitted:
        """Try L2 values from strong to weak, then improve those that may be the best."""
        if self.validate is None:
            for place in self.order:
                self._try(place, len(self.tolerances) - 1)
            return self._fitted(range(len(self.l2)))
        while True:
            untried, left = self._next_value(), self._near_the_best()
            if untried is not None:
                self._try(untried, 0)
            elif left:
                for place in left:
                    self._improve(place)
            else:
                return self._fitted(range(len(self.l2)))

    def _next_value(self) -> int | None:
        """The next value to try: a weaker one, or the strongest if it may be the best."""
        strongest, *others = self.order
        tried = [place for place in self.order if place in self.descents]
        if not tried:
            return others[0] if len(others) > 1 else strongest
        far = self._below_best(FAR)
        weaker = self.order[self.order.index(tried[-1]) + 1 :]
        if weaker and not far[tried[-1]]:
            return weaker[0]
        return strongest if strongest not in self.descents and not far[tried[0]] else None

    def _near_the_best(self) -> list[int]:
        """Of the values that may be the best, those with the roughest solutions."""
        left = [
            place
            for place, stage in self.stage.items()
            if stage < len(self.tolerances) - 1 and not self._below_best(STAGES[stage][1])[place]
        ]
        roughest = min((self.stage[place] for place in left), default=0)
        return [place for place in left if self.stage[place] == roughest]

    def _try(self, place: int, stage: int) -> None:
        """Solve an L2 value for the first time."""
        tolerance = self.tolerances[stage]
        self.descents[place] = [path.descend(self.l2[place], tolerance) for path in self.paths]
        self.stage[place] = stage
        self._count_unsolved(place)
        self._score(place)

    def _improve(self, place: int) -> None:
        """Solve an L2 value to the next tolerance."""
        self.stage[place] += 1
        tolerance = self.tolerances[self.stage[place]]
        for descent in self.descents[place]:
            descent.until(tolerance, self.steps)
        self._count_unsolved(place)
        self._score(place)

    def _count_unsolved(self, place: int) -> None:
        if self.stage[place] == len(self.tolerances) - 1:
            self.unsolved += sum(not descent.solved for descent in self.descents[place])

    def _score(self, place: int) -> None:
        if self.validate is not None:
            score = self.validate(self.unit, self._fitted([place]))
            self.scores[place] = torch.nan_to_num(score, nan=-1.0)[0].cpu()

    def _below_best(self, errors: float) -> Tensor:
        """Which scores are so many standard errors or more below the best, (l2,)."""
        best = self.scores.max()
        variance = (best * (1 - best)).clamp(min=1 / self.held_out)
        return self.scores < best - errors * (variance / self.held_out).sqrt()

    def _fitted(self, places: Iterable[int]) -> Fitted:
        """The classifiers of some L2 values, or of the nearest ones that were tried."""
        tried = [self.order.index(place) for place in self.descents]
        theta = []
        for place in places:
            rank = self.order.index(place)
            nearest = self.order[min(max(rank, min(tried)), max(tried))]
            theta.append(torch.stack([descent.theta for descent in self.descents[nearest]]))
        whole = torch.stack(theta, 1)[None]  # (1, set, l2, width + 1, class)
        steps = max(one.steps for descents in self.descents.values() for one in descents)
        return Fitted(
            whole[..., :-1, :].contiguous(),
            whole[..., -1, :].contiguous(),
            steps,
            self.unsolved,
        )
