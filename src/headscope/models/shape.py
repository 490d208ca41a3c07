"""The shape of a stack of layers, and what a network's modules say about its architecture.

Nothing here imports torch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from headscope.errors import ModelError
from headscope.heads import Head, HeadsLike, all_heads, parse_heads

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, repr=False)
class Shape:
    """The shape of one stack of a model.

    Parameters
    ----------
    layers
        Number of layers with attention.
    heads
        Number of query heads in each layer.
    width
        Length of one head's output vector; the largest one where layers differ.
    numbers
        The model's own numbers of the layers with attention, from 0. They have gaps in hybrid
        models, where other layers have no attention.
    widths
        Length of one head's output vector in each of these layers.
    sink
        Whether rows of attention sum to less than 1, because the rest goes to a learned sink
        (GPT-OSS).
    kv_heads
        Number of heads with keys and values of their own in each of these layers. Where queries
        are grouped, there are fewer than query heads, and neighbouring ones share them.

    Examples
    --------
    >>> Shape(layers=12, heads=12, width=64)
    Shape(layers=12, heads=12, width=64)
    >>> hybrid = Shape(layers=2, heads=1, width=64, numbers=(3, 7))
    >>> hybrid, hybrid.labels, [str(head) for head in hybrid.every_head]
    (Shape(layers=2, heads=1, width=64, numbers=(3, 7)), (4, 8), ['4-1', '8-1'])
    >>> Shape(layers=2, heads=4, width=8, kv_heads=(2, 2))
    Shape(layers=2, heads=4, width=8, kv_heads=(2, 2))
    """

    layers: int
    heads: int
    width: int
    numbers: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()
    sink: bool = False
    kv_heads: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", self.numbers or tuple(range(self.layers)))
        object.__setattr__(self, "widths", self.widths or (self.width,) * self.layers)
        object.__setattr__(self, "kv_heads", self.kv_heads or (self.heads,) * self.layers)

    def __repr__(self) -> str:
        parts = [f"layers={self.layers}, heads={self.heads}, width={self.width}"]
        if not self.counted:
            parts.append(f"numbers={self.numbers}")
        if not self.even:
            parts.append(f"widths={self.widths}")
        if self.sink:
            parts.append("sink=True")
        if self.grouped:
            parts.append(f"kv_heads={self.kv_heads}")
        return f"Shape({', '.join(parts)})"

    @property
    def counted(self) -> bool:
        """Whether all layers have attention, so that their numbers have no gaps."""
        return self.numbers == tuple(range(self.layers))

    @property
    def even(self) -> bool:
        """Whether the heads of all layers are equally wide."""
        return len(set(self.widths)) <= 1

    @property
    def grouped(self) -> bool:
        """Whether query heads share keys and values in some layer."""
        return any(count != self.heads for count in self.kv_heads)

    @property
    def labels(self) -> tuple[int, ...]:
        """The numbers of the layers from 1, as people count them."""
        return tuple(number + 1 for number in self.numbers)

    @property
    def every_head(self) -> tuple[Head, ...]:
        """All heads, layer by layer."""
        return all_heads(self.numbers, self.heads)

    @property
    def kv_groups(self) -> tuple[tuple[Head, ...], ...]:
        """The query heads of each KV head, layer by layer: neighbours share keys and values.

        >>> [len(group) for group in Shape(layers=1, heads=4, width=8, kv_heads=(2,)).kv_groups]
        [2, 2]
        """
        return tuple(
            tuple(Head(layer, head) for head in range(first, first + self.heads // count))
            for layer, count in zip(self.numbers, self.kv_heads, strict=True)
            for first in range(0, self.heads, self.heads // count)
        )

    def parse(self, heads: HeadsLike) -> tuple[Head, ...]:
        """Read the names of heads; see :func:`headscope.heads.parse_heads`."""
        return parse_heads(heads, layers=self.numbers, heads=self.heads)

    def place(self, layer: int) -> int:
        """Where a layer stands among those with attention, from 0; ``layer`` is its own number."""
        return self.numbers.index(layer)

    def width_of(self, head: Head) -> int:
        """The length of one head's output vector."""
        return self.widths[self.place(head.layer)]


