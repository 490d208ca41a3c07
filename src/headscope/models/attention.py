"""The attention function that is observed: every architecture's own, with listeners.

transformers lets any name be registered as an attention implementation. The function registered
here calls the architecture's own eager attention, so nothing is re-implemented and results equal
eager attention bit for bit. It then changes heads where asked and shows the layer to the listeners.
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

from headscope.models.replacement import FittedReplacement, visible_keys
from headscope.models.view import LayerView, Listener

NAME = "headscope"
"""The name under which transformers knows the attention function."""


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
        The number of the first layer of each stack, where a pass skips those below it.
    """

    def __init__(
        self,
        stacks: Mapping[nn.Module, str],
        listeners: Sequence[Listener],
        replacement: FittedReplacement | None,
        mask: Tensor | None,
        first: Mapping[str, int] | None = None,
    ) -> None:
        self.stacks = stacks
        self.listeners = listeners
        self.replacement = replacement
        self.mask = mask
        # Of the present layer, where one hook sees the maps and another the outputs.
        self.maps: Tensor | None = None
        # Layers of each stack that have been computed or skipped.
        self.counts = dict(first or {})
        self._current: tuple[str, int, list[int]] = ("", 0, [])

    def weigh(
        self, module: nn.Module, weights: Tensor, visible: Tensor | None
    ) -> tuple[Tensor, list[int]]:
        """Enter the next layer.

        Parameters
        ----------
        module
            The layer's attention module.
        weights
            Its maps, (batch, head, query, key).
        visible
            Which keys each query may see; None for all.

        Returns
        -------
        weights : Tensor
            The maps with replaced heads.
        heads : list of int
            The heads whose output must be computed again from these maps.
        """
        stack = self.stacks.get(module, "encoder")
        layer = self.counts.get(stack, 0)
        self.counts[stack] = layer + 1
        heads = self.replacement.at(stack, layer) if self.replacement else []
        self._current = (stack, layer, heads)
        if self.replacement is None or not heads:
            return weights, []
        changed = self.replacement.weights(weights, heads, visible)
        return changed, heads if self.replacement.way == "uniform" else []

    def emit(self, module: nn.Module, weights: Tensor, output: Tensor) -> Tensor:
        """Leave the layer: show it to the listeners.

        Returns
        -------
        Tensor
            The head outputs with replaced heads, (batch, query, head, width).
        """
        stack, layer, heads = self._current
        if self.replacement is not None and heads:
            output = self.replacement.output(output, heads, layer)
        view = LayerView(stack, layer, weights, output, module)
        for listener in self.listeners:
            listener(view)
        return output


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


def observed_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **kwargs: Any,
) -> tuple[Tensor, Tensor]:
    """The attention function that transformers calls under the name ``"headscope"``.

    The arguments are those of transformers' attention interface.
    """
    output, weights = eager_function(module)(module, query, key, value, attention_mask, **kwargs)
    watch = _watch.get()
    if watch is None:
        return output, weights
    weights, again = watch.weigh(module, weights, visible_keys(attention_mask))
    if again:
        output = output.clone()
        output[:, :, again] = _outputs(weights, value, again)
    return watch.emit(module, weights, output), weights


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
