"""Gradient importance (Clark et al. 2019, §3.2, Fig. 3): how much the language-model loss would
change with the attention to a token.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import SEPARATOR, TEXT, Batch, Encoded
from headscope.errors import ModelError
from headscope.measures.base import Context, Measure, Together
from headscope.models import LayerView, Model

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


def mean_loss(logits: Tensor, ids: Tensor, asked: Tensor) -> Tensor:
    """The sum over examples of each one's mean cross-entropy at the asked positions, so that no
    example's gradient depends on its batch.
    """
    losses = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2).float(), ids, reduction="none"
    )
    counts = asked.sum(1).clamp_min(1)
    return ((losses * asked).sum(1) / counts).sum()


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
    dims = {"token": ("sep", "punctuation", "other")}
    needs: ClassVar[frozenset[str]] = frozenset({"lm"})
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
            asked = torch.from_numpy(batch.mask[:, 1:]).to(model.device)
            loss = mean_loss(logits, ids[:, 1:], asked)
        else:
            if model.tokenizer.mask_token_id is None:
                raise ModelError(
                    f"the tokenizer of {model.name} has no mask token, which gradient importance "
                    "needs",
                    hint="choose a masked language model, or give its tokenizer a mask token",
                )
            asked = torch.zeros_like(ids, dtype=torch.bool)
            for row, item in enumerate(batch.items):
                asked[row, : len(item)] = torch.from_numpy(masked_positions(item, seed)).to(
                    model.device
                )
            masked = replace(
                batch, ids=ids.masked_fill(asked, model.tokenizer.mask_token_id).cpu().numpy()
            )
            logits = model.forward(masked, listeners=[listen], stack=stack).logits
            loss = mean_loss(logits, ids, asked)
        gradients = torch.autograd.grad(loss, [view.weights for view in views])
    undefined = ~asked.any(1)[:, None, None, None]
    return [
        (view, gradient.float().masked_fill(undefined.to(gradient.device), float("nan")))
        for view, gradient in zip(views, gradients, strict=True)
    ]
