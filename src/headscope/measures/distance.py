"""How far maps are apart: of every pair of heads, and of one head in two models.

Head distances (Clark et al. 2019, §6, Fig. 6) are Jensen–Shannon divergences between the rows of
every pair of heads. The cost is ``x ln x`` of the mean of two rows. But x ln x is an integral of
exponentials, x ln x = ∫ (e^{-λx} - 1 + linear) λ^{-2} dλ, and an exponential of a sum is a
product. With u = expm1(-λp/2), v = expm1(-λq/2), ½e^{-λp} + ½e^{-λq} - e^{-λ(p+q)/2} = ½(u - v)²:
each node of a quadrature over λ turns the divergence into a squared Euclidean distance, and all
pairs of heads into one matrix product. Linear terms cancel; 21 nodes, each √6 times the one before,
give 1e-3 relative (tools/makers/fit_divergence.py). Six times a node is cheap: expm1(2x) = u(u + 2)
and expm1(3x) = u(u(u + 3) + 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from headscope.corpus import Example
from headscope.errors import UserError
from headscope.measures.arcs import OfArcs, Profile
from headscope.measures.base import Context, Measure
from headscope.measures.kernels import to_device
from headscope.measures.lazy import torch
from headscope.measures.words import WordMeasure

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.encode import Batch
    from headscope.models import LayerView

FIRST, RATIO = 0.4, 6**0.5
FACTORS = (
    2.49363, 0.54034, 1.06888, 0.99169, 1.00145, 0.99933, 1.0007, 0.99901,
    1.00151, 0.99763, 1.00376, 0.99395, 1.00989, 0.98353, 1.02813, 0.95039,
    1.09129, 0.82293, 1.3612, 0.2617, 2.27287,
)  # fmt: skip
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
    for head in range(len(flat) - 1):
        middle = torch.special.entr((flat[head] + flat[head + 1 :]) / 2).sum(1)
        result[head, head + 1 :] = middle - (entropy[head] + entropy[head + 1 :]) / 2
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
    columns = torch.nn.functional.pad(columns, (0, -count % SHARES))  # zeros add nothing
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
    for head in torch.unique(pairs[:, 0]).tolist():
        others = pairs[pairs[:, 0] == head, 1]
        middle = torch.special.entr((exact[head] + exact[others]) / 2).sum(1)
        values = ((middle - (entropy[head] + entropy[others]) / 2) / rows).clamp_min(0.0)
        result[head, others] = values
        result[others, head] = values


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
    says = "distance between heads{one}{other}"
    labels = {"one": {"": " {}"}, "other": {"": " and {}"}}
    dims = {}  # these two are in the place of layer and head
    read = {}
    grid = False
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
        divergences = []
        for index, length in enumerate(prepared):
            maps = torch.cat([layer[index, :, :length, :length] for layer in layers])
            if self.context.shape.sink:  # the sink is one more key, so that rows sum to 1
                maps = torch.cat([maps, (1 - maps.sum(-1, keepdim=True)).clamp_min(0)], -1)
            divergences.append(divergence(maps.contiguous()))
        return torch.stack(divergences)[..., None]


# --- two models (Kovaleva et al. 2019, §4.3, Fig. 5) ---


def flat_rows(maps: Tensor, real: Tensor, first_row: int) -> Tensor:
    """Rows of maps, flattened to (batch, head, weight), 0 where tokens are padding.

    Parameters
    ----------
    maps
        (batch, head, row, key).
    real
        Which tokens are real, (batch, token).
    first_row
        The number of the first row.
    """
    rows = real[:, first_row : first_row + maps.shape[2]]
    both = (rows[:, :, None] & real[:, None, : maps.shape[3]])[:, None]
    return maps.masked_fill(~both, 0.0).flatten(2)


@dataclass
class MapSums:
    """What the cosine of two maps is made of, summed over the blocks of a layer.

    Maps of two models are often nearly equal. Their distance is summed as such, not as a difference
    of large sums, so that 1 - cosine has all its digits.
    """

    real: Tensor  # (batch, token)
    # (4, batch, head), of maps a and b: (a - b)², (a - b)(a + b), a², b².
    sums: Tensor | None = None

    def add(self, one: Tensor, other: Tensor, first_row: int) -> None:
        """Take in the same rows of both maps, (batch, head, row, key) twice."""
        a, b = (flat_rows(maps, self.real, first_row) for maps in (one, other))
        apart = a - b
        pairs = ((apart, apart), (apart, a + b), (a, a), (b, b))
        products = torch.stack([torch.einsum("bhp,bhp->bh", *pair) for pair in pairs]).double()
        self.sums = products if self.sums is None else self.sums + products

    def cosine(self) -> Tensor:
        """(batch, head), in double precision."""
        assert self.sums is not None
        (apart, squares, one, other), self.sums = self.sums, None
        one, other = one.sqrt(), other.sqrt()
        lengths = squares / (one + other)  # |a| - |b|
        away: Tensor = (apart - lengths**2) / (2 * one * other)
        return 1.0 - away.clamp_min(0.0)  # rounding may pass 1 by a hair


class Change(Measure, registered=False):
    """Cosine between the flattened maps of two models, real tokens only (Kovaleva et al. 2019,
    section 4.3). It needs both models at once: see :func:`headscope.compare`.
    """

    name = "change"
    title = "Likeness of the maps of two models"
    unit = "cosine"
    source = "Kovaleva et al. 2019, §4.3, Figure 5"
    says = "cosine between the maps of the two models"
    offered = False
    in_blocks = True

    def prepare(self, batch: Batch, device: Any) -> MapSums:
        """Which tokens are real."""
        return MapSums(to_device(batch.mask, device))

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: MapSums) -> None:
        """``block`` holds rows of both models, (2, batch, head, row, key)."""
        prepared.add(block[0], block[1], first_row)

    def end(self, view: LayerView, prepared: MapSums) -> Tensor:
        """(batch, head, 1)."""
        return prepared.cosine()[..., None]

    def finish(self, layers: Sequence[Tensor], prepared: MapSums) -> Tensor:
        """(batch, layer, head, 1)."""
        return torch.stack([*map(torch.Tensor.cpu, layers)], 1)


@dataclass
class MapPairs:
    """Maps of two models: products of every two heads of a layer, or all layers' maps."""

    real: Tensor  # (batch, token)
    products: Tensor | None = None  # (batch, head, head)
    squares: Tensor | None = None  # (2, batch, head)
    rows: list[Tensor] = field(default_factory=list)  # of one layer, (2, batch, head, weight)
    layers: list[Tensor] = field(default_factory=list)


