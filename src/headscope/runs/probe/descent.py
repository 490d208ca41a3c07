"""Softmax regression on one unit and training set: L-BFGS to a given distance from the optimum.

A descent ends when the next step is expected to lower the loss by no more than a small share. A
bound on the derivatives would not do: with a thousand classes they are below 1e-3 from the start,
and at a weak penalty the loss can be 3 % above its minimum when none is above 1e-5.
"""

from __future__ import annotations

from collections import deque
from math import sqrt

import torch
from torch import Tensor

from headscope.runs.probe.curvature import (
    Axes,
    ClassCurvature,
    Curvature,
    OwnRowsCurvature,
    UniformCurvature,
)

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

    def curvature(self, theta: Tensor, l2: float) -> Curvature:
        """The curvature for steps from some parameters, the solution for a stronger penalty.

        Where the cross-entropy hardly bends, a weak penalty alone would allow far too long steps.
        """
        if self.is_strong(l2) or not bool(theta.any()):
            return self.uniform_curvature(l2)
        damped = max(l2, min(sqrt(l2 * self.typical), DAMPING * l2))
        if self.is_narrow:
            return ClassCurvature(self.x, theta, damped, self.portion)
        return OwnRowsCurvature(self.x, self.own, self.axes, theta, damped, self.portion)

    def uniform_curvature(self, l2: float) -> Curvature:
        """The curvature where all classes are equally likely, which costs nothing."""
        return UniformCurvature(self.axes, self.classes, l2)


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
        self.curvature = loss.curvature(theta, l2)
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
                self.curvature = self.loss.uniform_curvature(self.l2)
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
        direction = self.curvature.inverse(direction)
        if self.past:
            _, bent, weight = self.past[-1]
            direction *= 1 / (weight * _dot(bent, self.curvature.inverse(bent)))
        for (change, bent, weight), share in zip(self.past, reversed(shares), strict=True):
            direction.add_(change, alpha=share - weight * _dot(bent, direction))
        return direction


def _dot(one: Tensor, two: Tensor) -> float:
    return float(torch.dot(one.reshape(-1), two.reshape(-1)))
