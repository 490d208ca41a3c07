"""The loss of many logistic regressions at once, and its gradient with respect to the logits."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from headscope.runs.probe.problems import Problems


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
