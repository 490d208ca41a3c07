"""Head distances (Clark et al. 2019, §6, Fig. 6): the Jensen–Shannon divergence between the rows of
every pair of heads.

The cost is ``x ln x`` of the mean of two rows, for every pair of heads. But x ln x is an integral
of exponentials, x ln x = ∫ (e^{-λx} - 1 + linear) λ^{-2} dλ, and an exponential of a sum is a
product. With u = expm1(-λp/2), v = expm1(-λq/2), ½e^{-λp} + ½e^{-λq} - e^{-λ(p+q)/2} = ½(u - v)²:
each node of a quadrature over λ turns the divergence into a squared Euclidean distance, and all
pairs of heads into one matrix product. Linear terms cancel; 21 nodes, each √6 times the one before,
give 1e-3 relative (tools/fit_divergence.py). Six times a node is cheap: expm1(2x) = u(u + 2) and
expm1(3x) = u(u(u + 3) + 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from headscope.encode import Batch
from headscope.measures.base import Measure
from headscope.models import LayerView

FIRST, RATIO = 0.4, 6**0.5
FACTORS = (
    2.49363,
    0.54034,
    1.06888,
    0.99169,
    1.00145,
    0.99933,
    1.0007,
    0.99901,
    1.00151,
    0.99763,
    1.00376,
    0.99395,
    1.00989,
    0.98353,
    1.02813,
    0.95039,
    1.09129,
    0.82293,
    1.3612,
    0.2617,
    2.27287,
)
NODES = FIRST * RATIO ** np.arange(len(FACTORS))
WEIGHTS = np.array(FACTORS) * np.log(RATIO) / NODES
COLUMNS, SHARES, PARTS = 8192, 4, 3
"""How many weights of each map are taken at a time, in how many shares, which threads divide among
themselves, and in how many parts the heads.
"""
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
    for columns in torch.split(_without_zeros(flat), COLUMNS, dim=1):  # few enough for the cache
        _add_products(gram, columns)
    gram = gram.triu() + gram.triu(1).T
    norms = gram.diagonal()
    result = (norms[:, None] + norms[None, :] - 2 * gram) / (2 * maps.shape[1])
    _mend(result, flat, maps.shape[1])
    return result


def _add_products(gram: Tensor, columns: Tensor) -> None:
    """Add the weighted products of every two heads at all nodes to the upper triangle of ``gram``,
    in place.
    """
    size, count = columns.shape
    columns = functional.pad(columns, (0, -count % SHARES))  # zeros add nothing
    columns = columns.view(size, SHARES, -1).transpose(0, 1).contiguous()
    height = -(-size // PARTS)
    products = columns.new_zeros(SHARES, size, size)
    chains = [torch.expm1(columns * (-node / 2)) for node in NODES[:2]]  # even and odd nodes
    factor = torch.empty_like(columns)
    for number, weight in enumerate(WEIGHTS):
        power = chains[number % 2]
        if number > 1:
            power.mul_(torch.add(power, 2, out=factor))
            power.mul_(torch.add(power, 3, out=factor).mul_(power).add_(3))
        for first in range(0, size, height):  # each pair once, or little more
            rows = slice(first, first + height)
            products[:, rows, first:] = torch.bmm(power[:, rows], power[:, first:].mT)
        gram.add_(products.sum(0), alpha=float(weight))


def _without_zeros(flat: Tensor) -> Tensor:
    """Skip positions where no head has any weight: nearly half of a causal model's map."""
    used = flat.any(0)
    return flat if bool(used.all()) else flat[:, used]


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
    range = "positive"
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
