"""Eager attention for a block of query rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

STEP = 16
"""Blocks are multiples of so many rows: matrix products then round as those of the whole map do."""
WEIGHTS = 2**21
"""About so many attention weights make a block, so that it stays in the processor's cache."""
TRIAL = 2 * STEP
HIDDEN = -1e4
"""A key is hidden if so much or less is added to its score. Half precision goes to -65504."""
SLICED = frozenset({"position_bias"})
"""Arguments of attention functions that are cut like the mask: T5's position bias."""
UNUSED = frozenset({"position_ids", "cache_position", "position_embeddings", "block_indices"})
"""Arguments that are handed to every attention function and read by none of the eager ones, such as
the keys that MiniMax M3's index chooses: they are in the mask."""

Eager = Callable[..., tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Call:
    """One call of an architecture's eager attention function, which can be made in parts.

    Parameters
    ----------
    eager
        The function.
    module, query, key, value, mask, others
        Its arguments.
    """

    eager: Eager
    module: Any
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    others: Mapping[str, Any]

    @property
    def length(self) -> int:
        """The number of query rows."""
        return self.query.shape[2]

    def rows(self, first: int, last: int, *, causal: bool = False) -> tuple[Tensor, Tensor]:
        """Outputs (batch, row, head, width) and maps (batch, head, row, key) of some rows.

        What is left at the end, if fewer than 16 rows, is computed with some of the rows before.

        Parameters
        ----------
        first, last
            The first row, and the one after the last.
        causal
            Leave out the keys after the block, which none of its rows sees. The maps hold 0 there,
            as they do anyway; sums round a little differently (1e-7).
        """
        last = min(last, self.length)
        start = max(min(first, last - STEP), 0)
        everything = self.key.shape[2]
        keys = everything - self.length + last if causal else everything
        others = {
            name: self._cut(value, start, last, keys) if name in SLICED else value
            for name, value in self.others.items()
        }
        output, maps = self.eager(
            self.module,
            self.query[:, :, start:last],
            self.key[:, :, :keys],
            self.value[:, :, :keys],
            self._cut(self.mask, start, last, keys),
            **others,
        )
        if keys < everything:
            maps = functional.pad(maps, (0, everything - keys))
        if start == first:  # the very maps: gradients are asked of them
            return output, maps
        return output[:, first - start :], maps[:, :, first - start :]

    def mask_of(self, first: int, last: int) -> Tensor | None:
        """The mask of some rows."""
        return self._cut(self.mask, first, last)

    def _cut(
        self, value: Tensor | None, first: int, last: int, keys: int | None = None
    ) -> Tensor | None:
        """Rows and first keys of a mask or a bias, (batch, head, row, key).

        One row serves for all, and so does one key.
        """
        if value is None:
            return None
        rows = value[..., first:last, :] if value.shape[-2] == self.length else value
        return rows[..., :keys]

    def hides_later_keys(self) -> bool:
        """Whether no row sees a key that comes after it, by the mask."""
        keys = self.key.shape[2]
        if self.mask is None or self.mask.shape[-2:] != (self.length, keys):
            return False
        seen = self.mask if self.mask.dtype == torch.bool else self.mask > HIDDEN
        return not bool(seen.triu(keys - self.length + 1).any())

    def ready(self) -> Call:
        """The same call with keys and values laid out once, not for every block.

        In grouped-query attention several query heads share a key. Eager functions repeat the keys
        themselves, by ``module.num_key_value_groups``.
        """
        groups = getattr(self.module, "num_key_value_groups", 1)
        if groups == 1 or self.key.shape[1] * groups != self.query.shape[1]:
            return replace(self, key=self.key.contiguous(), value=self.value.contiguous())
        return replace(
            self,
            module=_Ungrouped(self.module),
            key=self.key.repeat_interleave(groups, dim=1),
            value=self.value.repeat_interleave(groups, dim=1),
        )

    def corner(self, size: int) -> Call:
        """The call for the first rows and keys alone."""

        def cut(value: Tensor | None) -> Tensor | None:
            rows = self._cut(value, 0, size)
            return None if rows is None else rows[..., :size]

        return replace(
            self,
            query=self.query[:, :, :size],
            key=self.key[:, :, :size],
            value=self.value[:, :, :size],
            mask=cut(self.mask),
            others={
                name: cut(value) if name in SLICED else value for name, value in self.others.items()
            },
        )


class _Ungrouped:
    """An attention module as its eager function sees it, with as many keys as query heads."""

    num_key_value_groups = 1

    def __init__(self, module: nn.Module) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def block_height(query: Tensor, key: Tensor) -> int:
    """How many rows make a block: all blocks of a map are about equally high.

    >>> block_height(torch.zeros(16, 12, 128, 1), torch.zeros(16, 12, 128, 1))
    64
    >>> block_height(torch.zeros(1, 12, 4096, 1), torch.zeros(1, 12, 4096, 1))
    32
    """
    batch, heads, length, _ = query.shape
    most = max(WEIGHTS // (batch * heads * key.shape[2]) // STEP * STEP, STEP)
    blocks = -(-length // most)
    return -(-length // (blocks * STEP)) * STEP


_cut: dict[Any, bool] = {}


def can_be_cut(call: Call) -> bool:
    """Whether a call gives the same in blocks of rows.

    It does unless an argument that we do not know has a value for every row, or the function reads
    the number of a row from its place. The latter is tried once for every function, on a corner of
    the maps.
    """
    if call.mask is not None and call.mask.dim() != 4:
        return False
    for name, value in call.others.items():
        if name in UNUSED:
            continue
        for tensor in _tensors(value):
            if call.length in tensor.shape and not (name in SLICED and tensor.dim() == 4):
                return False
    if call.eager not in _cut:
        _cut[call.eager] = _same_in_blocks(call)
    return _cut[call.eager]


_narrowed: dict[Any, bool] = {}


def can_skip_keys(call: Call) -> bool:
    """Whether keys after a block need not be computed: the mask hides them from all its rows.

    As with rows, every function is tried once on a corner of the maps.
    """
    # The corner first: it is small, and enough to tell that a model is not causal.
    if not (call.corner(TRIAL).hides_later_keys() and call.hides_later_keys()):
        return False
    if call.eager not in _narrowed:
        _narrowed[call.eager] = _same_in_blocks(call, causal=True)
    return _narrowed[call.eager]


def _tensors(value: Any) -> Iterable[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)


def _same_in_blocks(call: Call, *, causal: bool = False) -> bool:
    corner = call.corner(TRIAL)
    try:
        whole = corner.rows(0, TRIAL)
        parts = [
            corner.ready().rows(first, first + STEP, causal=causal)
            for first in range(0, TRIAL, STEP)
        ]
    except (RuntimeError, ValueError, IndexError, TypeError, AttributeError):
        return False
    outputs = torch.cat([output for output, _ in parts], 1)
    maps = torch.cat([weights for _, weights in parts], 2)
    return torch.allclose(outputs, whole[0], atol=1e-4, equal_nan=True) and torch.allclose(
        maps, whole[1], atol=1e-5, equal_nan=True
    )
