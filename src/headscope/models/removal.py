"""Heads removed for good, in a network that plain transformers saves and loads.

Where an architecture can have fewer heads of the same size, weights are cut out: as many key-value
heads in every layer, each with the query heads that share it. Elsewhere what the heads write with,
their part of the output projection, is set to zero. Which of the two is possible is found out by
trying, so no architecture is known by name: a network with fewer heads is built without memory, its
weights are cut, and its outputs are compared with those of the model with the same heads masked.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.encode import token_batch
from headscope.errors import ModelError
from headscope.heads import Head
from headscope.models.attach import EAGER, quiet
from headscope.models.forward import probe_layers
from headscope.models.loading import wrap
from headscope.models.model import Model
from headscope.models.projections import CLOSE, ROUGH, find_parts, output_of, parent_of
from headscope.models.replace import Replacement
from headscope.models.shape import text_config

TOKENS = 8
"""How many tokens are run to compare a network without heads with the masked model."""


class Removal:
    """Removes heads of one stack of a model. The model itself stays as it is.

    Parameters
    ----------
    model
        The model.
    stack
        The stack whose heads are removed.

    Raises
    ------
    ModelError
        If the weights are not plain ones in memory, or if something between the heads and their
        output projection mixes them, such as a norm.

    Examples
    --------
    >>> import headscope as hs
    >>> removal = Removal(hs.load("demo"), "encoder")
    >>> removal.shares, len(removal.units(cut=False))  # in BERT, fewer heads would be wider ones
    ({}, 72)
    """

    def __init__(self, model: Model, stack: str) -> None:
        self.model, self.stack, self.shape = model, stack, model.shape(stack)
        stored = model.adapter or model.quantization
        if stored or any(weight.is_meta for weight in model.network.parameters()):
            raise ModelError(
                f"the weights of {model.name} are quantised, with an adapter or not in memory, so "
                "heads cannot be removed from them",
                hint="load the model without quantization=, adapter= and device_map=",
            )
        self.names = {module: name for name, module in model.network.named_modules()}
        self.modules = _attention_modules(model, stack)
        first = [head for unit in self.units(cut=False)[:: self.shape.heads] for head in unit]
        if not self.agrees(self.without(first, cut=False), first):
            raise ModelError(
                f"the heads of {model.name} pass through something that mixes them before their "
                "output projection (such as a norm), so no head can be removed from it alone",
                hint="choose another model",
            )

    @cached_property
    def shares(self) -> dict[float, int]:
        """The shares of heads that can be cut out, and how many KV heads of each layer that takes.

        Empty where weights can only be set to zero.
        """
        shares: dict[float, int] = {}
        alone = len(self.model.shapes) == 1 and len(set(self.modules.values())) == self.shape.layers
        if not alone or not self.shape.even or len(set(self.shape.kv_heads)) != 1:
            return shares
        for count in range(1, self.groups):
            # Other groups in every layer: where layers share what belongs to heads, that fails.
            heads = [
                Head(layer, head % self.shape.heads)
                for place, layer in enumerate(self.modules)
                for head in range(place * self.per_group, (place + count) * self.per_group)
            ]
            try:
                network = self.without(heads, cut=True)
                if not shares and not self.agrees(network, heads):
                    return shares
            except Exception:  # each architecture has its own way to say no
                continue
            shares[count / self.groups] = count
        return shares

    @property
    def groups(self) -> int:
        """The number of key-value heads in a layer."""
        return self.shape.kv_heads[0]

    @property
    def per_group(self) -> int:
        """How many query heads share one of them."""
        return self.shape.heads // self.groups

    def units(self, *, cut: bool) -> list[tuple[Head, ...]]:
        """What can only be removed together, in the order of the model.

        Parameters
        ----------
        cut
            Whether weights are cut out, and so whole groups are; otherwise it is a head, in all
            layers that one module stands for (ALBERT).
        """
        layers: dict[nn.Module, list[int]] = {}
        for layer, module in self.modules.items():
            layers.setdefault(module, []).append(layer)
        size = self.per_group if cut else 1
        return [
            tuple(Head(layer, head) for layer in own for head in range(first, first + size))
            for own in layers.values()
            for first in range(0, self.shape.heads, size)
        ]

    def without(self, heads: Sequence[Head], *, cut: bool) -> Any:
        """A network without some heads. It shares the weights that do not change.

        Parameters
        ----------
        heads
            Whole units.
        cut
            Whether their weights are cut out; otherwise they are zero.
        """
        network = self.model.network
        config, state = copy.deepcopy(network.config), dict(network.state_dict())
        gone = {
            layer: [head.head for head in heads if head.layer == layer] for layer in self.modules
        }
        if cut:
            self._shrink(config, self.groups - len(gone[self.shape.numbers[0]]) // self.per_group)
        config._attn_implementation = EAGER  # not that of the observation
        with quiet(), torch.device("meta"):
            smaller = type(network)(config)
        if not cut:
            for layer, numbers in gone.items():
                self._set_to_zero(state, layer, numbers)
        wanted = {name: weight.shape for name, weight in smaller.state_dict().items()}
        changed = [name for name, shape in wanted.items() if state[name].shape != shape]
        if cut and not changed:
            raise ValueError("fewer heads do not make this network smaller")
        for name in changed:
            state[name] = self._cut(name, state[name], wanted[name], gone)
        smaller.load_state_dict(state, assign=True)
        for name, buffer in network.named_buffers():  # rotary frequencies are in no state
            holder, _, own = name.rpartition(".")
            if getattr(smaller.get_submodule(holder), own).is_meta:
                setattr(smaller.get_submodule(holder), own, buffer)
        smaller.tie_weights()
        smaller.generation_config = getattr(network, "generation_config", None)
        return smaller.eval()

    def agrees(self, network: Any, heads: Sequence[Head]) -> bool:
        """Whether a network without some heads gives what the model with the same heads masked."""
        return self.error(network, heads) <= CLOSE.get(self.model.network.dtype, ROUGH)

    def error(self, network: Any, heads: Sequence[Head]) -> float:
        """The largest difference between the two, relative to the largest output."""
        batch = token_batch([np.arange(TOKENS) * 7 % len(self.model.tokenizer)])
        off = Replacement(heads, way="zero", stack=self.stack)
        with torch.inference_mode(), wrap(network, self.model.tokenizer) as other:
            masked, outputs = self.model.forward(batch, replacement=off)[0], other.forward(batch)[0]
            return float((masked - outputs).abs().max() / masked.abs().max())

    def _set_to_zero(self, state: dict[str, Tensor], layer: int, heads: Sequence[int]) -> None:
        """Set what some heads write with to zero: columns of W_O, and no bias."""
        module, width = self.modules[layer], self.shape.widths[self.shape.place(layer)]
        output = output_of(self.model, module, self.names[module])
        name = f"{self.names[output]}.weight"
        dim = 0 if isinstance(output, Conv1D) else 1  # which stores its matrix the other way round
        plain = type(output) in (nn.Linear, Conv1D)
        if not plain or state[name].shape[dim] != self.shape.heads * width:
            raise ModelError(
                f"the output projection of {self.model.name} does not read the outputs of its "
                "heads side by side, so no head can be removed from it alone",
                hint="choose another model",
            )
        columns = [head * width + place for head in heads for place in range(width)]
        state[name] = state[name].index_fill(dim, torch.tensor(columns, dtype=torch.long), 0.0)

    def _shrink(self, config: Any, left: int) -> None:
        """Change a configuration to so many KV heads, of the same size."""
        network = self.model.network
        text = config if text_config(network) is network.config else config.get_text_config()
        if getattr(text, "head_dim", None) is None:
            text.head_dim = self.shape.width
        text.num_attention_heads = self.per_group * left
        if hasattr(text, "num_key_value_heads"):
            text.num_key_value_heads = left
        type(config).from_dict(config.to_dict())  # checks what it is given

    def _cut(
        self, name: str, weight: Tensor, wanted: torch.Size, gone: dict[int, list[int]]
    ) -> Tensor:
        """A weight of an attention module with only some groups left, along the one dimension that
        differs. Groups lie side by side, in each part of a fused projection.
        """
        owners = (at for at, own in self.modules.items() if name.startswith(f"{self.names[own]}."))
        layer = next(owners)
        kept = [at for at in range(self.groups) if at * self.per_group not in gone[layer]]
        [dim] = [at for at, size in enumerate(wanted) if weight.shape[at] != size]
        module, sizes = self.modules[layer], [weight.shape[dim]]
        parts = find_parts(module, parent_of(self.model, self.names[module]))
        fused = parts and parts.stored in ("thirds", "grouped") and self.names[parts.modules[0]]
        if fused and name.startswith(f"{fused}."):  # queries, keys, values
            own = self.groups * self.shape.width
            sizes = [sizes[0] - 2 * own, own, own]
        pieces = [part.chunk(self.groups, dim) for part in torch.split(weight, sizes, dim)]
        cut = torch.cat([piece[group] for piece in pieces for group in kept], dim)
        if cut.shape != wanted:
            raise ValueError(f"{name} does not consist of {self.groups} equal parts")
        return cut


def _attention_modules(model: Model, stack: str) -> dict[int, nn.Module]:
    """The attention module of each layer of a stack, by the layer's number from 0."""
    modules = {layer: module for module, layer, _ in probe_layers(model, stack)}
    return dict(sorted(modules.items()))


def save_network(network: Any, tokenizer: Any, folder: Path) -> None:
    """Save a network and a tokenizer as an ordinary folder of transformers, as safetensors.

    Weights that were stored in half precision and loaded in full are stored as they were: if all of
    them are numbers of half precision, nothing is lost.
    """
    weights = [part for part in network.state_dict().values() if part.is_floating_point()]
    for dtype in (torch.bfloat16, torch.float16):
        if all(torch.equal(weight.to(dtype).to(weight.dtype), weight) for weight in weights):
            network = network.to(dtype)
            break
    with quiet():
        network.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def reopened(network: Any, folder: Path) -> Any:
    """What transformers loads from a folder, in the class of a network and where it is."""
    with quiet():
        how = {"dtype": network.dtype, "attn_implementation": EAGER}
        return type(network).from_pretrained(folder, **how).to(network.device)
