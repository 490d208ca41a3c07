"""Relative position (Clark et al. 2019, §3.1): attention to the previous, the current and the next
token.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headscope.encode import Encoded
from headscope.measures.relation import Linear, Pairs, mass_weights


def offset_pairs(length: int, offset: int) -> Pairs:
    """Pairs of each token with the one ``offset`` places on.

    >>> offset_pairs(2, -1)
    array([[False, False],
           [ True, False]])
    """
    return np.eye(length, k=offset, dtype=np.bool_)


class Position(Linear):
    """Mean attention to the previous, current and next token, over the tokens that have one.

    A causal model does not see the next token: NaN.

    References
    ----------
    Clark et al. 2019, section 3.1.
    """

    name = "position"
    title = "Attention by relative position"
    unit = "share of attention"
    source = "Clark et al. 2019, §3.1"
    dims = {"offset": ("previous", "current", "next")}

    def weights(self, item: Encoded) -> Sequence[NDArray[np.float32] | None]:
        """Diagonals: one below, on and one above the middle."""
        length = len(item)
        later = None if self.context.causal else mass_weights(offset_pairs(length, 1))
        return [
            mass_weights(offset_pairs(length, -1)),
            mass_weights(offset_pairs(length, 0)),
            later,
        ]
