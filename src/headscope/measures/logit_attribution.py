"""Direct logit attribution: how much of the next token's logit each head writes itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from headscope.encode import Batch
from headscope.measures.base import Context, Measure, Together
from headscope.models import LayerView, Model
from headscope.models.projections import matrix
from headscope.models.stream import FrozenNorm, Stream, StreamLayer, find_stream


def head_parts(output: Tensor, layer: StreamLayer, directions: Tensor) -> Tensor:
    """What heads write along directions in the residual stream, (batch, token, head).

    Directions are taken back through the output projection, so that no head's vector is made as
    wide as the model. Still to be divided: by σ of the norm after attention, if there is one.

    Parameters
    ----------
    output
        The outputs of the heads, (batch, token, head, width).
    layer
        The layer.
    directions
        (batch, token, hidden), before the last norm.
    """
    assert layer.output is not None
    if layer.after is not None:
        directions = layer.after.direction(directions)
    back = directions @ matrix(layer.output).T.to(directions.device)
    return (output.float() * back.view(output.shape)).sum(-1)


class LogitAttribution(Measure):
    """The part of the next token's logit that each head writes, mean over the tokens of a text.

    The logit is that of the token that does follow, less the mean over the vocabulary. What a head
    adds to the residual stream is normalised as the stream was (σ of the last norm is that of the
    pass, and so is σ of a norm after attention) and multiplied by the token's row of the
    unembedding. This is the direct path alone: what later layers make of a head's output is theirs.

    It must be asked for by name, and needs a decoder-only language model whose layers add to the
    stream what they compute (pre-norm).

    See Also
    --------
    headscope.logit_parts : all parts of the logit in one text, which add up to it.

    References
    ----------
    Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; nostalgebraist 2020,
    "interpreting GPT: the logit lens".
    """

    name = "logit_attribution"
    title = "Direct logit attribution"
    unit = "logits"
    source = "Elhage et al. 2021"
    dims = {"token": ("next",)}
    needs: ClassVar[frozenset[str]] = frozenset({"lm"})
    offered = False
    in_blocks = True
    weightable = False

    def check_model(self, model: Model, stack: str) -> None:
        """Refuse models in which a head has no part of the logit."""
        find_stream(model, stack)

    @classmethod
    def together(
        cls, measures: Sequence[Measure], model: Model, stack: str, context: Context
    ) -> Together:
        """Reads the outputs of heads in the common pass, and the norms after them."""
        return LogitTogether(measures, find_stream(model, stack))


class LogitTogether(Together):
    """Direct logit attribution in a pass.

    Each layer gives a number per token and head; they are divided by σ when the last norm has
    been computed.
    """

    def __init__(self, measures: Sequence[Measure], stream: Stream) -> None:
        super().__init__(measures)
        self.whole_maps = False
        self.stream = stream
        self.inverse: dict[nn.Module, Tensor] = {}
        """``1 / σ`` of each norm that was computed, (batch, token)."""

    def start(self, batch: Batch, device: Any) -> None:
        """Find the directions of the tokens that follow."""
        follows = np.zeros_like(batch.mask)
        follows[:, :-1] = batch.mask[:, :-1] & batch.mask[:, 1:]
        targets = np.zeros_like(batch.ids)
        targets[:, :-1] = batch.ids[:, 1:]
        directions = self.stream.directions(torch.from_numpy(targets))
        self.directions = self.stream.norm.direction(directions).to(device)
        self.follows = torch.from_numpy(follows).to(device)
        self.inverse = {}
        self.parts: list[tuple[StreamLayer, Tensor]] = []

    def on(self, batch: Batch, device: Any) -> Self:
        """The same for layers that are on another device."""
        parts, inverse = self.parts, self.inverse
        there = super().on(batch, device)
        there.parts, there.inverse = parts, inverse
        return there

    @contextmanager
    def during(self) -> Iterator[None]:
        """Watch the norms whose σ is held fixed."""
        after = [layer.after for layer in self.stream.layers if layer.after is not None]
        handles = [
            norm.module.register_forward_hook(partial(self._note, norm))
            for norm in (*after, self.stream.norm)
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _note(self, norm: FrozenNorm, module: nn.Module, args: Any, output: Tensor) -> None:
        self.inverse[module] = norm.inverse(args[0], output)

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Maps are not needed."""

    def end(self, view: LayerView) -> None:
        """Take in the outputs of a layer's heads."""
        layer = self.stream.by_attention[view.module]
        self.parts.append((layer, head_parts(view.output, layer, self.directions)))

    def finish(self) -> dict[str, Tensor]:
        """Means over the tokens that have a next one, (batch, layer, head, 1)."""
        last, home = self.inverse[self.stream.norm.module], self.follows.device
        found = []
        for layer, part in self.parts:
            scaled = part.to(home) * last.to(home)[..., None]
            if layer.after is not None:
                scaled = scaled * self.inverse[layer.after.module].to(home)[..., None]
            found.append(scaled.masked_fill(~self.follows[..., None], 0.0).sum(1))
        count = self.follows.sum(1)[:, None, None]
        values = torch.stack(found, 1) / count.clamp_min(1)
        values = values.masked_fill(count == 0, float("nan"))[..., None]
        return {measure.name: values for measure in self.measures}
