"""Norms around attention: which one stands before it, and what it multiplies by."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from headscope.models.forward import probe_layers

if TYPE_CHECKING:
    from headscope.models.model import Model


LARGE = 1e4
"""The size of a probe vector: a norm's epsilon does not matter beside it."""
PLACE = re.compile(r"^(.*\.)?\d+\.")


@dataclass
class Surroundings:
    """The attention modules of a stack in order, and the norms around them.

    Parameters
    ----------
    modules
        One per layer; ALBERT's are all the same one.
    before
        The norm within the layer whose output a module reads. Modules without one are absent.
    on_stream
        Whether some layer after the first reads the output of a norm outside the layer: the
        residual stream itself is normalised (post-norm).
    after
        Whether the output of attention passes through a norm before it is added to the stream.
    """

    modules: list[nn.Module] = field(default_factory=list)
    before: dict[nn.Module, nn.Module] = field(default_factory=dict)
    on_stream: bool = False
    after: bool = False


class Gain(NamedTuple):
    """What a norm does besides dividing by the length of a vector.

    ``scale`` (hidden,) multiplies, ``centred`` says whether the mean is subtracted first, and
    ``biased`` whether something is added.
    """

    scale: Tensor
    centred: bool
    biased: bool

    def fold(self, matrices: Tensor) -> Tensor:
        """Put the norm into the matrices that read its output, (head, hidden, width)."""
        scaled = matrices * self.scale[:, None].to(matrices.device)
        return scaled - scaled.mean(1, keepdim=True) if self.centred else scaled


def measure_gain(norm: nn.Module, size: int) -> Gain:
    """Measure what a norm multiplies by, from its outputs on two vectors.

    Measured instead of read, since architectures differ: in some the factor is the weight, in
    others (Gemma, Qwen3-Next) 1 + weight, in others (OLMo) there is none.

    Examples
    --------
    >>> norm = nn.LayerNorm(4)
    >>> _ = nn.init.constant_(norm.weight, 2.0)
    >>> measure_gain(norm, 4)
    Gain(scale=tensor([2., 2., 2., 2.]), centred=True, biased=False)
    """
    device = next((weight.device for weight in norm.parameters()), torch.device("cpu"))
    exact = copy.deepcopy(norm).double()
    even = torch.full((1, size), LARGE, dtype=torch.float64, device=device)
    signs = even * (1 - 2 * (torch.arange(size, device=device) % 2))
    with torch.inference_mode():
        up, down = exact(signs).double(), exact(-signs).double()
        flat = (exact(even).double() - exact(-even).double()).abs().max()
    odd = (up - down) / 2
    centred = bool(flat < 1e-3 * odd.abs().max())
    kept = signs - signs.mean() if centred else signs
    scale = (odd * kept.square().mean().sqrt() / kept)[0]
    return Gain(scale.float().clone(), centred, bool((up + down).abs().max() > 1e-5))


def find_surroundings(model: Model, stack: str) -> Surroundings:
    """Find the norms around attention by running three tokens.

    A norm belongs before attention if the very tensor that it returned is what attention reads.
    """
    around, trace = Surroundings(), _Trace()
    names = {module: name for name, module in model.network.named_modules()}
    with trace.watch(model.network):
        around.modules += [module for module, *_ in probe_layers(model, stack)]
    for module in dict.fromkeys(around.modules):
        layer = PLACE.match(names[module])
        calls = trace.read.get(module, [])
        norms = {norm for norm in calls if norm is not None}
        norm = norms.pop() if len(norms) == 1 and None not in calls else None
        if norm is not None and layer is not None and names[norm].startswith(layer[0]):
            around.before[module] = norm
        elif module is not around.modules[0] or len(calls) > 1:
            around.on_stream |= any(read is not None for read in calls)
    around.after = any(module in trace.normed for module in around.modules)
    return around


class _Trace:
    """Notes which module made which tensor, and who read it."""

    def __init__(self) -> None:
        self.outputs: dict[int, tuple[nn.Module, Tensor]] = {}  # holds tensors, so that ids stay
        self.read: dict[nn.Module, list[nn.Module | None]] = {}
        """By attention module: the norm whose output it read, at each call."""
        self.normed: set[nn.Module] = set()
        """Attention modules whose output a norm read."""
        self._attended: dict[int, tuple[nn.Module, Tensor]] = {}

    @contextmanager
    def watch(self, network: nn.Module) -> Iterator[None]:
        with ExitStack() as hooks:
            for module in network.modules():
                if "norm" in type(module).__name__.lower() and not list(module.children()):
                    hooks.enter_context(module.register_forward_hook(self._norm))
                elif "attention" in type(module).__name__.lower():
                    reads = module.register_forward_pre_hook(self._reads, with_kwargs=True)
                    hooks.enter_context(reads)
                    hooks.enter_context(module.register_forward_hook(self._attends))
            yield

    def _norm(self, module: nn.Module, args: Any, output: Any) -> None:
        self.outputs[id(output)] = (module, output)
        if args and id(args[0]) in self._attended:
            self.normed.add(self._attended[id(args[0])][0])

    def _reads(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        hidden = args[0] if args else kwargs.get("hidden_states")
        self.read.setdefault(module, []).append(self.outputs.get(id(hidden), (None, None))[0])

    def _attends(self, module: nn.Module, _args: Any, output: Any) -> None:
        first = output[0] if isinstance(output, tuple) else output
        self._attended[id(first)] = (module, first)
