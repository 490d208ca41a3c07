"""Disabling heads: uniform attention, a zero output, the mean output, or a window of tokens.

Kovaleva et al. (2019), section 4.6, make a head attend uniformly. Zero and mean outputs are the
other ways in use since then. A window is what a cut cache leaves of a head (Xiao et al. 2024,
DuoAttention): it sees the first and the most recent tokens only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headscope.errors import UserError, unknown
from headscope.heads import WINDOW, Head, HeadLike, HeadsLike, split_heads
from headscope.models.shape import Shape

if TYPE_CHECKING:
    from headscope.models.model import Model


WAYS = ("uniform", "zero", "mean", "window")


@dataclass(frozen=True, init=False)
class Replacement:
    """What to do to which heads in a forward pass.

    Parameters
    ----------
    heads
        The heads to replace: ``"4-6,5-1"``, ``"L2H8"``, all heads of a layer (``"4-*"``), a
        :class:`~headscope.heads.Head`, or a list of these. An empty list replaces nothing.
    way
        ``"uniform"``: the head attends equally to every token that it may see. ``"zero"``: its
        output is 0. ``"mean"``: its output is its mean output, from ``means``. ``"window"``: it
        sees only the first and the most recent tokens, as with a cut cache.
    stack
        Replace heads in this stack only: ``"encoder"``, ``"decoder"`` or ``"cross"``. The default
        is every stack that has them.
    means
        For ``way="mean"``: the mean outputs of each layer, counted from 0, (head, width).
    window
        For ``way="window"``: how many first and how many recent tokens the head sees. A token is
        itself the most recent one; where tokens see later ones, recent ones are on either side.

    Raises
    ------
    UserError
        If something is not the name of a head, the way does not exist, or means are missing.

    Examples
    --------
    >>> Replacement("4-6,L0H1").heads
    (<Head 4-6>, <Head 1-2>)
    >>> Replacement([Head(0, 1), "2-*"], way="zero").heads
    (<Head 1-2>, '2-*')
    """

    heads: tuple[HeadLike, ...]
    way: str
    stack: str
    means: Mapping[int, Tensor]
    window: tuple[int, int]

    def __init__(
        self,
        heads: HeadsLike,
        way: str = "uniform",
        stack: str = "",
        means: Mapping[int, Tensor] | None = None,
        window: tuple[int, int] = WINDOW,
    ) -> None:
        if way not in WAYS:
            raise unknown("way to replace a head", way, WAYS)
        nothing = not isinstance(heads, str) and not heads
        object.__setattr__(self, "heads", () if nothing else split_heads(heads))
        object.__setattr__(self, "way", way)
        object.__setattr__(self, "stack", stack)
        object.__setattr__(self, "means", dict(means or {}))
        object.__setattr__(self, "window", window)
        self._check_means([part for part in self.heads if isinstance(part, Head)])

    def fit(self, model: Model) -> FittedReplacement:
        """The replacement for the shape of a model.

        Raises
        ------
        UserError
            If no stack of the model has one of the heads, if their means are missing, or if a
            window is asked of cross attention.
        """
        shapes = {self.stack: model.shape(self.stack)} if self.stack else model.shapes
        table: dict[str, dict[int, list[int]]] = {stack: {} for stack in shapes}
        for part in self.heads:
            for stack, heads in _resolve(part, shapes).items():
                self._check_means(heads)
                for layer, head in heads:
                    table[stack].setdefault(layer, []).append(head)
        for layers in table.values():
            for layer, numbers in layers.items():
                layers[layer] = sorted(set(numbers))
        if self.way == "window" and table.get("cross"):
            raise UserError(
                "heads of cross attention have no window: the tokens that they see are of another "
                "text, and none of them is recent",
                hint="give stack='encoder' or stack='decoder'",
            )
        return FittedReplacement(table, self.way, self.means, self.window)

    def _check_means(self, heads: Iterable[Head]) -> None:
        missing = [head.layer for head in heads if head.layer not in self.means]
        if self.way == "mean" and missing:
            raise UserError(
                "replacing heads by their mean output needs the means of their layers; those of "
                f"layer {missing[0] + 1} are not given",
                hint=f"give means={{{missing[0]}: tensor of (head, width), …}}, layers from 0",
            )


@dataclass(frozen=True)
class FittedReplacement:
    """A replacement with its heads resolved for one model.

    Parameters
    ----------
    table
        The heads to replace, by stack and layer, counted from 0.
    way, means, window
        See :class:`Replacement`.
    """

    table: Mapping[str, Mapping[int, list[int]]]
    way: str
    means: Mapping[int, Tensor]
    window: tuple[int, int] = WINDOW

    def fit(self, _model: Model) -> FittedReplacement:
        """Itself: it has been fitted already."""
        return self

    def at(self, stack: str, layer: int) -> list[int]:
        """The heads to replace in one layer, in order."""
        return self.table.get(stack, {}).get(layer, [])

    def changes(self, stack: str, layer: int) -> list[Change]:
        """What happens in one layer: nothing, or one change of all examples."""
        heads = self.at(stack, layer)
        return [(self, heads)] if heads else []

    def weights(self, weights: Tensor, heads: list[int], visible: Tensor | None) -> Tensor:
        """The maps with these heads uniform over what each query may see.

        Parameters
        ----------
        weights
            (batch, head, query, key). Returned as they are for ways other than uniform.
        heads
            The heads to change.
        visible
            Which keys each query may see, (batch, 1, query, key) or broadcastable; None for all.
        """
        if self.way != "uniform":
            return weights
        changed = weights.clone()
        if visible is None:
            changed[:, heads] = 1.0 / weights.shape[-1]
        else:
            seen = visible.to(weights.dtype).expand(weights.shape[0], 1, *weights.shape[2:])
            changed[:, heads] = seen / seen.sum(-1, keepdim=True).clamp_min(1.0)
        return changed

    def hidden(self, rows: Tensor, keys: Tensor) -> Tensor:
        """Whether a window hides a key from a row, (row, key), by their places in the text."""
        first, recent = self.window
        return (keys >= first) & ((rows[:, None] - keys).abs() >= recent)

    def output(self, output: Tensor, heads: list[int], layer: int) -> Tensor:
        """The head outputs, (batch, query, head, width), with these heads zero or at their mean.

        They are returned as they are where only the map changes.
        """
        if self.way not in ("zero", "mean"):
            return output
        changed = output.clone()
        changed[:, :, heads] = 0.0 if self.way == "zero" else self.means[layer][heads].to(output)
        return changed


Change = tuple[FittedReplacement, list[int]]
"""A replacement, and the heads that it replaces in one layer."""


@dataclass(frozen=True)
class StackedReplacement:
    """Several replacements in one pass over a batch that holds its examples once for each.

    Parameters
    ----------
    parts
        The replacements. The first is that of the first copy of the examples, and so on.
    """

    parts: tuple[FittedReplacement, ...]

    def fit(self, _model: Model) -> StackedReplacement:
        """Itself: its parts have been fitted already."""
        return self

    def changes(self, stack: str, layer: int) -> list[Change]:
        """What happens in one layer: nothing, or one change for each copy of the examples."""
        changes = [(part, part.at(stack, layer)) for part in self.parts]
        return changes if any(heads for _, heads in changes) else []


def replaced_maps(
    changes: Sequence[Change],
    weights: Tensor,
    visible: Tensor | None,
    output: Tensor | None = None,
    value: Tensor | None = None,
) -> tuple[Tensor, Any]:
    """A block of maps with replaced heads, and its outputs, computed again where maps changed.

    Parameters
    ----------
    changes
        One for each copy of the examples.
    weights
        (batch, head, row, key).
    visible
        Which keys each row may see, (batch or 1, 1, row, key); None for all.
    output, value
        The outputs of the heads, (batch, row, head, width), and the value vectors, (batch,
        key-value head, key, width); None where the model computes the outputs itself.
    """
    count = len(changes)
    shared = visible is None or len(visible) != len(weights)
    seen = [visible] * count if visible is None or shared else list(_copies(visible, count))
    parts = [
        way.weights(part, heads, keys) if heads else part
        for (way, heads), part, keys in zip(changes, _copies(weights, count), seen, strict=True)
    ]
    maps = parts[0] if count == 1 else torch.cat(parts)
    again = [bool(heads) and replacement.way == "uniform" for replacement, heads in changes]
    if output is None or value is None or not any(again):
        return maps, output
    output = output.clone()
    copied = (_copies(tensor, count) for tensor in (output, maps, value))
    for (_, heads), anew, *part in zip(changes, again, *copied, strict=True):
        if anew:
            sent_on, weighed, values = part
            # Where queries are grouped, several query heads share one value head.
            groups = weighed.shape[1] // values.shape[1]
            sent = values.repeat_interleave(groups, dim=1)[:, heads]
            sent_on[:, :, heads] = (weighed[:, heads] @ sent).transpose(1, 2)
    return maps, output


def narrowed_mask(
    changes: Sequence[Change], mask: Tensor | None, query: Tensor, rows: Tensor, keys: Tensor
) -> Tensor | None:
    """The mask of a block of rows that also hides what is outside the windows of replaced heads.

    Attention is then spread over the keys that are left by the softmax itself.

    Parameters
    ----------
    changes
        One for each copy of the examples.
    mask
        (batch or 1, head or 1, row, key), boolean or additive; None if all is seen.
    query
        The queries, (batch, head, row, width).
    rows, keys
        The places of the block's rows and of the keys in the text.
    """
    batch, heads = query.shape[:2]
    hidden = torch.zeros(
        len(changes), heads, len(rows), len(keys), dtype=torch.bool, device=query.device
    )
    for copy, (change, numbers) in zip(hidden, changes, strict=True):
        if numbers and change.way == "window":
            copy[numbers] = change.hidden(rows, keys)
    if not bool(hidden.any()):
        return mask
    if len(changes) > 1:
        hidden = hidden.repeat_interleave(batch // len(changes), 0)
    if mask is None:
        mask = query.new_zeros(1)
    if mask.dtype == torch.bool:
        return mask & ~hidden
    return torch.where(hidden, torch.finfo(mask.dtype).min, mask)


def replaced_outputs(changes: Sequence[Change], output: Tensor, layer: int) -> Tensor:
    """The outputs of a layer's heads, (batch, query, head, width), with replaced heads."""
    parts = [
        replacement.output(part, heads, layer)
        for (replacement, heads), part in zip(changes, _copies(output, len(changes)), strict=True)
    ]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _copies(values: Tensor, count: int) -> Sequence[Tensor]:
    """The examples of each change. A single one has the very tensor: gradients are asked of it."""
    return [values] if count == 1 else values.chunk(count)


def _resolve(part: HeadLike, shapes: Mapping[str, Shape]) -> dict[str, tuple[Head, ...]]:
    """The heads that a name stands for in each stack that has them; an error if none has."""
    heads: dict[str, tuple[Head, ...]] = {}
    error: UserError | None = None
    for stack, shape in shapes.items():
        try:
            heads[stack] = shape.parse(part)
        except UserError as wrong:
            error = error or wrong
    if error is not None and not heads:
        raise error
    return heads


def visible_keys(mask: Tensor | None) -> Tensor | None:
    """Which keys an additive or boolean attention mask lets through, (batch, 1, query, key)."""
    if mask is None or mask.dtype == torch.bool:
        return mask
    return mask > torch.finfo(mask.dtype).min / 2
