"""Adapters for architectures that compute attention in their own code.

OpenAI GPT and MPNet do not call transformers' attention interface, nor does GPT-2 where it computes
attention in float32 (``reorder_and_upcast_attn``). All pass their attention maps
through a dropout module and their concatenated head outputs through a projection module, so one
hook on each can observe and change them. Value vectors come out of a projection, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from headscope.models.attention import current_watch, differentiable
from headscope.models.rowblocks import block_height


@dataclass(frozen=True, slots=True)
class PrivateAttention:
    """Where an attention module that bypasses the interface keeps its parts.

    Parameters
    ----------
    dropout, projection
        Names of the submodules through which maps and concatenated head outputs pass.
    values, parts
        Name of the submodule that makes the value vectors: the last of so many equal parts of what
        it returns.
    heads
        Name of the attribute that holds the number of heads.
    causal
        Whether each token sees only itself and earlier tokens.
    only_if
        Name of an attribute that is true where the module computes attention in its own code; ""
        if it always does.
    """

    dropout: str
    projection: str
    values: str
    parts: int
    heads: str
    causal: bool
    only_if: str = ""


PRIVATE: dict[str, PrivateAttention] = {
    "transformers.models.openai.modeling_openai.Attention": PrivateAttention(
        "attn_dropout", "c_proj", "c_attn", 3, "n_head", causal=True
    ),
    "transformers.models.mpnet.modeling_mpnet.MPNetSelfAttention": PrivateAttention(
        "dropout", "o", "v", 1, "num_attention_heads", causal=False
    ),
    # In float32 whatever the weights are, as some GPT-2 (Stanford's CRFM) were trained.
    "transformers.models.gpt2.modeling_gpt2.GPT2Attention": PrivateAttention(
        *("attn_dropout", "c_proj", "c_attn", 3, "num_heads"),
        causal=True,
        only_if="reorder_and_upcast_attn",
    ),
}


def private_modules(network: nn.Module) -> list[tuple[nn.Module, PrivateAttention]]:
    """The attention modules of a network for which there is an adapter."""
    found = []
    for module in network.modules():
        kind = type(module)
        private = PRIVATE.get(f"{kind.__module__}.{kind.__qualname__}")
        if private and (not private.only_if or getattr(module, private.only_if)):
            found.append((module, private))
    return found


def attach(network: nn.Module) -> None:
    """Register hooks on every attention module that has an adapter and does not have them yet."""
    for module, private in private_modules(network):
        dropout, projection = getattr(module, private.dropout), getattr(module, private.projection)
        if any(_our_hooks(dropout._forward_hooks)):
            continue
        # Partials, not closures: the hooks of a copied network then refer to the copy's modules.
        dropout.register_forward_hook(partial(_observe_maps, module, private))
        projection.register_forward_pre_hook(partial(_observe_outputs, module, private))
        values = getattr(module, private.values)
        values.register_forward_hook(partial(_observe_values, module, private))


def detach(network: nn.Module) -> None:
    """Remove the hooks that :func:`attach` registered."""
    for module, private in private_modules(network):
        for hooks in (
            getattr(module, private.dropout)._forward_hooks,
            getattr(module, private.projection)._forward_pre_hooks,
            getattr(module, private.values)._forward_hooks,
        ):
            for key in list(_our_hooks(hooks)):
                del hooks[key]


def _our_hooks(hooks: dict[int, Any]) -> Iterator[int]:
    for key, hook in hooks.items():
        if getattr(hook, "func", None) in {_observe_values, _observe_maps, _observe_outputs}:
            yield key


def _observe_values(
    module: nn.Module, private: PrivateAttention, _values: nn.Module, _args: Any, output: Tensor
) -> None:
    watch = current_watch()
    if watch is not None:
        mine = output.chunk(private.parts, dim=-1)[-1]
        split = mine.view(*mine.shape[:-1], getattr(module, private.heads), -1)
        watch.values = split.transpose(1, 2)


def _observe_maps(
    module: nn.Module, private: PrivateAttention, _dropout: nn.Module, _args: Any, weights: Tensor
) -> Tensor | None:
    watch = current_watch()
    if watch is None or weights.dim() != 4:  # anything but maps passes unchanged
        return None
    visible = None if watch.mask is None else watch.mask[:, None, None, :]
    if private.causal:
        past = torch.ones(weights.shape[-2:], dtype=torch.bool, device=weights.device).tril()
        visible = past[None, None] if visible is None else visible & past
    watch.begin(module, watch.values)
    if watch.whole_maps or watch.replacement is not None:
        weights = differentiable(weights) if watch.whole_maps else weights
        watch.maps = watch.rows(module, weights, visible, 0)[0]
        return watch.maps
    height = block_height(weights, weights.transpose(2, 3))
    for first in range(0, weights.shape[2], height):
        watch.rows(module, weights[:, :, first : first + height], None, first)
    watch.maps = weights
    return None


def _observe_outputs(
    module: nn.Module, private: PrivateAttention, _projection: nn.Module, args: tuple[Tensor, ...]
) -> tuple[Tensor, ...] | None:
    watch = current_watch()
    if watch is None or watch.maps is None:
        return None
    maps, watch.maps = watch.maps, None
    split = args[0].view(*args[0].shape[:-1], getattr(module, private.heads), -1)
    return (watch.end(module, maps, split).flatten(-2), *args[1:])
