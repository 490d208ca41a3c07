"""Newton's method for a single logistic regression, to the end, in double precision."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

NEWTON_STEPS, CONJUGATE_STEPS, FORCING = 50, 200, 0.1
"""Most steps of Newton's method, most conjugate gradients within a step, and how much they reduce
the residual."""
BLOCKS = 1 << 25
"""The curvature of each class is used if it has at most so many numbers in all."""
ARMIJO, HALVINGS = 1e-4, 12


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

    Each step is found by conjugate gradients, preconditioned by the curvature of each class. For
    two classes this is all but the whole curvature, so that few of them suffice.

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
        The problem is solved when a Newton step is expected to lower the loss by this share of it,
        or less.
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
    for _ in range(NEWTON_STEPS):
        gradient = x.t() @ (chances - y) / len(x) + penalty * free * theta
        step, gain = _newton_step(x, chances, gradient, penalty * free)
        if gain / 2 <= share * value:
            return theta, True
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


def _newton_step(
    x: Tensor, chances: Tensor, gradient: Tensor, penalty: Tensor
) -> tuple[Tensor, float]:
    """The step of Newton's method, and its slope downwards: twice what it is expected to gain."""
    bend = chances - chances.square()

    def curved(step: Tensor) -> Tensor:
        """The curvature times a step."""
        moved = x @ step
        if chances.shape[1] == 1:
            moved = bend * moved
        else:
            moved = chances * (moved - (chances * moved).sum(1, keepdim=True))
        return x.t() @ moved / len(x) + penalty * step

    scaled = _class_by_class(x, bend, float(penalty.max()))
    step, rest = torch.zeros_like(gradient), -gradient
    along = towards = scaled(rest)
    size = first = float((rest * towards).sum())
    for _ in range(CONJUGATE_STEPS):
        if size <= FORCING**2 * first:
            break
        bent = curved(along)
        length = size / float((along * bent).sum())
        step, rest = step + length * along, rest - length * bent
        towards = scaled(rest)
        size, before = float((rest * towards).sum()), size
        along = towards + size / before * along
    return step, -float((gradient * step).sum())


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
