"""Reach: how far away a head looks, in tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.measures.row_mean import RowMean

TINY = torch.finfo(torch.float32).tiny


def distance_sums(block: Tensor, first_row: int) -> tuple[Tensor, Tensor]:
    """Σ α·|i-j| and Σ α·|i-j|² of every row: (batch, head, row, key) -> (batch, head, row).

    A thin matrix product for each row, over all heads at once: the maps are read once and nothing
    of their size is made. Keys are last on both sides, which is six times as fast as the other way
    round.

    Parameters
    ----------
    block
        Rows of the maps.
    first_row
        The number of the first of them.

    Examples
    --------
    >>> once, twice = distance_sums(torch.tensor([[[[0.5, 0.0, 0.5]]]]), first_row=2)
    >>> once.item(), twice.item()
    (1.0, 2.0)
    """
    size, heads, rows, keys = block.shape
    places = torch.arange(max(first_row + rows, keys), device=block.device, dtype=block.dtype)
    away = (places[first_row : first_row + rows, None] - places[:keys]).abs()
    weights = torch.stack([away, away**2], 1)  # (row, 2, key)
    found = torch.bmm(weights, block.reshape(size * heads, rows, keys).permute(1, 2, 0))
    once, twice = found.permute(1, 2, 0).reshape(2, size, heads, rows).unbind(0)
    return once, twice


class Reach(RowMean):
    """The distance between a token and the tokens that it attends to, in tokens.

    Three means over tokens: ``distance``, the mean distance under the token's weights; ``square``,
    the mean squared distance; and ``variance``, their variance within the row. The variance over
    all rows and keys together is ``square`` less the square of ``distance``. In a model with a
    learned sink (GPT-OSS), what the sink takes has no distance: rows are scaled to sum to 1.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="reach")
    >>> round(float(atlas.mean("reach").sel(layer=1, head=3, moment="distance")))
    1
    """

    name = "reach"
    title = "Distance of attention"
    unit = "tokens"
    range = "positive"
    source = "Headscope"
    dims = {"moment": ("distance", "square", "variance")}

    def of_rows(self, block: Tensor, first_row: int) -> Tensor:
        """Mean distance, mean square and variance of every row."""
        if self.context.shape.sink:
            block = block / block.sum(-1, keepdim=True).clamp_min(TINY)
        once, twice = distance_sums(block, first_row)
        return torch.stack([once, twice, (twice - once**2).clamp_min(0.0)], -1)
