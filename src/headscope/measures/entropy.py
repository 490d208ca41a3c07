"""Entropy (Clark et al. 2019, §3.3, Fig. 4): how broadly a head attends."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.encode import START, Batch
from headscope.encode.cross import key_batch
from headscope.measures.base import Context, Measure, Together
from headscope.measures.reductions import over_keys
from headscope.models import LayerView, Model

TINY = torch.finfo(torch.float32).tiny


def logarithms(attention: Tensor) -> Tensor:
    """ln α, with a large negative number for ln 0."""
    return attention.clamp_min(TINY).log_()


def entropy_terms(attention: Tensor) -> Tensor:
    """α ln α of every weight; a weight of 0 gives 0."""
    return logarithms(attention).mul_(attention)


def row_entropy(
    attention: Tensor, real: Tensor | None = None, terms: Tensor | None = None
) -> Tensor:
    """-Σ α ln α over keys, in nats: (batch, head, query, key) -> (batch, head, query). A weight of
    0 adds nothing.

    ``real`` (batch, 1, 1, key) is 1 on the keys that count and 0 on padding; without it all count.
    ``terms`` is α ln α, if it is known.

    >>> row_entropy(torch.tensor([[[[0.5, 0.5], [1.0, 0.0]]]]))
    tensor([[[0.6931, 0.0000]]])
    """
    terms = entropy_terms(attention) if terms is None else terms
    total = terms.sum(-1) if real is None else over_keys(terms, real[:, 0])[:, 0]
    return total.neg_().abs_()


@dataclass(frozen=True)
class EntropyRows:
    """Which rows count in a batch, with weights (batch, query, kind) that average them, and the
    entropy of uniform attention.
    """

    weights: Tensor  # (batch, query, 2)
    undefined: Tensor  # (batch, 1, 2)
    uniform: Tensor  # (batch, 1, 1)
    real: Tensor | None  # (batch, 1, 1, key), 0 on padding; None where there is none
    entropies: list[Tensor] = field(default_factory=list)  # of the layer's rows so far


class OfEntropyTerms(Measure):
    """A measure that needs α ln α. Those of a run share it: it costs more than all else they do."""

    in_blocks = True

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: Any) -> None:
        """Take in a block alone."""
        self.take(block, entropy_terms(block), first_row, prepared)

    @abstractmethod
    def take(self, block: Tensor, terms: Tensor, first_row: int, prepared: Any) -> None:
        """Take in a block whose terms α ln α are at hand. They are not changed."""

    @classmethod
    def together(
        cls, measures: Sequence[Measure], model: Model, stack: str, context: Context
    ) -> Together:
        """One logarithm of every block for all measures of this kind."""
        return EntropyTermsTogether(measures)


class EntropyTermsTogether(Together):
    """Measures that need α ln α."""

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Take in a block."""
        terms = entropy_terms(block)
        for measure, prepared in zip(self.measures, self.prepared, strict=True):
            assert isinstance(measure, OfEntropyTerms)
            measure.take(block, terms, first_row, prepared)


class Entropy(OfEntropyTerms):
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
    dims = {"row": ("all", "cls", "uniform")}
    cross = True

    def prepare(self, batch: Batch, device: Any) -> EntropyRows:
        """Average over real rows only."""
        weights = np.zeros((len(batch), batch.width, 2), dtype=np.float32)
        uniform = np.zeros((len(batch), 1, 1), dtype=np.float32)
        keys = key_batch(batch)
        for index, item in enumerate(batch.items):
            length, others = len(item), len(keys.items[index])
            weights[index, :length, 0] = 1.0 / length
            weights[index, :length, 1] = (item.kind == START) / max(
                int((item.kind == START).sum()), 1
            )
            seen = np.arange(1, length + 1) if self.context.causal else np.full(length, others)
            uniform[index] = np.log(seen).mean()
        undefined = (weights.sum(1, keepdims=True) == 0).astype(np.bool_)
        real = (
            None
            if keys.mask.all()
            else torch.from_numpy(keys.mask[:, None, None].astype(np.float32)).to(device)
        )
        return EntropyRows(
            torch.from_numpy(weights).to(device),
            torch.from_numpy(undefined).to(device),
            torch.from_numpy(uniform).to(device),
            real,
        )

    def take(self, block: Tensor, terms: Tensor, first_row: int, prepared: EntropyRows) -> None:
        """Keep the entropy of every row."""
        prepared.entropies.append(row_entropy(block, prepared.real, terms))

    def end(self, view: LayerView, prepared: EntropyRows) -> Tensor:
        """(batch, head, 3)."""
        entropies = prepared.entropies
        rows = entropies[0] if len(entropies) == 1 else torch.cat(entropies, dim=2)
        entropies.clear()
        means = torch.einsum("bhq,bqk->bhk", rows, prepared.weights)
        means = means.masked_fill(prepared.undefined, float("nan"))
        return torch.cat([means, prepared.uniform.expand(-1, means.shape[1], -1)], dim=-1)
