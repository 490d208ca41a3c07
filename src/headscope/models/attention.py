"""The attention function that is observed: every architecture's own, with listeners.

transformers lets any name be registered as an attention implementation. The function registered
here calls the architecture's own eager attention, so nothing is re-implemented. It computes a block
of query rows at a time, changes heads where asked, and shows the block to the listeners: no map is
ever held whole unless a listener needs it. Blocks are multiples of 16 rows with all their keys,
which keeps results equal to eager attention bit for bit. Only where a mask hides all keys after a
block (causal models), those are left out, which is up to twice as fast and within 1e-6.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from headscope.errors import ModelError
from headscope.models.implementation import NAME
from headscope.models.replacement import (
    Change,
    FittedReplacement,
    StackedReplacement,
    visible_keys,
)
from headscope.models.rowblocks import Call, block_height, can_be_cut, can_skip_keys
from headscope.models.view import LayerView, Listener, RowListener

MASKS = 4
"""How many masks of a pass are kept. Most models have one to three; where an index chooses the keys
of each layer (DeepSeek V3.2), every layer has its own."""


class Watch:
    """One forward pass under observation.

    Numbers the layers of each stack as they are computed, replaces heads, and calls the listeners.

    Parameters
    ----------
    stacks
        The stack that each module belongs to.
    listeners
        Called in order with each layer.
    replacement
        Heads to replace, if any.
    mask
        (batch, token), true on real tokens: for architectures whose own mask cannot be seen.
    first
        How many layers of each stack a pass skips.
    whole_maps
        Compute every map in one block, even if no listener needs it.
    cached
        Whether the pass continues from cached keys, so that there are more keys than rows.
    numbers
        The model's own numbers of the layers of each stack, from 0, where they are known.
        Otherwise layers are numbered in the order of computation.
    """

    def __init__(
        self,
        stacks: Mapping[nn.Module, str],
        listeners: Sequence[Listener],
        replacement: FittedReplacement | StackedReplacement | None,
        mask: Tensor | None,
        first: Mapping[str, int] | None = None,
        *,
        whole_maps: bool = False,
        cached: bool = False,
        numbers: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        self.stacks = stacks
        self.cached = cached
        self.numbers = numbers or {}
        self.by_rows = [one for one in listeners if isinstance(one, RowListener)]
        self.at_end = [one.end if isinstance(one, RowListener) else one for one in listeners]
        self.replacement = replacement
        self.mask = mask
        self.whole_maps = (
            whole_maps
            or len(self.by_rows) < len(listeners)
            or any(listener.whole_maps for listener in self.by_rows)
        )
        # Of the present layer, where hooks see values, maps and outputs one after the other.
        self.maps: Tensor | None = None
        self.values: Tensor | None = None
        # Layers of each stack that have been computed or skipped.
        self.counts = dict(first or {})
        self._current: tuple[str, int, list[Change]] = ("", 0, [])
        # Masks are kept with the answer, so that no other takes their place in memory.
        self._hiding: dict[tuple[int, Any], tuple[bool, Tensor | None]] = {}

    @property
    def replacing(self) -> bool:
        """Whether heads of the present layer are replaced."""
        return bool(self._current[2])

    def begin(self, module: nn.Module, values: Tensor | None = None) -> str:
        """Enter the next layer, and return the name of its stack.

        Parameters
        ----------
        module
            The layer's attention module.
        values
            Its value vectors, (batch, key-value head, key, width), where they are known.
        """
        stack = self.stacks.get(module, "encoder")
        place = self.counts.get(stack, 0)
        self.counts[stack] = place + 1
        numbers = self.numbers.get(stack, ())
        layer = numbers[place] if place < len(numbers) else place
        changes = self.replacement.changes(stack, layer) if self.replacement else []
        self._current = (stack, layer, changes)
        self.values = values
        return stack

    def rows(
        self, module: nn.Module, weights: Tensor, visible: Tensor | None, first_row: int
    ) -> tuple[Tensor, list[tuple[slice, list[int]]]]:
        """Take in a block of rows of the layer.

        Parameters
        ----------
        module
            The layer's attention module.
        weights
            The block, (batch, head, row, key).
        visible
            Which keys each row may see; None for all.
        first_row
            The number of the block's first row. Where there are cached keys, they count.

        Returns
        -------
        weights : Tensor
            The block with replaced heads.
        again : list of (slice, list of int)
            The examples and heads whose output must be computed again from this block.
        """
        stack, layer, changes = self._current
        again: list[tuple[slice, list[int]]] = []
        if changes:
            parts = []
            for examples, replacement, heads in _examples_of(changes, len(weights)):
                mine, seen = _part(weights, examples), visible
                if visible is not None and len(visible) == len(weights):
                    seen = _part(visible, examples)
                parts.append(replacement.weights(mine, heads, seen) if heads else mine)
                if replacement.way == "uniform" and heads:
                    again.append((examples, heads))
            weights = _joined(parts)
        if self.by_rows:
            view = LayerView(stack, layer, None, None, module, self.values)
            for listener in self.by_rows:
                listener.rows(view, weights, first_row)
        return weights, again

    def check_keys(self, module: nn.Module, rows: int, keys: int) -> None:
        """Refuse a layer whose keys are not the tokens: columns of its maps have no meaning.

        DeepSeek V4 appends keys that stand for several tokens each.

        Raises
        ------
        ModelError
            If a text attends to more or fewer keys than it has tokens.
        """
        stack, layer, _ = self._current
        known = self.mask is not None and not self.cached
        if known and stack != "cross" and keys != rows:
            raise ModelError(
                f"layer {layer + 1} ({type(module).__name__}) attends to {keys} keys in a text of "
                f"{rows} tokens, so that its keys are not the tokens and its heads have no maps "
                "from token to token",
                hint="choose another model; the docs list what is supported under 'Supported "
                "models'",
            )

    def skips_keys(self, call: Call) -> bool:
        """Whether a layer's blocks do without the keys after them.

        The layers of a pass share a mask or two, so each is looked at once.
        """
        key = (id(call.mask), call.eager)
        if key not in self._hiding:
            if len(self._hiding) == MASKS:
                del self._hiding[next(iter(self._hiding))]
            self._hiding[key] = (can_skip_keys(call), call.mask)
        return self._hiding[key][0]

    def end(self, module: nn.Module, maps: Tensor | None, output: Tensor) -> Tensor:
        """Leave the layer: show it to the listeners.

        Parameters
        ----------
        module
            The layer's attention module.
        maps
            Its maps, if they were computed in one block.
        output
            The outputs of its heads, (batch, query, head, width).

        Returns
        -------
        Tensor
            The head outputs with replaced heads.
        """
        stack, layer, changes = self._current
        if changes:
            parts = [
                replacement.output(_part(output, examples), heads, layer)
                for examples, replacement, heads in _examples_of(changes, len(output))
            ]
            output = _joined(parts)
        view = LayerView(stack, layer, maps, output, module, self.values)
        self.values = None
        for tell in self.at_end:
            tell(view)
        return output


def _examples_of(
    changes: Sequence[Change], count: int
) -> Iterator[tuple[slice, FittedReplacement, list[int]]]:
    """The examples of each change, which are equally many."""
    size = count // len(changes)
    for place, (replacement, heads) in enumerate(changes):
        yield slice(place * size, (place + 1) * size), replacement, heads


def _part(values: Tensor, examples: slice) -> Tensor:
    """Some examples; all of them as they are, since gradients are asked of the very maps."""
    return values if examples == slice(0, len(values)) else values[examples]


def _joined(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


_watch: ContextVar[Watch | None] = ContextVar("headscope_watch", default=None)


def current_watch() -> Watch | None:
    """The watch of the present forward pass in this context, if there is one."""
    return _watch.get()


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Observe the forward passes that are made inside."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def eager_function(module: nn.Module) -> Any:
    """The eager attention function of the file that defines a module's class, or a base of it."""
    for kind in type(module).__mro__:
        function = getattr(sys.modules.get(kind.__module__), "eager_attention_forward", None)
        if function is not None:
            return function
    return None


