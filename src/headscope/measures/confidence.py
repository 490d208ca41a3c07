"""Confidence (Voita et al. 2019): the largest weight of a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import SEPARATOR, Encoded
from headscope.measures.row_mean import RowMean


class Confidence(RowMean):
    """The mean over tokens of their largest attention weight.

    The end token ([SEP], EOS) takes no part, neither as a row nor as a key.

    References
    ----------
    Voita et al. 2019, "Analyzing Multi-Head Self-Attention", section 5.1.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="confidence")
    >>> round(float(atlas.mean("confidence").sel(layer=1, head=3)), 1)
    1.0
    """

    name = "confidence"
    title = "Confidence"
    unit = "share of attention"
    source = "Voita et al. 2019, §5.1"
    dims = {}

    def of_rows(self, block: Tensor, first_row: int) -> Tensor:
        """The largest weight of every row."""
        return block.amax(-1, keepdim=True)

    def counted_rows(self, item: Encoded) -> NDArray[np.bool_]:
        """All rows but those of end tokens."""
        return np.asarray(item.kind != SEPARATOR)

    def counted_keys(self, item: Encoded) -> NDArray[np.bool_]:
        """All keys but end tokens."""
        return np.asarray(item.kind != SEPARATOR)
