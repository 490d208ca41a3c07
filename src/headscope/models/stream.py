"""The residual stream of a causal language model: what adds to it, and how it becomes logits.

Found by running a few tokens: a module counts as what a layer adds only if the sum is right. So no
architecture is known by name, and one that does something else is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headscope.encode import token_batch
from headscope.errors import ModelError
from headscope.models.model import Model
from headscope.models.norms import PLACE, Gain, measure_gain
from headscope.models.projections import matrix, output_projections

TINY = torch.finfo(torch.float32).tiny


@dataclass(frozen=True)
class FrozenNorm:
    """LayerNorm or RMSNorm as a linear map of its input, up to one divisor per token.

    The norm computes ``(x - mean) / σ * scale + shift``, without the mean for RMSNorm. With σ as it
    was in the pass, every part of ``x`` has its share in the result.

    Parameters
    ----------
    module
        The norm.
    gain
        Its scale, and whether it subtracts the mean.
    shift
        What it adds, (hidden,).
    """

    module: nn.Module
    gain: Gain
    shift: Tensor

    @classmethod
    def of(cls, module: nn.Module, size: int) -> FrozenNorm:
        """Measure what a norm does to vectors of some size."""
        known = next(module.parameters(), torch.zeros(()))
        zero = torch.zeros(1, size, dtype=known.dtype, device=known.device)
        with torch.inference_mode():
            shift = module(zero)[0].float().clone()
        return cls(module, measure_gain(module, size), shift)

    def inverse(self, read: Tensor, returned: Tensor) -> Tensor:
        """``1 / σ`` of every token, from what the norm read and what it made of it, (…,)."""
        scaled = self.centred(read.float()) * self.gain.scale.to(read.device)
        rest = returned.float() - self.shift.to(returned.device)
        return (rest * scaled).sum(-1) / scaled.square().sum(-1).clamp_min(TINY)

    def apply(self, part: Tensor, inverse: Tensor) -> Tensor:
        """What the norm makes of a part of its input, without its shift, (…, hidden)."""
        return self.centred(part) * self.gain.scale.to(part.device) * inverse[..., None]

    def direction(self, directions: Tensor) -> Tensor:
        """Directions before the norm that stand for directions after it, up to ``1 / σ``.

        ``<apply(part, inverse), u>`` is ``<part, direction(u)> * inverse``.
        """
        return self.centred(directions * self.gain.scale.to(directions.device))

    def centred(self, vectors: Tensor) -> Tensor:
        """Vectors without their mean, if the norm subtracts it."""
        return vectors - vectors.mean(-1, keepdim=True) if self.gain.centred else vectors


TOKENS = 6
"""How many tokens are run to find out."""
ROUGH = {torch.float32: 1e-4, torch.float64: 1e-4}
"""How far sums may be off, relative to the largest number, by type; else 0.03 (half precision)."""
KNOWN = "GPT-2, Llama, Mistral, Qwen, Gemma, OLMo, GPT-NeoX (Pythia), OPT or Phi"
ADVICE = {"hint": f"choose a causal language model such as {KNOWN}"}


@dataclass(frozen=True)
class StreamLayer:
    """What one layer adds to the residual stream.

    Parameters
    ----------
    block
        The layer.
    attention, output
        Its attention module, and the projection of the heads' outputs; None in layers without
        attention.
    after
        The norm between that projection and the stream, if there is one.
    mlp
        The module whose output is added after attention; None in layers without attention, which
        are taken as a whole.
    """

    block: nn.Module
    attention: nn.Module | None = None
    output: nn.Module | None = None
    after: FrozenNorm | None = None
    mlp: nn.Module | None = None


@dataclass(frozen=True, eq=False)
class Stream:
    """The layers that write to a residual stream, and what makes logits of it.

    Parameters
    ----------
    layers
        All layers in order.
    norm
        The last norm.
    unembedding
        The module that makes logits; None for a model without its language-model head.
    """

    layers: tuple[StreamLayer, ...]
    norm: FrozenNorm
    unembedding: Any

    @cached_property
    def weight(self) -> Tensor:
        """The rows that score tokens, (token, hidden), as the model has them."""
        own: Any = self.unembedding
        if type(own) is nn.Linear:
            weight: Tensor = own.weight.detach()
            return weight
        return matrix(own).T

    @cached_property
    def mean(self) -> Tensor:
        """The mean of these rows, (hidden,), in float32."""
        return self.weight.mean(0, dtype=torch.float32)

    @cached_property
    def bias(self) -> Tensor | None:
        """What is added to the logits without their mean, (token,)."""
        bias: Any = getattr(self.unembedding, "bias", None)
        return None if bias is None else bias.detach().float() - bias.detach().float().mean()

    def directions(self, targets: Tensor) -> Tensor:
        """By what a normalised vector scores some tokens, against all tokens, (…, hidden).

        Parameters
        ----------
        targets
            Token ids, (…,).
        """
        return self.weight[targets.to(self.weight.device)].float() - self.mean

    @cached_property
    def by_attention(self) -> dict[nn.Module, StreamLayer]:
        """Layers by their attention modules."""
        return {layer.attention: layer for layer in self.layers if layer.attention is not None}


def find_stream(model: Model, stack: str, *, headless: bool = False) -> Stream:
    """Find what writes to a model's residual stream.

    Parameters
    ----------
    model
        A causal language model with its head.
    stack
        Its stack.
    headless
        Take any model, even without its language-model head.

    Raises
    ------
    ModelError
        If the model is no causal language model, has no unembedding, or if the residual stream is
        not the sum of what attention and MLPs add to it, with one norm before the unembedding.
    """
    if not headless:
        _check_kind(model, stack)
    outputs = output_projections(model, stack)
    calls = _run(model, stack)
    blocks = _blocks(model.network, outputs)
    layers = []
    for number, block in enumerate(blocks, 1):
        layer = _layer(block, outputs, calls)
        if layer is None:
            raise ModelError(
                f"the residual stream of {model.name} is not the sum of what attention and MLPs "
                f"add to it: layer {number} normalises the stream itself (post-norm) or scales "
                "what it adds, so a head has no part of the logit",
                **ADVICE,
            )
        layers.append(layer)
    _check_chain(model, blocks, calls)
    unembedding = model.network.get_output_embeddings()
    return Stream(tuple(layers), _last_norm(model, blocks, unembedding, calls), unembedding)


def first_mlp(model: Model, layer: StreamLayer, embeddings: Tensor) -> Tensor:
    """What the MLP of the first layer writes for embeddings alone, (token, hidden), in float32.

    Each is put in the place of a token's embedding (with its position, in some models), and what
    attention adds in this layer is set to 0.

    Parameters
    ----------
    model
        The model.
    layer
        Its first layer, with the MLP.
    embeddings
        Any vectors, (token, hidden).
    """
    assert layer.output is not None
    assert layer.mlp is not None

    def enter(_: nn.Module, args: Any, kwargs: Any) -> Any:
        hidden = args[0] if args else kwargs["hidden_states"]
        changed = embeddings[:, None].to(hidden)
        return ((changed, *args[1:]), kwargs) if args else ((), kwargs | {"hidden_states": changed})

    with (
        layer.block.register_forward_pre_hook(enter, with_kwargs=True),
        layer.output.register_forward_hook(lambda module, args, output: torch.zeros_like(output)),
        recording([layer.mlp]) as calls,
        torch.inference_mode(),
    ):
        model.forward(token_batch(np.zeros((len(embeddings), 1))))
    return calls[layer.mlp].wrote.float().reshape(embeddings.shape)


def _check_kind(model: Model, stack: str) -> None:
    if model.encoder_decoder or not model.causal(stack):
        raise ModelError(
            f"direct logit attribution is about the next token, and {model.name} is not a "
            "decoder-only language model",
            **ADVICE,
        )
    if "lm" not in model.capabilities or model.network.get_output_embeddings() is None:
        raise ModelError(
            f"{model.name} has no language-model head, which direct logit attribution needs",
            hint="load the model with its language-model head: hs.load(name, head='lm')",
            command="choose a checkpoint that has its language-model head",
        )


@dataclass
class Call:
    """One call of a module: what it read, and what it returned."""

    read: Tensor
    wrote: Tensor


@contextmanager
def recording(modules: Iterable[nn.Module]) -> Iterator[dict[nn.Module, Call]]:
    """Keep what modules read and return, the last call of each."""
    calls: dict[nn.Module, Call] = {}

    def keep(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        read = args[0] if args else kwargs.get("hidden_states")
        returned = output[0] if isinstance(output, tuple | list) else output
        if isinstance(read, Tensor) and isinstance(returned, Tensor):
            calls[module] = Call(read, returned)

    with ExitStack() as hooks:
        for module in modules:
            hooks.enter_context(module.register_forward_hook(keep, with_kwargs=True))
        yield calls


def _run(model: Model, stack: str) -> dict[nn.Module, Call]:
    """What every module reads and returns on a few different tokens."""
    size = int(model.network.get_input_embeddings().weight.shape[0])
    modules: list[nn.Module] = list(model.network.modules())
    with recording(modules) as calls, torch.inference_mode():
        model.forward(token_batch([np.arange(TOKENS) % size]), stack=stack)
    return calls


def _blocks(network: nn.Module, attention: dict[nn.Module, nn.Module]) -> list[nn.Module]:
    """All layers of the stack that the attention modules are in."""
    names = {module: name for name, module in network.named_modules()}
    match = PLACE.match(names[next(iter(attention))])
    assert match is not None
    return list(network.get_submodule(match[0].rstrip(".").rpartition(".")[0]).children())


def _close(first: Tensor, second: Tensor) -> bool:
    if first.shape != second.shape:
        return False
    far = ROUGH.get(second.dtype, 0.03) * float(second.abs().max())
    return torch.allclose(first.float(), second.float(), atol=far, rtol=0)


def _layer(
    block: nn.Module, outputs: dict[nn.Module, nn.Module], calls: dict[nn.Module, Call]
) -> StreamLayer | None:
    """What a layer adds; None if its output is not a sum of attention and another module."""
    inside = list(block.modules())
    attention = next((module for module in inside if module in outputs), None)
    if attention is None:
        return StreamLayer(block)
    whole, output = calls[block], outputs[attention]
    added = calls[output].wrote.reshape(whole.wrote.shape)
    norms = [
        module
        for module in inside
        if module in calls and module is not output and _reads(calls[module], added)
    ]
    for after in (None, *norms):
        by_heads = added if after is None else calls[after].wrote
        rest = whole.wrote.float() - whole.read.float() - by_heads.float()
        for module in inside[1:]:
            call = calls.get(module)
            if call is None or call.wrote.numel() != rest.numel() or module in (output, after):
                continue
            total = whole.read.float() + by_heads.float() + call.wrote.float().reshape(rest.shape)
            if _close(total, whole.wrote):
                frozen = None if after is None else FrozenNorm.of(after, rest.shape[-1])
                if frozen is None or _is_norm(frozen, calls[frozen.module]):
                    return StreamLayer(block, attention, output, frozen, module)
    return None


def _reads(call: Call, added: Tensor) -> bool:
    """Whether a norm reads what attention adds."""
    return call.wrote.shape == added.shape and _close(call.read, added)


def _is_norm(norm: FrozenNorm, call: Call) -> bool:
    """Whether a module divides each vector by one number, scales and shifts it, and no more."""
    normed = norm.apply(call.read.float(), norm.inverse(call.read, call.wrote))
    return _close(normed + norm.shift, call.wrote)


def _check_chain(model: Model, blocks: list[nn.Module], calls: dict[nn.Module, Call]) -> None:
    """Check that every layer reads what the one before returned."""
    for before, after in pairwise(blocks):
        if not _close(calls[after].read, calls[before].wrote):
            raise ModelError(
                f"the layers of {model.name} do not read one residual stream, so a head has no "
                "part of the logit",
                **ADVICE,
            )


def _last_norm(
    model: Model,
    blocks: list[nn.Module],
    unembedding: nn.Module | None,
    calls: dict[nn.Module, Call],
) -> FrozenNorm:
    """The norm between the last layer and the unembedding, if there is one."""
    stream, within = calls[blocks[-1]].wrote, {one for block in blocks for one in block.modules()}
    for module, call in calls.items():
        if call.wrote.shape != stream.shape or not _close(call.read, stream):
            continue
        if list(module.children()) or module in within:
            continue
        if unembedding is not None and not _close(call.wrote, calls[unembedding].read):
            continue
        norm = FrozenNorm.of(module, stream.shape[-1])
        if _is_norm(norm, call):
            return norm
    raise ModelError(
        f"{model.name} has more or less than one norm between its last layer and its unembedding, "
        "so a head has no part of the logit",
        **ADVICE,
    )
