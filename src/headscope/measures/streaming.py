"""Streaming heads (Xiao et al. 2024): what is lost if only first and recent tokens are kept."""

from __future__ import annotations

import json

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import Encoded
from headscope.measures.options import at_least
from headscope.measures.row_mean import RowMean


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
    unit = "share of attention"
    source = "after Xiao et al. 2024, §2"
    dims = {"where": ("first", "recent", "distant")}
    offered = False

    def __init__(self, first: int = 4, recent: int = 64) -> None:
        self.first = at_least("number of first tokens", first, 0)
        self.recent = at_least("number of recent tokens", recent, 1)

    def attributes(self) -> dict[str, str]:
        """Also what the kinds of tokens are called."""
        titles = {
            "first": f"attention to the first {self.first} tokens",
            "recent": f"attention to the last {self.recent} tokens",
            "distant": "attention to distant tokens: neither first nor recent",
        }
        return super().attributes() | {"titles": json.dumps(titles)}

    def counted_rows(self, item: Encoded) -> NDArray[np.bool_]:
        """The rows with a distant key."""
        places, last = np.arange(len(item)), len(item) - 1
        before = places >= self.first + self.recent
        after = (last >= self.first) & (last - places >= self.recent)
        return np.asarray(before if self.context.causal else before | after)

    def of_rows(self, block: Tensor, first_row: int) -> Tensor:
        """Attention to the three kinds of keys."""
        rows, keys = block.shape[2:]
        places = torch.arange(max(first_row + rows, keys), device=block.device)
        away = (places[first_row : first_row + rows, None] - places[:keys]).abs()
        late = places[:keys] >= self.first
        near = (late & (away < self.recent)).to(block.dtype)
        far = (late & (away >= self.recent)).to(block.dtype)
        return torch.stack(
            [block[..., : self.first].sum(-1), (block * near).sum(-1), (block * far).sum(-1)], -1
        )
