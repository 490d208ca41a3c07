"""What heads do to the loss and to logits: gradients of maps, and what heads write themselves."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headscope.encode import SEPARATOR, TEXT, Batch, Encoded
from headscope.errors import ModelError
from headscope.measures.base import Context, Measure, Together
from headscope.measures.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor, nn

    from headscope.models import LayerView, Model
    from headscope.models.stream import FrozenNorm, Stream, StreamLayer

SHARE = 0.15
AT_ONCE = 2**23
"""Weights of maps that go through one backward pass. The graph keeps about twenty times as many
numbers; with more, memory grows and nothing gets faster."""


def masked_positions(item: Encoded, seed: int, share: float = SHARE) -> NDArray[np.bool_]:
    """Which word pieces of an example are masked: always the same ones for a seed and an example,
    and at least one.
    """
    pieces = np.flatnonzero(item.kind == TEXT)
    generator = np.random.default_rng([seed, zlib.crc32(item.example.id.encode()), len(item)])
    chosen = generator.choice(pieces, size=max(1, round(share * len(pieces))), replace=False)
    mask = np.zeros(len(item), dtype=np.bool_)
    mask[chosen] = True
    return mask


def mean_loss(logits: Tensor, ids: Tensor, scored: Tensor) -> Tensor:
    """The sum over examples of each one's mean cross-entropy at the scored positions, so that no
    example's gradient depends on its batch.
    """
    losses = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2).float(), ids, reduction="none"
    )
    counts = scored.sum(1).clamp_min(1)
    return ((losses * scored).sum(1) / counts).sum()


def key_kinds(items: Sequence[Encoded], width: int) -> Tensor:
    """(batch, key, kind): [SEP], full stops and commas, other; each column says which keys are of
    the kind. Padding is of none.
    """
    kinds = np.zeros((len(items), width, 3), dtype=np.float32)
    for row, item in enumerate(items):
        separator = item.kind == SEPARATOR
        kinds[row, : len(item)] = np.stack([separator, item.stop, ~separator & ~item.stop], axis=1)
    return torch.from_numpy(kinds)


class Gradient(Measure):
    """Mean |∂loss/∂α| by the kind of the attended token (Clark et al. 2019, section 3.2 and Figure
    3).

    For a masked model 15 % of the pieces are masked; a causal model uses its own loss.

    It takes one more forward and a backward pass per batch, for all layers at once. It must be
    asked for by name, and needs a model with a language-model head.
    """

    name = "gradient"
    title = "Gradient importance"
    unit = "mean |∂loss/∂α|"
    range = "positive"
    source = "Clark et al. 2019, §3.2, Figure 3"
    says = "gradient importance of attention to {token}"
    labels = {
        "token": {"sep": "{sep}", "punctuation": "full stops and commas", "other": "other tokens"}
    }
    needs = frozenset({"lm"})
    offered = False
    weightable = False

    def prepare(self, batch: Batch, device: Any) -> tuple[Tensor, Tensor]:
        """The kinds of keys, and the real rows."""
        return key_kinds(batch.items, batch.width).to(device), torch.from_numpy(batch.mask).to(
            device
        )

    def layer(self, view: LayerView, attention: Tensor, prepared: tuple[Tensor, Tensor]) -> Tensor:
        """``attention`` is here the gradient of the loss by the maps: (batch, head, kind). A causal
        model has no weights on later tokens to average over.
        """
        kinds, real = prepared
        seen = real[:, :, None] & real[:, None, :]
        if self.context.causal:
            seen = seen.tril()
        pairs = (
            seen.float() @ kinds
        )  # (batch, query, kind): how many keys of each kind a query may attend to
        rows = torch.einsum("bhqk,bqk,bkn->bhn", attention.abs(), seen.float(), kinds)
        return (rows / pairs.sum(1)[:, None]).masked_fill(
            (pairs.sum(1) == 0)[:, None], float("nan")
        )

    @classmethod
    def together(
        cls, measures: Sequence[Measure], model: Model, stack: str, context: Context
    ) -> Together:
        """A forward and a backward pass of their own, for all measures of gradients."""
        return GradientTogether(measures, model, stack, context.seed)


class GradientTogether(Together):
    """Measures of gradients: they see nothing of the common pass, and run one of their own."""

    def __init__(self, measures: Sequence[Measure], model: Model, stack: str, seed: int) -> None:
        super().__init__(measures)
        self.whole_maps = False
        self.model, self.stack, self.seed = model, stack, seed
        self.batch: Batch | None = None
        self.device: Any = None

    def start(self, batch: Batch, device: Any) -> None:
        """Begin a batch."""
        super().start(batch, device)
        self.batch, self.device = batch, device

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """The common pass has no gradients."""

    def end(self, view: LayerView) -> None:
        """The common pass has no gradients."""

    def finish(self) -> dict[str, Tensor]:
        """Run forward and backward, a few examples at a time, and reduce the gradients."""
        assert self.batch is not None
        shape = self.model.shape(self.stack)
        size = examples_at_once(self.batch.width, shape.layers * shape.heads)
        parts = []
        for part in cut_batch(self.batch, size):
            self.start(part, self.device)
            places: dict[torch.device, GradientTogether] = {}
            for view, gradient in map_gradients(self.model, part, self.stack, self.seed):
                if gradient.device not in places:
                    places[gradient.device] = self.on(part, gradient.device)
                Together.rows(places[gradient.device], view, gradient, 0)
            parts.append(super().finish())
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def examples_at_once(width: int, heads: int) -> int:
    """How many examples go through one backward pass, at least one.

    Parameters
    ----------
    width
        Tokens of the longest example.
    heads
        Heads of all layers.

    Examples
    --------
    >>> examples_at_once(128, 144), examples_at_once(512, 144), examples_at_once(32, 72)
    (3, 1, 113)
    """
    return max(1, AT_ONCE // (width**2 * heads))


def cut_batch(batch: Batch, size: int) -> Iterator[Batch]:
    """Cut a batch into batches of at most so many examples, padded as before."""
    for first in range(0, len(batch), size):
        rows = slice(first, first + size)
        yield replace(
            batch,
            items=batch.items[rows],
            ids=batch.ids[rows],
            types=batch.types[rows],
            mask=batch.mask[rows],
        )


def map_gradients(
    model: Model, batch: Batch, stack: str, seed: int
) -> list[tuple[LayerView, Tensor]]:
    """Each layer with ∂loss/∂α, (batch, head, query, key). The maps are part of the graph: our
    attention function is the model's own.

    A causal text of one token has no loss, and so NaN for gradients.
    """
    views: list[LayerView] = []

    def listen(view: LayerView) -> None:
        if view.stack == stack:
            views.append(view)

    ids = torch.from_numpy(batch.ids).to(model.device)
    with torch.enable_grad():
        if model.causal(stack):
            logits = model.forward(batch, listeners=[listen], stack=stack).logits[:, :-1]
            scored = torch.from_numpy(batch.mask[:, 1:]).to(model.device)
            loss = mean_loss(logits, ids[:, 1:], scored)
        else:
            if model.tokenizer.mask_token_id is None:
                raise ModelError(
                    f"the tokenizer of {model.name} has no mask token, which gradient importance "
                    "needs",
                    hint="choose a masked language model, or give its tokenizer a mask token",
                )
            scored = torch.zeros_like(ids, dtype=torch.bool)
            for row, item in enumerate(batch.items):
                scored[row, : len(item)] = torch.from_numpy(masked_positions(item, seed)).to(
                    model.device
                )
            masked = replace(
                batch, ids=ids.masked_fill(scored, model.tokenizer.mask_token_id).cpu().numpy()
            )
            logits = model.forward(masked, listeners=[listen], stack=stack).logits
            loss = mean_loss(logits, ids, scored)
        gradients = torch.autograd.grad(loss, [view.weights for view in views])
    undefined = ~scored.any(1)[:, None, None, None]
    return [
        (view, gradient.float().masked_fill(undefined.to(gradient.device), float("nan")))
        for view, gradient in zip(views, gradients, strict=True)
    ]


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
    from headscope.models.projections import matrix

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
    says = "direct part in the logit of the {token} token"
    labels = {"token": {"next": "next"}}
    needs = frozenset({"lm"})
    offered = False
    in_blocks = True
    weightable = False

    def check_model(self, model: Model, stack: str) -> None:
        """Refuse models in which a head has no part of the logit."""
        from headscope.models.stream import find_stream

        find_stream(model, stack)

    @classmethod
    def together(
        cls, measures: Sequence[Measure], model: Model, stack: str, context: Context
    ) -> Together:
        """Reads the outputs of heads in the common pass, and the norms after them."""
        from headscope.models.stream import find_stream

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
        self.written: list[tuple[StreamLayer, Tensor]] = []

    def on(self, batch: Batch, device: Any) -> Self:
        """The same for layers that are on another device."""
        written, inverse = self.written, self.inverse
        there = super().on(batch, device)
        there.written, there.inverse = written, inverse
        return there

    @contextmanager
    def during(self) -> Iterator[None]:
        """Watch the norms whose σ is held fixed."""
        after = [layer.after for layer in self.stream.layers if layer.after is not None]
        with ExitStack() as hooks:
            for norm in (*after, self.stream.norm):
                hook = norm.module.register_forward_hook(partial(self._note, norm))
                hooks.enter_context(hook)
            yield

    def _note(self, norm: FrozenNorm, module: nn.Module, args: Any, output: Tensor) -> None:
        self.inverse[module] = norm.inverse(args[0], output)

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Maps are not needed."""

    def end(self, view: LayerView) -> None:
        """Take in the outputs of a layer's heads."""
        layer = self.stream.by_attention[view.module]
        self.written.append((layer, head_parts(view.output, layer, self.directions)))

    def finish(self) -> dict[str, Tensor]:
        """Means over the tokens that have a next one, (batch, layer, head, 1)."""
        last, home = self.inverse[self.stream.norm.module], self.follows.device
        means = []
        for layer, part in self.written:
            scaled = part.to(home) * last.to(home)[..., None]
            if layer.after is not None:
                scaled = scaled * self.inverse[layer.after.module].to(home)[..., None]
            means.append(scaled.masked_fill(~self.follows[..., None], 0.0).sum(1))
        count = self.follows.sum(1)[:, None, None]
        values = torch.stack(means, 1) / count.clamp_min(1)
        values = values.masked_fill(count == 0, float("nan"))[..., None]
        return {measure.name: values for measure in self.measures}