def differentiable(values: Tensor) -> Tensor:
    """Values of which gradients can be asked, if gradients are on.

    Where all weights are frozen (adapters, quantised weights), nothing would ask for gradients, and
    maps would have none.
    """
    if values.requires_grad or not torch.is_grad_enabled():
        return values
    return values.detach().requires_grad_()


def observed_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    """The attention function that transformers calls under the name ``"headscope"``.

    The arguments are those of transformers' attention interface. Maps are returned only where they
    were computed in one block.
    """
    eager, watch = eager_function(module), _watch.get()
    if watch is None:
        output, weights = eager(module, query, key, value, attention_mask, **kwargs)
        return output, weights
    query = differentiable(query) if watch.whole_maps else query
    stack = watch.begin(module, value)
    watch.check_keys(module, query.shape[2], key.shape[2])
    call = Call(eager, module, query, key, value, attention_mask, kwargs)
    height = call.length
    if not (watch.whole_maps or module.training or query.requires_grad):
        height = block_height(query, key)
    causal = False
    if height < call.length:
        if can_be_cut(call):
            call, causal = call.ready(), watch.skips_keys(call)
        else:
            height = call.length
    cached = max(key.shape[2] - call.length, 0) if stack != "cross" else 0
    outputs = []
    for first in range(0, call.length, height):
        output, weights = call.rows(first, first + height, causal=causal)
        seen = visible_keys(call.mask_of(first, first + height)) if watch.replacing else None
        weights, again = watch.rows(module, weights, seen, cached + first)
        if again:
            output = output.clone()
        for examples, heads in again:
            output[examples, :, heads] = _outputs(weights[examples], value[examples], heads)
        outputs.append(output)
    maps = weights if len(outputs) == 1 else None
    output = outputs[0] if len(outputs) == 1 else torch.cat(outputs, 1)
    return watch.end(module, maps, output), maps


def _outputs(weights: Tensor, value: Tensor, heads: list[int]) -> Tensor:
    """The outputs of some heads, (batch, query, head, width), from their maps.

    With grouped-query attention, several query heads share one value head.
    """
    groups = weights.shape[1] // value.shape[1]
    values = value.repeat_interleave(groups, dim=1)[:, heads]
    return (weights[:, heads] @ values).transpose(1, 2)


def register() -> None:
    """Make the attention function known to transformers, together with its mask function.

    Without a mask function of the same name, padding and causality would silently vanish.
    """
    AttentionInterface.register(NAME, observed_attention)
    AttentionMaskInterface.register(NAME, eager_mask)
