"""Where attention goes and how wide it is, token by token; and what heads write."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example, surface_words
from headscope.encode import SEPARATOR, START, Batch, Encoded
from headscope.encode.cross import CrossEncoded, key_batch, key_item
from headscope.errors import ModelError
from headscope.measures.base import Measure, at_least
from headscope.measures.combinators import NAN, Linear, RowMean, Weights
from headscope.measures.kernels import distances, entropy_terms, logarithms, over_keys, to_device
from headscope.measures.lazy import torch
from headscope.measures.relations import Columns, Diagonals, Matrix, Pairs, mass_weights

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.models import LayerView, Model

STOPS = "full stops and commas"
CLOSED = 0.1
"""A gate under this is as good as closed."""


class Position(Linear):
    """Mean attention to the previous, current and next token, over the tokens that have one.

    A causal model does not see the next token: NaN.

    References
    ----------
    Clark et al. 2019, section 3.1.
    """

    name = "position"
    title = "Attention by relative position"
    source = "Clark et al. 2019, §3.1"
    says = "attention to {offset}"
    labels = {
        "offset": {
            "previous": "the previous token",
            "current": "the token itself",
            "next": "the next token",
        }
    }

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Diagonals: one below, on and one above the middle."""
        before, here, after = (mass_weights(Diagonals(len(item), (at,))) for at in (-1, 0, 1))
        return [before, here, None if self.context.causal else after]


