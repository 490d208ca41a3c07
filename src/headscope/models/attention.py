"""The one attention function: every architecture's own eager attention, watched and changed as it runs.

transformers lets any name be registered as an attention implementation. Ours calls the architecture's eager function (so
nothing is re-implemented, and results are equal to eager bit for bit), then tells whoever watches.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from headscope.models.replacement import Replacement, visible_keys
from headscope.models.view import LayerView, Listener

NAME = "headscope"


class Watch:
    """One forward pass under observation: numbers the layers of each stack as they are computed, replaces, and tells listeners."""

    def __init__(
        self,
        stacks: Mapping[nn.Module, str],
        listeners: Sequence[Listener],
        replacement: Replacement | None,
        mask: Tensor | None,
        first: Mapping[str, int] | None = None,
    ) -> None:
        self.stacks = stacks
        self.listeners = listeners
        self.replacement = replacement
        self.mask = mask  # (batch, token), true on real tokens: for architectures whose own mask we cannot see
        self.maps: Tensor | None = (
            None  # of the layer under way, where one hook sees the maps and another the outputs
        )
        self.counts = dict(
            first or {}
        )  # how many layers of each stack lie behind; a pass that begins further up begins with those that it leaves out
        self._current: tuple[str, int, list[int]] = ("", 0, [])

    def weigh(
        self, module: nn.Module, weights: Tensor, visible: Tensor | None
    ) -> tuple[Tensor, list[int]]:
        """Enter the next layer: its maps, changed where asked, and the heads whose output must be computed again."""
        stack = self.stacks.get(module, "encoder")
        layer = self.counts.get(stack, 0)
        self.counts[stack] = layer + 1
        heads = self.replacement.at(stack, layer) if self.replacement else []
        self._current = (stack, layer, heads)
        if self.replacement is None or not heads:
            return weights, []
        return self.replacement.weights(
            weights, heads, visible
        ), heads if self.replacement.way == "uniform" else []

    def emit(self, module: nn.Module, weights: Tensor, output: Tensor) -> Tensor:
        """Leave the layer: its head outputs, changed where asked, after the listeners have seen them."""
        stack, layer, heads = self._current
        if self.replacement is not None and heads:
            output = self.replacement.output(output, heads, layer)
        view = LayerView(stack, layer, weights, output, module)
        for listener in self.listeners:
            listener(view)
        return output


_watch: ContextVar[Watch | None] = ContextVar("headscope_watch", default=None)


def current_watch() -> Watch | None:
    """The watch of the forward pass under way in this context, if any."""
    return _watch.get()


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Observe the forward passes made inside."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def eager_function(module: nn.Module) -> Any:
    """The eager attention of the file in which a module's class, or one of its bases, is defined."""
    for kind in type(module).__mro__:
        function = getattr(sys.modules.get(kind.__module__), "eager_attention_forward", None)
        if function is not None:
            return function
    return None


def observed_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **kwargs: Any,
) -> tuple[Tensor, Tensor]:
    """Registered with transformers under the name "headscope"."""
    output, weights = eager_function(module)(module, query, key, value, attention_mask, **kwargs)
    watch = _watch.get()
    if watch is None:
        return output, weights
    weights, again = watch.weigh(module, weights, visible_keys(attention_mask))
    if again:
        groups = (
            weights.shape[1] // value.shape[1]
        )  # grouped-query attention: several query heads share one value head
        values = value.repeat_interleave(groups, dim=1)[:, again]
        output = output.clone()
        output[:, :, again] = (weights[:, again] @ values).transpose(1, 2)
    return watch.emit(module, weights, output), weights


def register() -> None:
    """Make the name known to transformers, with its mask function: without one, padding and causality silently vanish."""
    AttentionInterface.register(NAME, observed_attention)
    AttentionMaskInterface.register(NAME, eager_mask)
