"""Estimates of the curvature of softmax regression, whose inverses scale the steps of a descent.

The exact curvature of ``c`` classes and ``w`` features is a matrix of (c · w)² numbers. These
estimates ignore how classes depend on one another, with one exception: adding the same weights to
all classes changes nothing, so no step should contain such a part. A step that is scaled class by
class does; removing it saves nine steps of ten where the penalty is weak.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

RIDGE = 1e-3
"""Added to the curvature of a class, relative to its mean, where the penalty is too weak."""
LEAST = 1e-6
"""Smallest variance of features along an axis, relative to standardised features."""
OWN_ROWS = 64
"""At most so many rows of each class are taken one by one."""


class Curvature(Protocol):
    """An estimate of the curvature."""

    def inverse(self, gradient: Tensor) -> Tensor:
        """The inverse times a gradient, (width + 1, class)."""


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


class UniformCurvature:
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

    def __init__(self, axes: Axes, classes: int, l2: float) -> None:
        bend = (1 - 1 / classes) / classes
        self.axes, self.bend = axes, bend
        self.scale = 1 / (bend * axes.variances + l2)[:, None]

    def inverse(self, gradient: Tensor) -> Tensor:
        """The inverse times a gradient, (width + 1, class)."""
        turned = self.axes.axes.t() @ gradient[:-1]
        return torch.cat([self.axes.axes @ (turned * self.scale), gradient[-1:] / self.bend])


class ClassCurvature:
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

    def __init__(self, x: Tensor, theta: Tensor, l2: float, portion: int) -> None:
        width = len(theta)
        one, two = torch.triu_indices(width, width, device=x.device)
        total = x.new_zeros(len(one), theta.shape[1])  # each pair of features once
        for part in torch.split(x, portion):
            products = part.index_select(1, one) * part.index_select(1, two)
            total.addmm_(products.t(), _bend(part @ theta), alpha=1 / len(x))
        whole = x.new_empty(theta.shape[1], width, width)
        whole[:, one, two] = total.t()
        whole[:, two, one] = total.t()
        diagonal = whole.diagonal(dim1=1, dim2=2)
        diagonal += RIDGE * diagonal.mean(1, keepdim=True).clamp(min=1e-9)
        diagonal[:, :-1] += l2
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(whole))
        self.blocks = inverse.permute(1, 2, 0).contiguous()  # ten times as fast with classes last

    def inverse(self, gradient: Tensor) -> Tensor:
        """The inverse times a gradient, (width + 1, class)."""
        return _centred((self.blocks * _centred(gradient)).sum(1))


class OwnRowsCurvature:
    """The curvature of each class from its own rows, and from the covariance of all others.

    Once the classifier separates the classes, the rows of a class bend its loss much more than all
    other rows. They are few, so the inverse of ``covariance + rows`` costs little (Woodbury's
    identity). For wide features, where :class:`ClassCurvature` would take too long.

    Parameters
    ----------
    x
        Features and a column of ones, (row, width + 1).
    own
        The class of each row, (row,).
    axes
        Principal axes of the features.
    theta
        Where the curvature is taken, (width + 1, class).
    l2
        The penalty.
    portion
        Number of rows at a time.
    """

    def __init__(
        self, x: Tensor, own: Tensor, axes: Axes, theta: Tensor, l2: float, portion: int
    ) -> None:
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
        diagonal += RIDGE * diagonal.mean(1, keepdim=True).clamp(min=1e-9)
        diagonal[:, :-1] += l2
        # Where other rows hardly bend the loss of a class, the inverse for its bias would be so
        # large that rounding outweighs everything else. Any bound does: this is an estimate.
        diagonal[:, -1].clamp_(min=l2 / 100)
        rows = x.new_zeros(classes, int(place.max()) + 1, len(theta))
        rows[own[row], place] = (
            axes.to_axes(x[row].t()).t() * (weight[row] / len(x)).sqrt()[:, None]
        )
        self.axes, self.scale = axes, 1 / diagonal
        self.scaled = rows * self.scale[:, None]
        inner = self.scaled @ rows.mT + torch.eye(rows.shape[1], device=x.device)
        self.inner = torch.cholesky_inverse(torch.linalg.cholesky(inner))

    def inverse(self, gradient: Tensor) -> Tensor:
        """The inverse times a gradient, (width + 1, class)."""
        turned = self.axes.to_axes(_centred(gradient)).t()
        along = self.inner @ (self.scaled @ turned[:, :, None])
        step = turned * self.scale - (along.mT @ self.scaled)[:, 0]
        return self.axes.from_axes(_centred(step.t()))


def _bend(logits: Tensor) -> Tensor:
    """Second derivatives of the cross-entropy with respect to each logit, (row, class)."""
    share = torch.softmax(logits, 1)
    return torch.addcmul(share, share, share, value=-1)


def _centred(values: Tensor) -> Tensor:
    """Remove what all classes share, (width + 1, class)."""
    return values - values.mean(1, keepdim=True)


def _largest(weight: Tensor, own: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """The rows of each class with the largest weights, and their place within the class."""
    order = weight.argsort(descending=True)
    order = order[own[order].argsort(stable=True)]
    count = torch.bincount(own, minlength=classes)
    place = torch.arange(len(own), device=own.device) - (count.cumsum(0) - count)[own[order]]
    kept = place < OWN_ROWS
    return order[kept], place[kept]