class Special(Linear):
    """Mean attention to [CLS], [SEP], and full stops and commas.

    From all tokens, from [SEP] alone, and from all others alone. [CLS] and [SEP] stand for the
    model's own start and end tokens (BOS, EOS); NaN for a model or text that has none.

    References
    ----------
    Clark et al. 2019, section 3.2 and Figure 2.
    """

    name = "special"
    title = "Attention to special tokens"
    source = "Clark et al. 2019, §3.2, Figure 2"
    says = "attention to {token}{row}"
    labels = {
        "token": {"cls": "{cls}", "sep": "{sep}", "punctuation": STOPS},
        "row": {"all": "", "sep": " from {sep}", "other": " from tokens other than {sep}"},
    }
    cross = True

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Columns of the map: those of one kind of token, for all rows or some."""
        separator, keys = item.kind == SEPARATOR, key_item(item)
        columns = (keys.kind == START, keys.kind == SEPARATOR, keys.stop)
        rows = (np.ones_like(separator), separator, ~separator)
        return [mass_weights(Columns(column, row)) for column in columns for row in rows]


class Entropy(RowMean):
    """Mean entropy of a head's attention, in nats.

    From all tokens, from [CLS] (or BOS) alone, and what uniform attention would have. In a model
    with a learned sink (GPT-OSS), rows sum to less than 1, and the sum is over what is there: the
    sink adds nothing.

    References
    ----------
    Clark et al. 2019, section 3.3 and Figure 4.
    """

    name = "entropy"
    title = "Entropy of attention"
    unit = "nats"
    range = "positive"
    source = "Clark et al. 2019, §3.3, Figure 4"
    says = "entropy of {row}"
    labels = {
        "row": {
            "all": "attention from all tokens",
            "cls": "attention from {cls}",
            "uniform": "uniform attention",
        }
    }
    cross = True

    def row_weights(self, item: Encoded) -> NDArray[Any]:
        """All rows, and those of start tokens."""
        start = item.kind == START
        return np.stack([np.full(len(item), 1 / len(item)), start / max(start.sum(), 1)], 1)

    def prepare(self, batch: Batch, device: Any) -> SimpleNamespace:
        """Also the entropy of uniform attention."""
        prepared = super().prepare(batch, device)
        uniform = [
            np.log(np.arange(1, len(item) + 1) if self.context.causal else len(keys)).mean()
            for item, keys in zip(batch.items, key_batch(batch).items, strict=True)
        ]
        prepared.uniform = to_device(np.array(uniform, np.float32)[:, None, None], device)
        return prepared

    def row_values(self, block: Tensor, first_row: int, prepared: SimpleNamespace) -> Tensor:
        """-Σ α ln α over keys, in nats; a weight of 0 adds nothing."""
        return row_entropy(block, prepared.keys, entropy_terms(block))[..., None]

    def end(self, view: LayerView, prepared: SimpleNamespace) -> Tensor:
        """(batch, head, 3)."""
        means = super().end(view, prepared)
        return torch.cat([means, prepared.uniform.expand(-1, means.shape[1], -1)], -1)


def row_entropy(
    attention: Tensor, keys: Tensor | None = None, terms: Tensor | None = None
) -> Tensor:
    """-Σ α ln α over keys, in nats: (batch, head, query, key) -> (batch, head, query). A weight of
    0 adds nothing.

    ``keys`` (batch, 1, key) is 1 on the keys that count and 0 on padding; without it all count.
    ``terms`` is α ln α, if it is known.

    >>> import torch
    >>> row_entropy(torch.tensor([[[[0.5, 0.5], [1.0, 0.0]]]]))
    tensor([[[0.6931, 0.0000]]])
    """
    terms = logarithms(attention).mul_(attention) if terms is None else terms
    total = terms.sum(-1) if keys is None else over_keys(terms, keys)[:, 0]
    return total.neg_().abs_()


class Peak(RowMean):
    """The key that gets most of a token's attention, averaged over tokens.

    ``position`` is its place from 0 (the first key) to 1 (the last); ``distance`` is how far that
    is from the token's own place, likewise from 0 to 1, so that a head which reads along has small
    values; ``weight`` is the attention that it gets. Of equal keys the first counts. It is given
    for cross attention; for other attention it must be asked for by name.

    The mean of the largest weight, without the end token, is what Voita et al. 2019, "Analyzing
    Multi-Head Self-Attention", call the confidence of a head.
    """

    name = "peak"
    title = "Strongest key"
    unit = "0 to 1"
    range = "share"
    says = "{peak}"
    labels = {
        "peak": {
            "position": "place of the strongest key, 0 (first) to 1 (last)",
            "distance": "distance of the strongest key from the token's own place, 0 to 1",
            "weight": "attention to the strongest key",
        }
    }
    offered = False
    cross = True

    def row_values(self, block: Tensor, first_row: int, prepared: SimpleNamespace) -> Tensor:
        """Padding is never the strongest key; places of a single row or key are undefined."""
        if prepared.keys is not None:
            block = block.masked_fill(prepared.keys[:, None] == 0, -1.0)
        weight, place = block.max(-1)
        last, own_last = (
            torch.where(count > 1, count - 1, NAN) for count in (prepared.across, prepared.lengths)
        )
        own = torch.arange(first_row, first_row + block.shape[2], device=block.device)
        position = place / last
        return torch.stack([position, (position - own / own_last).abs(), weight], -1)


class Streaming(RowMean):
    """Attention to the first tokens of a text, to recent ones, and to all others: distant ones.

    A head with little distant attention can do with a short cache of keys and values. Only tokens
    that have a distant key take part, so texts must be longer than ``first + recent`` tokens.
    Where tokens see later ones too, "recent" means near, on either side. The three shares add up
    to 1, except in models with a learned sink (GPT-OSS), whose rows sum to less.

    Parameters
    ----------
    first
        How many tokens at the start are kept.
    recent
        How far the recent tokens reach: a key is recent if it is fewer tokens away.

    References
    ----------
    Xiao et al. 2024, "DuoAttention", section 2. Their own values are gates that are learnt; the
    sizes here are our choice (their code has 64 and 256).

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks at the cat that sleeps.", "A cat sleeps on the mat all day."]
    >>> atlas = hs.survey("demo", texts, measures=hs.Streaming(first=1, recent=3))
    >>> round(float(atlas.mean("streaming").sel(layer=1, head=3).sum()), 3)
    1.0
    """

    name = "streaming"
    title = "Attention to first, recent and distant tokens"
    source = "after Xiao et al. 2024, §2"
    says = "attention to {where}"
    labels = {
        "where": {
            "first": "the first {first} tokens",
            "recent": "the last {recent} tokens",
            "distant": "distant tokens: neither first nor recent",
        }
    }
    offered = False

    def __init__(self, first: int = 4, recent: int = 64) -> None:
        self.first = at_least("number of first tokens", first, 0)
        self.recent = at_least("number of recent tokens", recent, 1)

    def counted_rows(self, item: Encoded) -> Matrix:
        """The rows with a distant key."""
        places, last = np.arange(len(item)), len(item) - 1
        before = places >= self.first + self.recent
        after = (last >= self.first) & (last - places >= self.recent)
        return np.asarray(before if self.context.causal else before | after)

    def of_rows(self, block: Tensor, first_row: int) -> Tensor:
        """Attention to the three kinds of keys."""
        away = distances(block, first_row)
        late = torch.arange(block.shape[3], device=block.device) >= self.first
        near, far = (
            (late & kind).to(block.dtype) for kind in (away < self.recent, away >= self.recent)
        )
        first = block[..., : self.first].sum(-1)
        return torch.stack([first, (block * near).sum(-1), (block * far).sum(-1)], -1)


class Alignment(Linear):
    """Mean attention to the pieces of equal words: of a token's own word, or of the next one.

    ``this word`` is attention to the words that equal the token's own; ``next word`` to those that
    equal the word of the token after it, which the decoder is about to write. Upper and lower case
    are the same. Tokens whose word is not among the keys do not count. It is given for cross
    attention, where it shows heads that copy or align names and numbers; for other attention it
    must be asked for by name, and a token's own word then includes itself.
    """

    name = "alignment"
    title = "Attention to equal words"
    says = "attention to words equal to {word}"
    labels = {"word": {"this word": "the token's own", "next word": "the next word"}}
    offered = False
    cross = True

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Pairs of a token and the pieces of equal words."""
        pieces: dict[str, list[int]] = {}
        for place, word in enumerate(token_words(key_item(item))):
            pieces.setdefault(word, []).append(place)
        words = token_words(item)
        return [
            mass_weights(
                Pairs.of(
                    len(item),
                    (
                        (row, key)
                        for row, word in enumerate(asked)
                        if word
                        for key in pieces.get(word, ())
                    ),
                )
            )
            for asked in (words, [*words[1:], ""])
        ]


