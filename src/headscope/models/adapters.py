"""Architectures that compute attention privately, behind the same door.

OpenAI GPT and MPNet never call transformers' attention interface. But both pass their maps through a dropout module and
their concatenated head outputs through a projection module: a hook on each sees, and may change, what flows by.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from headscope.models.attention import current_watch


@dataclass(frozen=True, slots=True)
class Private:
    """Where a private attention module keeps what we need."""

    dropout: str
    projection: str
    heads: str
    causal: bool


PRIVATE: dict[str, Private] = {
    "transformers.models.openai.modeling_openai.Attention": Private(
        "attn_dropout", "c_proj", "n_head", causal=True
    ),
    "transformers.models.mpnet.modeling_mpnet.MPNetSelfAttention": Private(
        "dropout", "o", "num_attention_heads", causal=False
    ),
}


def private_modules(network: nn.Module) -> list[tuple[str, nn.Module, Private]]:
    """The attention modules of a network for which there is an adapter, by name."""
    found = []
    for name, module in network.named_modules():
        kind = type(module)
        private = PRIVATE.get(f"{kind.__module__}.{kind.__qualname__}")
        if private is not None:
            found.append((name, module, private))
    return found


def attach(network: nn.Module) -> bool:
    """Hook every private attention module, once; False if there is none."""
    modules = private_modules(network)
    for _, module, private in modules:
        dropout, projection = getattr(module, private.dropout), getattr(module, private.projection)
        if any(
            getattr(hook, "func", None) is _see_maps for hook in dropout._forward_hooks.values()
        ):
            continue
        # Partials rather than closures: a copied network gets hooks that know the copy's modules.
        dropout.register_forward_hook(partial(_see_maps, module, private))
        projection.register_forward_pre_hook(partial(_see_outputs, module, private))
    return bool(modules)


def _see_maps(
    module: nn.Module, private: Private, _dropout: nn.Module, _args: Any, weights: Tensor
) -> Tensor | None:
    watch = current_watch()
    if (
        watch is None or weights.dim() != 4
    ):  # MPNet passes only maps here, but a hook should not rely on it
        return None
    visible = None if watch.mask is None else watch.mask[:, None, None, :]
    if private.causal:
        past = torch.ones(weights.shape[-2:], dtype=torch.bool, device=weights.device).tril()
        visible = past[None, None] if visible is None else visible & past
    watch.maps = watch.weigh(module, weights, visible)[0]
    return watch.maps


def _see_outputs(
    module: nn.Module, private: Private, _projection: nn.Module, args: tuple[Tensor, ...]
) -> tuple[Tensor, ...] | None:
    watch = current_watch()
    if watch is None or watch.maps is None:
        return None
    maps, watch.maps = watch.maps, None
    split = args[0].view(*args[0].shape[:-1], getattr(module, private.heads), -1)
    return (watch.emit(module, maps, split).flatten(-2), *args[1:])
