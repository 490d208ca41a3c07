"""Disabling heads: uniform attention, zero output, or the mean output (K7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from headscope.errors import UserError, unknown

Way = Literal["uniform", "zero", "mean"]
WAYS = ("uniform", "zero", "mean")


@dataclass(frozen=True)
class Replacement:
    """What to do to which heads: ``heads`` maps a layer (from 0) of ``stack`` to its heads (from 0).

    uniform: the head attends equally to every token it may see. zero: its output is 0. mean: its output is ``means[layer]``, (head, width).
    """

    way: str
    heads: Mapping[int, frozenset[int]]
    stack: str = ""
    means: Mapping[int, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.way not in WAYS:
            raise unknown("replacement", self.way, WAYS)
        missing = (
            [layer for layer in self.heads if layer not in self.means] if self.way == "mean" else []
        )
        if missing:
            raise UserError(
                f"replacing heads by their mean needs the means of their layer; those of layer {missing[0] + 1} are not given",
                hint="give means={layer: tensor of (head, width)}",
            )

    def at(self, stack: str, layer: int) -> list[int]:
        """The heads to replace in one layer, in order."""
        if self.stack and stack != self.stack:
            return []
        return sorted(self.heads.get(layer, ()))

    def weights(self, weights: Tensor, heads: list[int], visible: Tensor | None) -> Tensor:
        """Maps with these heads uniform over what each query may see; unchanged for the other ways."""
        if self.way != "uniform":
            return weights
        changed = weights.clone()
        if visible is None:
            changed[:, heads] = 1.0 / weights.shape[-1]
        else:
            seen = visible.to(weights.dtype).expand(weights.shape[0], 1, *weights.shape[2:])
            changed[:, heads] = seen / seen.sum(-1, keepdim=True).clamp_min(1.0)
        return changed

    def output(self, output: Tensor, heads: list[int], layer: int) -> Tensor:
        """Head outputs (batch, query, head, width) with these heads zero or at their mean; unchanged for uniform."""
        if self.way == "uniform":
            return output
        changed = output.clone()
        changed[:, :, heads] = 0.0 if self.way == "zero" else self.means[layer][heads].to(output)
        return changed


def head_set(pairs: Iterable[tuple[int, int]]) -> dict[int, frozenset[int]]:
    """Group (layer, head) pairs by layer.

    >>> head_set([(0, 1), (0, 3), (2, 0)])
    {0: frozenset({1, 3}), 2: frozenset({0})}
    """
    grouped: dict[int, set[int]] = {}
    for layer, head in pairs:
        grouped.setdefault(layer, set()).add(head)
    return {layer: frozenset(heads) for layer, heads in grouped.items()}


def visible_keys(mask: Tensor | None) -> Tensor | None:
    """Which keys an additive or boolean attention mask lets through, (batch, 1, query, key)."""
    if mask is None or mask.dtype == torch.bool:
        return mask
    return mask > torch.finfo(mask.dtype).min / 2