def token_words(item: Encoded) -> list[str]:
    """The word of each token in lower case; "" for a token of none."""
    # The tokens of cross attention were encoded one text at a time.
    alone = isinstance(item, CrossEncoded)
    example = Example("", item.example.texts[-1:]) if alone else item.example
    words = surface_words(example, int(item.unit.max(initial=-1)) + 1)
    return ["" if unit < 0 else words[unit].lower() for unit in item.unit.tolist()]


class OutputNorm(Measure):
    """How much a head writes: the norm of what it adds to the stream, over the layer's mean.

    The output of a head times its part of the output projection, ``‖z W_O‖``; mean over the tokens
    of a text, divided by the mean over the heads of the layer: 1 is an average head, near 0 one
    that writes nothing. Attention says where a head looks; a head can look busy and write nothing.
    The bias of the projection belongs to no head.

    It must be asked for by name, and needs a model whose output projections can be read.

    References
    ----------
    Sandoval-Segura et al. 2025, "Identifying and Evaluating Inactive Heads in Pretrained LLMs",
    arXiv 2504.03889.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks."], measures="output_norm")
    >>> round(float(atlas.mean("output_norm").sel(layer=1).mean("head")), 3)
    1.0
    """

    name = "output_norm"
    title = "Norm of a head's output"
    unit = "times the layer's mean"
    range = "positive"
    source = "after Sandoval-Segura et al. 2025"
    says = "norm of the head's output over the layer's mean"
    offered = False
    in_blocks = True
    weightable = False
    factors: dict[Any, Tensor]

    def check_model(self, model: Model, stack: str) -> None:
        """Refuse models whose output projections cannot be read."""
        self.attach(model, stack)

    def attach(self, model: Model, stack: str) -> Self:
        """With ``L`` of each layer, (head, width, width), where ‖z L‖ = ‖z W_O‖."""
        from headscope.models.projections import matrix, output_projections, split_up

        attached, heads = copy.copy(self), model.shape(stack).heads
        attached.factors = {
            # The triangular factor has the same norms and is much smaller than W_O.
            module: torch.linalg.qr(split_up(matrix(output), 0, (heads, -1)).mT, mode="r").R.mT
            for module, output in output_projections(model, stack).items()
        }
        return attached

    def prepare(self, batch: Batch, device: Any) -> Tensor:
        """Which tokens are real, (batch, token, 1)."""
        return to_device(batch.mask[..., None], device)

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: Tensor) -> None:
        """Maps are not needed."""

    def end(self, view: LayerView, prepared: Tensor) -> Tensor:
        """(batch, head, 1)."""
        factor = self.factors[view.module].to(view.output.device)
        norms = (view.output.float()[..., None, :] @ factor)[..., 0, :].norm(dim=-1)
        sums = norms.where(prepared, 0.0).sum(1)  # padding may hold anything
        values: Tensor = sums / sums.mean(1, keepdim=True)
        return values[..., None]


class Gate(Measure):
    """How far a head's gate is open.

    Some models multiply what a head puts out by a gate between 0 and 1 that depends on the token:
    Qwen3-Next, Qwen3.5, AFMoE. ``mean`` is the mean over the tokens of a text and the head's width;
    ``closed`` the share of values under 0.1. The outputs of heads, wherever they are used, are
    those after the gate.

    It must be asked for by name, and needs a model with gates.

    References
    ----------
    Qiu et al. 2025, "Gated Attention for Large Language Models", arXiv 2505.06708, section 4.2.
    The threshold is our choice.
    """

    name = "gate"
    title = "Gate of a head's output"
    unit = "share"
    source = "Qiu et al. 2025, §4.2"
    says = "{gate}"
    labels = {"gate": {"mean": "mean gate", "closed": f"share of gate values under {CLOSED}"}}
    offered = False
    in_blocks = True
    weightable = False

    def check_model(self, model: Model, stack: str) -> None:
        """Refuse models without gates."""
        if not model.gates:
            raise ModelError(
                f"the measure 'gate' needs a model that multiplies the outputs of its heads by a "
                f"gate, such as Qwen3-Next or Qwen3.5; {model.name} "
                f"({type(model.network).__name__}) has none",
                hint="leave it out; output_norm says of any model how much its heads write",
            )

    def prepare(self, batch: Batch, device: Any) -> Tensor:
        """Which tokens are real, (batch, token, 1, 1)."""
        return to_device(batch.mask[..., None, None], device)

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: Tensor) -> None:
        """Maps are not needed."""

    def end(self, view: LayerView, prepared: Tensor) -> Tensor:
        """(batch, head, 2); NaN in layers without a gate."""
        gate = torch.full_like(view.output, NAN) if view.gate is None else view.gate
        known = prepared & ~gate.isnan()
        sums = [torch.where(known, part, 0.0).sum((1, 3)) for part in (gate, gate < CLOSED)]
        return torch.stack(sums, -1) / known.sum((1, 3))[..., None]
