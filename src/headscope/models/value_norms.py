"""How long the vectors are that keys send through heads: what norm-weighted maps are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from headscope.encode import Batch
from headscope.errors import ModelError
from headscope.models.projections import (
    SUPPORTED,
    find_output,
    find_parts,
    is_gated,
    matrix,
    split_up,
)
from headscope.models.view import LayerView, OutputListener

if TYPE_CHECKING:
    from headscope.models.model import Model

TINY = torch.finfo(torch.float32).tiny
CLOSE = {torch.float32: 1e-4, torch.float64: 1e-4}
"""How far what a projection reads may be from the outputs of the heads, relative to the largest."""
ROUGH = 0.02
"""The same in half precision."""


class ValueNorms:
    """The length of what each key sends through each head, ``‖v W_O‖``.

    ``W_O`` of a head is (width, hidden). The length depends on its triangular factor alone, which
    is (width, width): it is computed once per layer.

    Parameters
    ----------
    model
        The model.
    stack
        The stack that is observed.

    Raises
    ------
    ModelError
        If the output projections cannot be found, or if something stands between them and the
        heads: a gate or a norm.

    References
    ----------
    Kobayashi et al. 2020, "Attention is Not Only a Weight", section 3.

    Examples
    --------
    >>> import headscope as hs
    >>> model, lengths = hs.load("demo"), []
    >>> norms = ValueNorms(model, "encoder")
    >>> batch = Batch(0, (), np.ones((1, 5), int), np.zeros((1, 5), int), np.ones((1, 5), bool))
    >>> _ = model.forward(batch, listeners=[lambda view: lengths.append(norms.of(view))])
    >>> lengths[0].shape
    torch.Size([1, 12, 5])
    """

    def __init__(self, model: Model, stack: str) -> None:
        self.model = model
        self.heads = model.shape(stack).heads
        self.outputs = output_projections(model, stack)
        self._factors: dict[nn.Module, Tensor] = {}

    def of(self, view: LayerView) -> Tensor:
        """The lengths of one layer, (batch, head, key), in float32.

        Parameters
        ----------
        view
            The layer, with its value vectors.
        """
        if view.values is None:
            raise ModelError(
                f"the value vectors of {self.model.name} cannot be observed",
                hint="survey attention maps: maps='attention'",
            )
        factor, values = self._factor(view.module), view.values.to(torch.float32)
        shared = values.shape[1]  # neighbouring heads share a value, but not their projection
        grouped = split_up(factor, 0, (shared, self.heads // shared))
        sent = values[:, :, None] @ grouped.to(values.device)
        lengths: Tensor = torch.linalg.vector_norm(sent, dim=-1).flatten(1, 2)
        return lengths

    def _factor(self, module: nn.Module) -> Tensor:
        """``L`` with ``‖v W_O‖ = ‖v L‖``, (head, width, width)."""
        if module not in self._factors:
            output = split_up(matrix(self.outputs[module]), 0, (self.heads, -1))
            triangle: Tensor = torch.linalg.qr(output.mT, mode="r").R
            self._factors[module] = triangle.mT.contiguous()
        return self._factors[module]


def norm_weighted(block: Tensor, lengths: Tensor) -> Tensor:
    """Weigh attention by the length of what it carries; each row then sums to 1.

    Parameters
    ----------
    block
        Rows of attention, (batch, head, row, key).
    lengths
        Of what each key sends, (batch, head, key). A learned sink sends nothing.

    Examples
    --------
    >>> block = torch.tensor([[[[0.5, 0.25, 0.25]]]])
    >>> norm_weighted(block, torch.tensor([[[0.0, 1.0, 3.0]]]))
    tensor([[[[0.0000, 0.2500, 0.7500]]]])
    """
    weighted = block * lengths[:, :, None]
    return weighted.div_(weighted.sum(-1, keepdim=True).clamp_min_(TINY))


def output_projections(model: Model, stack: str) -> dict[nn.Module, nn.Module]:
    """The output projection of every attention module of a stack, checked on three tokens.

    What a projection reads must be the outputs of the heads side by side.
    """
    names = {module: name for name, module in model.network.named_modules()}
    made: dict[nn.Module, list[Tensor]] = {}

    def note(view: LayerView) -> None:
        if view.stack == stack:
            made.setdefault(view.module, []).append(view.output.clone())

    ids = np.zeros((1, 3), np.int64)
    batch = Batch(0, (), ids, ids, ids == 0)
    with torch.inference_mode():
        model.forward(batch, listeners=[OutputListener(note)], stack="")
        found = {module: _output_of(model, module, names[module]) for module in made}
        read: dict[nn.Module, list[Tensor]] = {output: [] for output in found.values()}
        handles = [
            output.register_forward_pre_hook(lambda one, args: read[one].append(args[0].clone()))
            for output in read
        ]
        made.clear()
        try:
            model.forward(batch, listeners=[OutputListener(note)], stack="")
        finally:
            for handle in handles:
                handle.remove()
    for module, output in found.items():
        if not _same(made[module], read[output]):
            raise _between(model, module, names[module], made[module][0].shape[2])
    return found


def _output_of(model: Model, module: nn.Module, name: str) -> nn.Module:
    output = find_output(module, _parent(model, name))
    if output is None:
        raise ModelError(
            f"the output projections of single heads cannot be read from {model.name} "
            f"({type(model.network).__name__}); supported are {SUPPORTED}",
            hint="choose another model, or open an issue to ask for this architecture",
        )
    return output


def _parent(model: Model, name: str) -> nn.Module | None:
    holder = name.rpartition(".")[0]
    found: Any = model.network.get_submodule(holder) if holder else None
    return found if isinstance(found, nn.Module) else None


def _same(made: list[Tensor], read: list[Tensor]) -> bool:
    """Whether the outputs of heads are what their projection reads, at every call."""
    if len(made) != len(read):
        return False
    for one, other in zip(made, read, strict=True):
        if one.numel() != other.numel():
            return False
        first, second = (part.float().reshape(-1, other.shape[-1]) for part in (one, other))
        close = CLOSE.get(other.dtype, ROUGH) * float(first.abs().max())
        if not torch.allclose(first, second, atol=close, rtol=0):
            return False
    return True


def _between(model: Model, module: nn.Module, name: str, heads: int) -> ModelError:
    parts = find_parts(module, _parent(model, name))
    gated = parts is not None and is_gated(parts, module, heads)
    what = "a gate that depends on the text" if gated else "something else (such as a norm)"
    return ModelError(
        f"the heads of {model.name} pass through {what} before their output projection, so what "
        "a head adds for each key is not a product of its weights and values",
        hint="choose another model, or measures of attention maps alone",
    )
