"""Head distances (Clark et al. 2019, §6, Fig. 6): the Jensen–Shannon divergence between the rows of
every pair of heads.

The cost is ``x ln x`` of the mean of two rows, for every pair of heads. But x ln x is an integral
of exponentials, x ln x = ∫ (e^{-λx} - 1 + linear) λ^{-2} dλ, and an exponential of a sum is a
product. With u = expm1(-λp/2), v = expm1(-λq/2), ½e^{-λp} + ½e^{-λq} - e^{-λ(p+q)/2} = ½(u - v)²:
each node of a quadrature over λ turns the divergence into a squared Euclidean distance, and all
pairs of heads into one matrix product. Linear terms cancel; 27 nodes give 1e-3 relative
(tools/fit_divergence.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.measures.base import Measure
from headscope.models import LayerView

FIRST = 0.25
FACTORS = (
    1.27879,
    2.55113,
    0.0,
    1.28738,
    0.93976,
    1.01419,
    0.99468,
    1.00339,
    0.99688,
    1.00356,
    0.99548,
    1.00607,
    0.99158,
    1.01188,
    0.98305,
    1.02443,
    0.96447,
    1.05215,
    0.9229,
    1.11426,
    0.83243,
    1.23601,
    0.70392,
    1.25756,
    1.09717,
    0.0,
    2.93341,
)
NODES = FIRST * 2.0 ** np.arange(len(FACTORS))
WEIGHTS = np.array(FACTORS) * np.log(2.0) / NODES
COLUMNS, PARTS = 4096, 3
"""How many weights of each map are taken at a time, and in how many parts the heads."""
SMALL = 2e-3
"""Below this (nats) a difference of float32 products loses digits: such pairs of nearly equal heads
are computed directly.
"""


def exact_divergence(maps: Tensor) -> Tensor:
    """Mean over rows of the Jensen–Shannon divergence (nats) of every pair of heads: (head, row,
    key) -> (head, head), pair by pair, in float64.
    """
    flat = maps.double().flatten(1)
    entropy = torch.special.entr(flat).sum(1)
    result = torch.zeros(len(flat), len(flat), dtype=torch.float64, device=maps.device)
    for one in range(len(flat) - 1):
        middle = torch.special.entr((flat[one] + flat[one + 1 :]) / 2).sum(1)
        result[one, one + 1 :] = middle - (entropy[one] + entropy[one + 1 :]) / 2
    return (result + result.T) / maps.shape[1]


def fast_divergence(maps: Tensor) -> Tensor:
    """The same by matrix products, to 1e-3 relative; pairs that are nearly equal are computed
    directly.
    """
    flat = maps.flatten(1)
    size = len(flat)
    gram = torch.zeros(size, size, dtype=torch.float64, device=maps.device)
    height = -(-size // PARTS)
    for columns in torch.split(flat, COLUMNS, dim=1):  # few enough for the cache
        power = torch.expm1(columns * (-FIRST / 2))
        for number, weight in enumerate(WEIGHTS):
            if number:  # the next node is twice this one, and expm1(2x) = u(u + 2)
                power.mul_(power + 2)
            if weight:
                for first in range(0, size, height):  # each pair once, or little more
                    rows = power[first : first + height]
                    gram[first : first + height, first:] += weight * (rows @ power[first:].T)
    gram = gram.triu() + gram.triu(1).T
    norms = gram.diagonal()
    result = (norms[:, None] + norms[None, :] - 2 * gram) / (2 * maps.shape[1])
    _mend(result, flat, maps.shape[1])
    return result


def _mend(result: Tensor, flat: Tensor, rows: int) -> None:
    """Compute the pairs of nearly equal heads directly, in float64, in place."""
    pairs = torch.triu(result < SMALL, diagonal=1).nonzero()
    result.fill_diagonal_(0.0)
    if len(pairs) == 0:
        return
    exact = flat.double()
    entropy = torch.special.entr(exact).sum(1)
    for one in torch.unique(pairs[:, 0]).tolist():
        others = pairs[pairs[:, 0] == one, 1]
        middle = torch.special.entr((exact[one] + exact[others]) / 2).sum(1)
        values = ((middle - (entropy[one] + entropy[others]) / 2) / rows).clamp_min(0.0)
        result[one, others] = values
        result[others, one] = values


class Distance(Measure):
    """Mean Jensen–Shannon divergence of every pair of heads over the rows of an example, averaged
    over examples (Clark et al. 2019, section 6 and Figure 6).

    It needs the maps of all layers of a batch at once, and must be asked for by name. What goes to
    a learned sink (GPT-OSS) counts as attention to one more key.

    Parameters
    ----------
    exact
        Compute pair by pair in float64 instead of by matrix products.
    """

    name = "distance"
    title = "Distance between heads"
    unit = "nats"
    source = "Clark et al. 2019, §6, Figure 6"
    dims: Mapping[str, tuple[str, ...]] = {}
    offered = False
    listed = False

    def __init__(self, exact: bool = False) -> None:
        self.exact = exact

    @property
    def lead(self) -> dict[str, tuple[int, ...] | tuple[str, ...]]:
        """Every head against every other, named as people do."""
        shape = self.context.shape
        names = tuple(str(head) for head in shape.every_head)
        return {"one": names, "other": names}

    def prepare(self, batch: Batch, device: Any) -> list[int]:
        """The lengths of the examples."""
        return [len(item) for item in batch.items]

    def layer(self, view: LayerView, attention: Tensor, prepared: list[int]) -> Tensor:
        """Keep the layer; the answer comes when all are there."""
        return attention

    def finish(self, layers: Sequence[Tensor], prepared: list[int]) -> Tensor:
        """(batch, head, head, 1), from the maps of all layers."""
        divergence = exact_divergence if self.exact else fast_divergence
        found = []
        for index, length in enumerate(prepared):
            maps = torch.cat([layer[index, :, :length, :length] for layer in layers])
            if self.context.shape.sink:  # the sink is one more key, so that rows sum to 1
                maps = torch.cat([maps, (1 - maps.sum(-1, keepdim=True)).clamp_min(0)], -1)
            found.append(divergence(maps.contiguous()))
        return torch.stack(found)[..., None]
