"""Relative position (Clark et al. 2019, §3.1): attention to the previous, the current and the next
token.
"""

from __future__ import annotations

from collections.abc import Sequence

from headscope.encode import Encoded
from headscope.measures.kinds import Diagonals, mass_weights
from headscope.measures.relation import Linear, Weights


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

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Diagonals: one below, on and one above the middle."""
        before, here, after = (mass_weights(Diagonals(len(item), (at,))) for at in (-1, 0, 1))
        return [before, here, None if self.context.causal else after]
