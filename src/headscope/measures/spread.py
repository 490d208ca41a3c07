"""How evenly a head's attention is spread, with sinks taken out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.encode import TEXT, Batch
from headscope.measures.entropy import OfEntropyTerms, logarithms
from headscope.measures.reductions import over_keys
from headscope.measures.work import sinks, visible
from headscope.models import LayerView


@dataclass
class SpreadRows:
    """What is the same for every layer of a batch, and the sums of a layer so far.

    Attributes
    ----------
    keys
        1 for tokens that are not sinks, (batch, 1, key).
    weights
        For every row, 1 / ln of the number of keys that it sees; 0 below two keys, (batch, 1, row).
    some
        1 for the rows with two keys or more, (batch, 1, row).
    undefined
        Which examples have no such row, (batch, 1, 1).
    """

    keys: Tensor
    weights: Tensor
    some: Tensor
    undefined: Tensor
    sums: list[Tensor] = field(default_factory=list)


class Spread(OfEntropyTerms):
    """How evenly a head's attention at work is spread: entropy over the uniform one.

    Sinks (special tokens, the first token, full stops and commas) are taken out as keys, and what
    is left of a row is scaled to sum to 1. Rows count by how much is left of them. Two sums are
    kept, ``entropy`` (as a share of that of even attention) and ``left``; the spread is their
    ratio: 1 for a head that looks at all words alike, 0 for one that looks at one word only.
    """

    name = "spread"
    title = "Spread of the attention at work"
    unit = "sum over tokens"
    source = "Headscope"
    listed = False
    dims = {"part": ("entropy", "left")}

    def attributes(self) -> dict[str, str]:
        """Also what the two sums are called."""
        titles = {"entropy": "entropy, as a share of that of even attention", "left": "at work"}
        return super().attributes() | {"titles": json.dumps(titles)}

    def prepare(self, batch: Batch, device: Any) -> SpreadRows:
        """Which keys are left, and how many each row sees."""
        keys = np.zeros((len(batch), 1, batch.width), np.float32)
        weights = np.zeros((len(batch), 1, batch.width), np.float32)
        for index, item in enumerate(batch.items):
            keys[index, 0, : len(item)] = ~sinks(item)
            seen = visible(item, self.context.causal)
            weights[index, 0, : len(item)] = np.where(
                (seen > 1) & (item.kind == TEXT), 1 / np.log(np.maximum(seen, 2)), 0
            )
        some = (weights > 0).astype(np.float32)
        undefined = some.sum(2, keepdims=True) == 0
        made = [torch.from_numpy(one).to(device) for one in (keys, weights, some, undefined)]
        return SpreadRows(made[0], made[1], made[2], made[3])

    def take(self, block: Tensor, terms: Tensor, first_row: int, prepared: SpreadRows) -> None:
        """Add the rows of a block."""
        left = over_keys(block, prepared.keys)[:, 0]
        entropy = left * logarithms(left) - over_keys(terms, prepared.keys)[:, 0]
        here = slice(first_row, first_row + block.shape[2])
        sums = [
            torch.einsum("bhq,bq->bh", values.double(), weights[:, 0, here].double())
            for values, weights in ((entropy, prepared.weights), (left, prepared.some))
        ]
        prepared.sums.append(torch.stack(sums, -1))

    def end(self, view: LayerView, prepared: SpreadRows) -> Tensor:
        """(batch, head, 2)."""
        found = torch.stack(prepared.sums).sum(0).clamp_min(0.0).float()
        prepared.sums.clear()
        return found.masked_fill(prepared.undefined, float("nan"))
