"""Tasks with many classes, where each classifier is costly: softmax regression on one unit and
training set, and the search for L2.

A descent ends when the next step is expected to lower the loss by no more than a small share. A
bound on the derivatives would not do: with a thousand classes they are below 1e-3 from the start,
and at a weak penalty the loss can be 3 % above its minimum when none is above 1e-5.

Steps are scaled by the inverse of an estimate of the curvature. The exact curvature of ``c``
classes and ``w`` features is a matrix of (c · w)² numbers. The estimates ignore how classes depend
on one another, with one exception: adding the same weights to all classes changes nothing, so no
step should contain such a part. A step that is scaled class by class does; removing it saves nine
steps of ten where the penalty is weak.

L2 values are tried from strong to weak, one unit at a time. Most of the time goes into weak values,
which need many steps; this is avoided as follows:

- A descent starts from the solution of the value before, or where the last two point to.
- Solutions are rough at first, and improved in stages. At each stage, only values whose validation
  score is near the best one are improved further; the fewer, the more exact the solutions are. The
  best value is solved to the optimum, with all that come within a few examples of it.
- The search ends as soon as the validation score has fallen well below the best one. It begins with
  the second strongest value; the strongest is tried only if that one is not far below the best.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from math import log, sqrt

import torch
from torch import Tensor

from headscope.runs.probe.linear import Fitted, Problems, centred

HISTORY = 8
ARMIJO, TRIALS = 1e-4, 12
ROUNDING = 1e-6
"""Relative error of a loss in float32, about: near the optimum it cannot tell steps apart."""
LOGITS = 1 << 21
"""Logits are computed for so many bytes of rows at a time, which fit in the cache."""
NARROW = 64
"""Features up to so wide have the curvature of each class computed in full."""
DAMPING = sqrt(10)
"""The curvature contains up to so many times the penalty."""
STRONG = 3
"""A penalty so many times the curvature of the cross-entropy outweighs it: then the curvature of
equally likely classes serves for all."""
RIDGE = 1e-3
"""Added to the curvature of a class, relative to its mean, where the penalty is too weak."""
LEAST = 1e-6
"""Smallest variance of features along an axis, relative to standardised features."""
OWN_ROWS = 64
"""At most so many rows of each class are taken one by one."""

Inverse = Callable[[Tensor], Tensor]
"""An estimate of the curvature: its inverse times a gradient, (width + 1, class)."""


class SoftmaxRegression:
    """The loss of one unit and training set.

    The loss is the mean cross-entropy plus l2 / 2 times the sum of squared weights; biases are not
    penalised. Parameters are (width + 1, class); the last row holds the biases.

    Parameters
    ----------
    x
        Features of the training rows, (row, width).
    y
        Classes, (row,), or probabilities, (row, class).
    classes
        Number of classes.

    Examples
    --------
    >>> loss = SoftmaxRegression(torch.eye(4), torch.arange(4), 4)
    >>> value, gradient = loss.evaluate(torch.zeros(5, 4), l2=0.1)
    >>> round(value, 4), gradient.shape  # log 4
    (1.3863, torch.Size([5, 4]))
    """

    def __init__(self, x: Tensor, y: Tensor, classes: int) -> None:
        # A column of ones stands for the bias: it saves two passes over the logits.
        self.x = torch.cat([x, torch.ones_like(x[:, :1])], 1)
        self.classes, self.own = classes, (y if y.dim() == 1 else y.argmax(1))
        # The part of the gradient that does not depend on the parameters, and that of the loss
        # which is linear in them: sums of the features of each class.
        if y.dim() == 1:
            sums = x.new_zeros(classes, self.x.shape[1]).index_add_(0, y, self.x)
            self.gold = sums.t().contiguous()
        else:
            self.gold = self.x.t() @ y.to(x.dtype)
        self.portion = max(64, LOGITS // (classes * x.element_size()))
        self.axes = Axes(self.x)
        self.typical = float(self.x.square().mean()) / classes

    @property
    def zeros(self) -> Tensor:
        """Parameters with which all classes are equally likely."""
        return self.x.new_zeros(self.x.shape[1], self.classes)

    def evaluate(self, theta: Tensor, l2: float) -> tuple[float, Tensor]:
        """The loss and its gradient."""
        gradient, loss = self.gold.neg(), theta.new_zeros((), dtype=torch.float64)
        # Results go to the same memory in every round: new pages would take a third of the time.
        logits, shares = (theta.new_empty(self.portion, self.classes) for _ in range(2))
        for x in torch.split(self.x, self.portion):
            z, share = logits[: len(x)], shares[: len(x)]
            torch.mm(x, theta, out=z)
            torch.softmax(z, 1, out=share)
            loss += (z.amax(1) - share.amax(1).log()).sum(dtype=torch.float64)
            gradient.addmm_(x.t(), share)
        loss -= (theta * self.gold).sum(dtype=torch.float64)
        gradient /= len(self.x)
        gradient[:-1].add_(theta[:-1], alpha=l2)
        squares = theta[:-1].square().sum(dtype=torch.float64)
        return float(loss / len(self.x) + l2 / 2 * squares), gradient

    @property
    def is_narrow(self) -> bool:
        """Whether the curvature of each class can be computed in full."""
        return self.x.shape[1] <= NARROW + 1

    def is_strong(self, l2: float) -> bool:
        """Whether a penalty outweighs the cross-entropy."""
        return l2 >= STRONG * self.typical

    def curvature(self, theta: Tensor, l2: float) -> Inverse:
        """The curvature for steps from some parameters, the solution for a stronger penalty.

        Where the cross-entropy hardly bends, a weak penalty alone would allow far too long steps.
        """
        if self.is_strong(l2) or not bool(theta.any()):
            return uniform_curvature(self.axes, self.classes, l2)
        damped = max(l2, min(sqrt(l2 * self.typical), DAMPING * l2))
        if self.is_narrow:
            return class_curvature(self.x, theta, damped, self.portion)
        return own_rows_curvature(self.x, self.own, self.axes, theta, damped, self.portion)


class Descent:
    """L-BFGS with a given curvature, which can stop and be continued.

    Parameters
    ----------
    loss
        What to minimise.
    theta
        Where to start, (width + 1, class).
    l2
        The penalty.
    evaluated
        The loss and its gradient at the start, if they are known.

    Attributes
    ----------
    theta
        The parameters reached.
    steps
        Number of steps so far.
    solved
        Whether the last tolerance was reached.

    Examples
    --------
    >>> loss = SoftmaxRegression(torch.eye(4), torch.arange(4), 4)
    >>> descent = Descent(loss, loss.zeros, l2=0.1)
    >>> descent.until(1e-6, steps=100)
    True
    >>> torch.softmax(loss.x @ descent.theta, 1).argmax(1).tolist()
    [0, 1, 2, 3]
    """

    def __init__(
        self,
        loss: SoftmaxRegression,
        theta: Tensor,
        l2: float,
        evaluated: tuple[float, Tensor] | None = None,
    ) -> None:
        self.loss, self.theta, self.l2, self.steps, self.solved = loss, theta, l2, 0, False
        self.inverse = loss.curvature(theta, l2)
        self.value, self.gradient = evaluated or loss.evaluate(theta, l2)
        self.past: deque[tuple[Tensor, Tensor, float]] = deque(maxlen=HISTORY)

    def onward(self, l2: float) -> Descent:
        """A descent for another penalty, from the parameters reached. Nothing is evaluated."""
        more, weight = l2 - self.l2, self.theta[:-1]
        gradient = self.gradient.clone()
        gradient[:-1].add_(weight, alpha=more)
        value = self.value + more / 2 * float(weight.square().sum(dtype=torch.float64))
        return Descent(self.loss, self.theta, l2, (value, gradient))

    def until(self, tolerance: float, steps: int) -> bool:
        """Descend until a step is expected to lower the loss by this share of it, or less.

        Parameters
        ----------
        tolerance
            The share.
        steps
            Maximum number of steps in all.

        Returns
        -------
        bool
            Whether the tolerance was reached.
        """
        while True:
            direction = self._direction()
            slope = _dot(self.gradient, direction)
            if slope > 0:  # the estimates are wrong, by rounding: start afresh without them
                self.past.clear()
                self.inverse = uniform_curvature(self.loss.axes, self.loss.classes, self.l2)
                direction = self._direction()
                slope = _dot(self.gradient, direction)
            self.solved = -slope / 2 <= tolerance * self.value
            if self.solved or self.steps >= steps:
                return self.solved
            self._move(direction, slope)

    def _move(self, direction: Tensor, slope: float) -> None:
        """Shorten the step until it lowers the loss, to where a parabola has its minimum."""
        self.steps += 1
        length = 1.0
        for _ in range(TRIALS):
            theta = self.theta.add(direction, alpha=length)
            value, gradient = self.loss.evaluate(theta, self.l2)
            if value <= self.value + ARMIJO * length * slope + ROUNDING * abs(self.value):
                break
            above = value - self.value - length * slope
            length *= min(0.5, max(0.1, -length * slope / (2 * above)))
        change, bent = theta - self.theta, gradient - self.gradient
        product = _dot(change, bent)
        if product > 0:
            self.past.append((change, bent, 1 / product))
        self.theta, self.value, self.gradient = theta, value, gradient

    def _direction(self) -> Tensor:
        """The two loops of L-BFGS; the curvature is scaled by what the last step has met."""
        direction = -self.gradient
        shares: list[float] = []
        for change, bent, weight in reversed(self.past):
            shares.append(weight * _dot(change, direction))
            direction.add_(bent, alpha=-shares[-1])
        direction = self.inverse(direction)
        if self.past:
            _, bent, weight = self.past[-1]
            direction *= 1 / (weight * _dot(bent, self.inverse(bent)))
        for (change, bent, weight), share in zip(self.past, reversed(shares), strict=True):
            direction.add_(change, alpha=share - weight * _dot(bent, direction))
        return direction


def _dot(one: Tensor, two: Tensor) -> float:
    return float(torch.dot(one.reshape(-1), two.reshape(-1)))


# --- estimates of the curvature ---


class Axes:
    """Principal axes of the features.

    Parameters
    ----------
    x
        Features and a column of ones, (row, width + 1).

    Attributes
    ----------
    variances, axes
        (width,) and (width, width).
    """

    def __init__(self, x: Tensor) -> None:
        features = x[:, :-1]
        variances, self.axes = torch.linalg.eigh(features.t() @ features / len(x))
        self.variances = variances.clamp(min=LEAST)

    def to_axes(self, values: Tensor) -> Tensor:
        """Rotate features: parameters (width + 1, class), to which the last row does not belong."""
        return torch.cat([self.axes.t() @ values[:-1], values[-1:]])

    def from_axes(self, values: Tensor) -> Tensor:
        """The inverse of :meth:`to_axes`."""
        return torch.cat([self.axes @ values[:-1], values[-1:]])


def uniform_curvature(axes: Axes, classes: int, l2: float) -> Inverse:
    """The curvature where all classes are equally likely: the covariance of the features.

    Parameters
    ----------
    axes
        Principal axes of the features.
    classes
        Number of classes.
    l2
        The penalty.
    """
    bend = (1 - 1 / classes) / classes
    scale = 1 / (bend * axes.variances + l2)[:, None]

    def inverse(gradient: Tensor) -> Tensor:
        turned = axes.axes.t() @ gradient[:-1]
        return torch.cat([axes.axes @ (turned * scale), gradient[-1:] / bend])

    return inverse


def class_curvature(x: Tensor, theta: Tensor, l2: float, portion: int) -> Inverse:
    """The exact curvature of each class, for narrow features.

    Parameters
    ----------
    x
        Features and a column of ones, (row, width + 1).
    theta
        Where the curvature is taken, (width + 1, class).
    l2
        The penalty.
    portion
        Number of rows at a time.
    """
    width = len(theta)
    one, two = torch.triu_indices(width, width, device=x.device)
    total = x.new_zeros(len(one), theta.shape[1])  # each pair of features once
    for part in torch.split(x, portion):
        products = part.index_select(1, one) * part.index_select(1, two)
        total.addmm_(products.t(), _bend(part @ theta), alpha=1 / len(x))
    whole = x.new_empty(theta.shape[1], width, width)
    whole[:, one, two] = total.t()
    whole[:, two, one] = total.t()
    _add_penalty(whole.diagonal(dim1=1, dim2=2), l2)
    blocks = torch.cholesky_inverse(torch.linalg.cholesky(whole))
    blocks = blocks.permute(1, 2, 0).contiguous()  # ten times as fast with classes last
    return lambda gradient: centred((blocks * centred(gradient)).sum(1))


def own_rows_curvature(
    x: Tensor, own: Tensor, axes: Axes, theta: Tensor, l2: float, portion: int
) -> Inverse:
    """The curvature of each class from its own rows, and from the covariance of all others.

    Once the classifier separates the classes, the rows of a class bend its loss much more than all
    other rows. They are few, so the inverse of ``covariance + rows`` costs little (Woodbury's
    identity). For wide features, where :func:`class_curvature` would take too long.

    Parameters
    ----------
    x, theta, l2, portion
        As in :func:`class_curvature`.
    own
        The class of each row, (row,).
    axes
        Principal axes of the features.
    """
    classes = theta.shape[1]
    weight, others = x.new_empty(len(x)), x.new_zeros(classes)
    for start in range(0, len(x), portion):
        some = slice(start, start + portion)
        bend = _bend(x[some] @ theta)
        weight[some] = bend.gather(1, own[some, None])[:, 0]
        others += bend.sum(0)
    row, place = _largest(weight, own, classes)
    others.index_add_(0, own[row], -weight[row])
    others = others.clamp(min=0) / len(x)
    diagonal = torch.outer(others, torch.cat([axes.variances, x.new_ones(1)]))
    _add_penalty(diagonal, l2)
    # Where other rows hardly bend the loss of a class, the inverse for its bias would be so
    # large that rounding outweighs everything else. Any bound does: this is an estimate.
    diagonal[:, -1].clamp_(min=l2 / 100)
    rows = x.new_zeros(classes, int(place.max()) + 1, len(theta))
    rows[own[row], place] = axes.to_axes(x[row].t()).t() * (weight[row] / len(x)).sqrt()[:, None]
    scale = 1 / diagonal
    scaled = rows * scale[:, None]
    inner = scaled @ rows.mT + torch.eye(rows.shape[1], device=x.device)
    inner = torch.cholesky_inverse(torch.linalg.cholesky(inner))

    def inverse(gradient: Tensor) -> Tensor:
        turned = axes.to_axes(centred(gradient)).t()
        along = inner @ (scaled @ turned[:, :, None])
        step = turned * scale - (along.mT @ scaled)[:, 0]
        return axes.from_axes(centred(step.t()))

    return inverse


def _add_penalty(diagonal: Tensor, l2: float) -> None:
    """Add the penalty and a ridge to the curvature of each class, (class, width + 1), in place."""
    diagonal += RIDGE * diagonal.mean(1, keepdim=True).clamp(min=1e-9)
    diagonal[:, :-1] += l2


def _bend(logits: Tensor) -> Tensor:
    """Second derivatives of the cross-entropy with respect to each logit, (row, class)."""
    share = torch.softmax(logits, 1)
    return torch.addcmul(share, share, share, value=-1)


def _largest(weight: Tensor, own: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """The rows of each class with the largest weights, and their place within the class."""
    order = weight.argsort(descending=True)
    order = order[own[order].argsort(stable=True)]
    count = torch.bincount(own, minlength=classes)
    place = torch.arange(len(own), device=own.device) - (count.cumsum(0) - count)[own[order]]
    kept = place < OWN_ROWS
    return order[kept], place[kept]


# --- the search for L2 ---

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
