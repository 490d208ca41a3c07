"""Frame relations (Kovaleva et al. 2019, §4.2, Fig. 3): the largest attention between a frame's
target and its core elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from headscope.encode import Encoded
from headscope.measures.strongest import Places, Strongest, every_pair

DIRECTIONS = ("both", "target to element", "element to target")


class Frame(Strongest):
    """The largest attention among the token pairs of an example's frame links, in both directions
    and in each alone (Kovaleva et al. 2019, section 4.2 and Figure 3).

    A link whose target or element was cut off is no link.
    """

    name = "frame"
    title = "Attention along frame links"
    source = "Kovaleva et al. 2019, §4.2, Figure 3"
    needs: ClassVar[frozenset[str]] = frozenset({"frames"})
    dims = {"direction": DIRECTIONS}

    def pairs(self, item: Encoded) -> Sequence[Places]:
        """All pairs of a piece of the target and a piece of the element, over all links of the
        example.
        """
        found = [np.zeros((0, 2), np.int64)]
        found += [
            every_pair(_pieces(item, link.target), _pieces(item, link.filler))
            for link in item.example.links
        ]
        there = np.concatenate(found)
        back = there[:, ::-1]
        return [np.concatenate([there, back]), there, back]


def _pieces(item: Encoded, span: tuple[int, int]) -> Places:
    """The tokens of words ``span[0]`` to ``span[1]``."""
    return np.flatnonzero((item.word >= span[0]) & (item.word <= span[1]))