class Match(Measure, registered=False):
    """Cosine between the flattened map of every head of a model and those of another's heads (Bali
    et al. 2026). It needs both models at once: see :func:`headscope.compare`.

    Parameters
    ----------
    across
        With which heads of the other model: those of the same "layer", or "all".
    """

    name = "match"
    title = "Likeness of every two heads of two models"
    unit = "cosine"
    source = "Bali et al. 2026"
    says = "cosine between the head's maps and those of head {other} of the other model"
    labels = {"other": {"": "{}"}}
    dims = {}
    offered = False
    listed = False

    def __init__(self, across: str = "layer") -> None:
        self.across = across
        self.in_blocks = across == "layer"  # type: ignore[misc]
        self.longest = 512  # type: ignore[misc]

    def bind(self, context: Context, corpus: Iterable[Example]) -> Self:
        """With the names of the other heads: in a layer, only their numbers."""
        bound = super().bind(context, corpus)
        shape = context.shape
        names = shape.every_head if self.across == "all" else range(1, shape.heads + 1)
        bound.dims = {"other": tuple(map(str, names))}
        return bound

    def prepare(self, batch: Batch, device: Any) -> MapPairs:
        """Which tokens are real."""
        return MapPairs(to_device(batch.mask, device))

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: MapPairs) -> None:
        """``block`` holds rows of both models, (2, batch, head, row, key)."""
        both = torch.stack([flat_rows(maps, prepared.real, first_row) for maps in block])
        if self.across == "all":
            prepared.rows.append(both)
            return
        products = (both[0] @ both[1].mT).double()
        squares = both.square().sum(-1).double()
        known = prepared.products, prepared.squares
        prepared.products = products if known[0] is None else known[0] + products
        prepared.squares = squares if known[1] is None else known[1] + squares

    def end(self, view: LayerView, prepared: MapPairs) -> Tensor:
        """(batch, head, other) of a layer; nothing yet, where all layers are compared."""
        if self.across == "all":
            prepared.layers.append(torch.cat(prepared.rows, -1).cpu())
            prepared.rows.clear()
            return prepared.layers[-1][0, :, :, :0]
        assert prepared.products is not None
        assert prepared.squares is not None
        one, other = prepared.squares.sqrt()
        cosines: Tensor = prepared.products / (one[..., None] * other[:, None])
        prepared.products = prepared.squares = None
        return cosines.clamp_(max=1.0)  # rounding may pass 1 by a hair

    def finish(self, layers: Sequence[Tensor], prepared: MapPairs) -> Tensor:
        """(batch, layer, head, other), from what the layers gave."""
        if self.across == "layer":
            return torch.stack([*map(torch.Tensor.cpu, layers)], 1)
        maps = torch.cat(prepared.layers, 2).double()
        one, other = maps / maps.norm(dim=-1, keepdim=True)
        cosines: Tensor = (one @ other.mT).clamp(max=1.0).unflatten(1, (len(layers), -1))
        return cosines


class Difference(Measure):
    """A measure's value in the second model minus that in the first, example by example.

    Its intervals are therefore those of paired differences.

    Parameters
    ----------
    measure
        The measure whose values are compared.
    """

    def __init__(self, measure: Measure) -> None:
        words = isinstance(measure, WordMeasure)
        if words or isinstance(measure, Profile | OfArcs):
            what = "counts right answers" if words else "averages over pairs of tokens"
            raise UserError(
                f"the measure {measure.name!r} {what}, and has no difference for each example",
                hint="survey both models and compare the two results: hs.compare(first, second)",
            )
        self.measure = measure
        self.in_blocks = measure.in_blocks  # type: ignore[misc]
        self.longest = measure.longest  # type: ignore[misc]
        self.name = f"{measure.name}-change"  # type: ignore[misc]
        self.title = f"{measure.title}: change"  # type: ignore[misc]
        self.unit = f"change in {measure.unit}"  # type: ignore[misc]
        self.source = measure.source  # type: ignore[misc]
        self.listed = measure.listed  # type: ignore[misc]

    def bind(self, context: Context, corpus: Iterable[Example]) -> Self:
        """Bind the measure that is compared."""
        bound = super().bind(context, corpus)
        bound.measure = self.measure.bind(context, corpus)
        bound.dims = bound.measure.dims
        return bound

    @property
    def lead(self) -> dict[str, tuple[int, ...] | tuple[str, ...]]:
        """As the measure that is compared."""
        return self.measure.lead

    def attributes(self) -> dict[str, str]:
        """As the measure that is compared, under this one's name."""
        own = {"title": self.title, "unit": self.unit, "range": "signed"}
        return self.measure.attributes() | own

    def identity(self) -> str:
        """As the measure that is compared."""
        return self.measure.identity()
