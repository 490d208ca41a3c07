"""Where each architecture keeps the query, key, value and output projections of its heads."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.errors import ModelError

SUPPORTED = (
    "BERT, RoBERTa, XLM-R, ELECTRA, ALBERT, DistilBERT, ModernBERT, EuroBERT, MPNet, GPT, GPT-2, "
    "GPT-J, GPT-NeoX (Pythia), BLOOM, OPT, Llama, Mistral, Qwen, Gemma 1 to 3, GPT-OSS, OLMo, Phi, "
    "Jamba, LFM2, T5, BART and others with separate query, key and value projections"
)
SEPARATE = (
    ("q_proj", "k_proj", "v_proj"),
    ("query", "key", "value"),
    ("q_lin", "k_lin", "v_lin"),
    ("q", "k", "v"),
)
OUTPUTS = ("o_proj", "out_proj", "dense", "out_lin", "o", "Wo", "c_proj")


class Projections(NamedTuple):
    """The projections of one layer, for row vectors: ``x @ query[head]``.

    ``query`` is (head, hidden, width), ``key`` and ``value`` are (key-value head, hidden, width),
    ``output`` is (head, width, hidden). With grouped queries there are fewer key-value heads.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor


class Parts(NamedTuple):
    """The modules that project, and how the first three are stored."""

    stored: str
    modules: tuple[nn.Module, ...]
    output: nn.Module


def find_parts(module: nn.Module, parent: nn.Module | None) -> Parts | None:
    """The projections of an attention module; None if it stores them in an unknown way.

    Parameters
    ----------
    module
        The attention module.
    parent
        The module that holds it. BERT keeps the output projection there.
    """
    output = find_output(module, parent)
    if output is None:
        return None
    for names in SEPARATE:
        if all(isinstance(getattr(module, name, None), nn.Module) for name in names):
            return Parts("separate", tuple(getattr(module, name) for name in names), output)
    for name, stored in (("c_attn", "thirds"), ("Wqkv", "thirds"), ("qkv_proj", "grouped")):
        if isinstance(getattr(module, name, None), nn.Module):
            return Parts(stored, (getattr(module, name),), output)
    family = type(module).__module__.split(".")[-2]
    if family in ("gpt_neox", "bloom") and hasattr(module, "query_key_value"):
        return Parts("interleaved", (module.get_submodule("query_key_value"),), output)
    return None


def find_output(module: nn.Module, parent: nn.Module | None) -> nn.Module | None:
    """The output projection of an attention module; None if it has an unknown name."""
    found = next((getattr(module, name) for name in OUTPUTS if hasattr(module, name)), None)
    if found is None:
        found = getattr(getattr(parent, "output", None), "dense", None)
    return found if isinstance(found, nn.Module) else None


def projections(parts: Parts, module: nn.Module, heads: int) -> Projections:
    """The projections of one layer in float32, one matrix per head.

    Parameters
    ----------
    parts
        See :func:`find_parts`.
    module
        The attention module.
    heads
        The number of query heads.
    """
    output = matrix(parts.output)
    joined = [matrix(part) for part in parts.modules]
    if parts.stored == "interleaved":  # query, key and value of one head side by side
        query, key, value = split_up(joined[0], 1, (heads, 3, -1)).unbind(2)
        return _per_head(query.flatten(1), key.flatten(1), value.flatten(1), output, heads)
    if parts.stored == "thirds":  # all queries, all keys, all values
        query, key, value = joined[0].chunk(3, 1)
    elif parts.stored == "grouped":
        own = output.shape[0]
        rest = (joined[0].shape[1] - own) // 2
        query, key, value = torch.split(joined[0], [own, rest, rest], 1)
    else:
        query, key, value = joined
    if is_gated(parts, module, heads):  # each head's query is followed by its gate
        query = split_up(query, 1, (heads, 2, -1))[:, :, 0].flatten(1)
    return _per_head(query, key, value, output, heads)


def is_gated(parts: Parts, module: nn.Module, heads: int) -> bool:
    """Whether the query projection also makes a gate of the output (Qwen3-Next, Qwen3.5)."""
    width: Any = getattr(module, "head_dim", None)
    if parts.stored != "separate" or not isinstance(width, int):
        return False
    return int(getattr(parts.modules[0], "out_features", 0)) == 2 * heads * width


def has_bias(parts: Parts) -> bool:
    """Whether a projection adds a bias that is not 0."""
    biases = [getattr(part, "bias", None) for part in (*parts.modules, parts.output)]
    return any(isinstance(bias, Tensor) and bool(bias.any()) for bias in biases)


def matrix(module: nn.Module) -> Tensor:
    """The matrix that a projection multiplies row vectors by, (in, out), in float32.

    Plain modules are read. Any other (quantised, or with an adapter) is given the unit vectors, so
    that what it computes counts, not how it stores its numbers.
    """
    if any(weight.is_meta for weight in module.parameters()):
        raise ModelError(
            "the weights of this model are not all in memory, so they cannot be read",
            hint="leave device_map= out",
        )
    kind, given = type(module), _untyped(module)
    if kind in (nn.Linear, Conv1D):
        weight: Tensor = given.weight.detach().float()
        return weight.T if kind is nn.Linear else weight
    size = matrix_size(module)
    known = next((one for one in module.parameters() if one.is_floating_point()), None)
    like = torch.zeros(()) if known is None else known
    unit = torch.eye(size, dtype=like.dtype, device=like.device)
    with torch.inference_mode():
        made: Tensor = given(unit) - given(torch.zeros_like(unit[:1]))
    return made.float().clone()


def matrix_size(module: nn.Module) -> int:
    """How wide the vectors are that a projection reads."""
    given = _untyped(module)
    return int(getattr(given, "in_features", 0) or given.weight.shape[0])


def _untyped(module: nn.Module) -> Any:
    return module


def split_up(tensor: Tensor, dim: int, sizes: tuple[int, ...]) -> Tensor:
    """The same numbers with one dimension made into several; -1 stands for what is left."""
    shape = tensor.shape
    split: Tensor = tensor.reshape(*shape[:dim], *sizes, *shape[dim + 1 :])
    return split


def _per_head(query: Tensor, key: Tensor, value: Tensor, output: Tensor, heads: int) -> Projections:
    width = query.shape[1] // heads
    shared = key.shape[1] // width
    return Projections(
        split_up(query, 1, (heads, width)).transpose(0, 1),
        split_up(key, 1, (shared, width)).transpose(0, 1),
        split_up(value, 1, (shared, -1)).transpose(0, 1),
        split_up(output, 0, (heads, -1)),
    )