CROSS = re.compile(r"cross|encoder_attn|encdec", re.IGNORECASE)
DECODER = re.compile(r"(^|\.)decoder(\.|$)")
INDEX = re.compile(r"(?:^|\.)(\d+)\.")
SUPPORTED = (
    "BERT, RoBERTa, XLM-R, ELECTRA, ALBERT, DistilBERT, ModernBERT, MPNet, GPT, GPT-2, OPT, "
    "GPT-NeoX, Llama, Qwen, Gemma, GPT-OSS, DeepSeek, OLMo, Phi, Mistral, T5, BART and others that "
    "use transformers' attention interface"
)
SINK_NOTE = (
    "the rows of this model's attention sum to less than 1: the rest goes to a learned sink, which "
    "is not a token"
)
PADDING_NOTE = (
    "this model mixes neighbouring tokens before attention, so that padding would change its "
    "numbers: texts are run in batches of equal length, which takes longer"
)
# Their position tables begin after the padding index.
OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl", "xmod"}
RELATIVE_POSITIONS = {"t5", "mt5", "umt5"}


def stack_names(network: nn.Module) -> dict[nn.Module, str]:
    """The stack that each module of a network belongs to: ``encoder``, ``decoder`` or ``cross``.

    The result is keyed by module, not by id, so that a copied model finds its own modules.

    Parameters
    ----------
    network
        A transformers model.

    Returns
    -------
    dict of nn.Module to str
    """
    config: Any = network.config
    both = bool(getattr(config, "is_encoder_decoder", False))
    alone = "decoder" if is_causal(network) else "encoder"
    names: dict[nn.Module, str] = {}
    for name, module in network.named_modules():
        if CROSS.search(".".join(name.split(".")[-2:])):
            names[module] = "cross"
        elif both:
            names[module] = "decoder" if DECODER.search(name) else "encoder"
        else:
            names[module] = alone
    return names


def layer_numbers(network: nn.Module, modules: Sequence[nn.Module]) -> tuple[int, ...]:
    """The model's own numbers, from 0, of the layers to which attention modules belong.

    In hybrid models (Qwen3.5, Jamba, LFM2) only some layers have attention. The number by which
    people know a layer is its place among all of them: the index that the module keeps, or else
    that in its name (``layers.7.self_attn``). Where one module stands for several layers (ALBERT),
    layers are counted in the order of computation.

    Parameters
    ----------
    network
        A transformers model.
    modules
        The attention modules of one stack, in the order of computation.

    Returns
    -------
    tuple of int
        A number for each module, increasing.
    """
    names = {module: name for name, module in network.named_modules()}
    kept = [getattr(module, "layer_idx", None) for module in modules]
    matches = [INDEX.search(names.get(module, "")) for module in modules]
    named = [int(match[1]) if match else None for match in matches]
    for numbers in (kept, named):
        known = tuple(number for number in numbers if isinstance(number, int))
        if len(known) == len(modules) and all(a < b for a, b in pairwise(known)):
            return known
    return tuple(range(len(modules)))


def queries_per_key(module: nn.Module) -> int:
    """How many query heads of an attention module share the keys and values of one head.

    It is the number by which transformers repeats keys and values, 1 where they are not shared.
    """
    groups = getattr(module, "num_key_value_groups", 1)
    return groups if isinstance(groups, int) and groups > 0 else 1


def text_config(network: nn.Module) -> Any:
    """The configuration of what reads text: a part of that of models which see or hear, too."""
    config: Any = network.config
    try:
        return config.get_text_config()
    except (AttributeError, ValueError):  # several texts, as in RAG
        return config


def is_causal(network: nn.Module) -> bool:
    """Whether a model with one stack is a decoder.

    It is one if its configuration says so, if its family has only decoders, or if all its attention
    modules are causal. Of a model that sees or hears, too (Gemma 4, Qwen3.5), only what reads text
    counts.
    """
    config = text_config(network)
    part: Any = network
    if config is not network.config and hasattr(network, "get_decoder"):
        part = part.get_decoder() or network
    if getattr(config, "is_decoder", False) or config.model_type == "openai-gpt":
        return True
    flags = [
        module.is_causal
        for module in part.modules()
        if isinstance(getattr(module, "is_causal", None), bool)
        and "ttention" in type(module).__name__
    ]
    return bool(flags) and all(flags)


def position_limit(network: nn.Module) -> int | None:
    """The number of tokens for which a network has positions, or None if there is no limit."""
    config = text_config(network)
    limit = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if limit is None or config.model_type in RELATIVE_POSITIONS:
        return None
    if config.model_type in OFFSET_POSITIONS:
        limit -= (config.pad_token_id or 0) + 1
    return int(limit)


def unobservable(name: str, network: nn.Module) -> ModelError:
    """The error for a model whose attention cannot be observed."""
    kind = type(network).__name__
    if any("attention" in type(module).__name__.lower() for module in network.modules()):
        why = "computes attention in its own code, for which there is no adapter"
    else:
        why = "has no attention layers"
    return ModelError(
        f"{name} ({kind}) {why}; supported are {SUPPORTED}",
        hint="choose another model, or open an issue to ask for an adapter",
    )
