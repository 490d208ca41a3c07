"""What a network's modules say about its architecture: stacks, causality, number of positions."""

from __future__ import annotations

import re
from typing import Any

from torch import nn

from headscope.errors import ModelError

CROSS = re.compile(r"cross|encoder_attn|encdec", re.IGNORECASE)
DECODER = re.compile(r"(^|\.)decoder(\.|$)")
SUPPORTED = (
    "BERT, RoBERTa, XLM-R, ELECTRA, ALBERT, DistilBERT, ModernBERT, MPNet, GPT, GPT-2, OPT, "
    "GPT-NeoX, Llama, Qwen, Gemma, T5, BART and others that use transformers' attention interface"
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


def is_causal(network: nn.Module) -> bool:
    """Whether a model with one stack is a decoder.

    It is one if its configuration says so, if its family has only decoders, or if all its attention
    modules are causal.
    """
    config: Any = network.config
    if getattr(config, "is_decoder", False) or config.model_type == "openai-gpt":
        return True
    flags = [
        module.is_causal
        for module in network.modules()
        if isinstance(getattr(module, "is_causal", None), bool)
        and "ttention" in type(module).__name__
    ]
    return bool(flags) and all(flags)


def position_limit(network: nn.Module) -> int | None:
    """The number of tokens for which a network has positions, or None if there is no limit."""
    config: Any = network.config
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
