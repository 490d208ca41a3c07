"""Fixed offsets: the baseline that says the head word always stands so many words away."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

FURTHEST = 10
"""Offsets of more words are no baseline."""
ELSEWHERE = 0
"""Counts the words whose head word is further away, and roots."""


def best_offset(counts: Mapping[int, int]) -> int:
    """The most frequent distance from a dependent to its head word; of equals, the shorter, then
    the one to the right.

    >>> best_offset(Counter({1: 3, -2: 3, 5: 1}))
    1
    """
    near = {offset: count for offset, count in counts.items() if 0 < abs(offset) <= FURTHEST}
    return max(near, key=lambda offset: (near[offset], -abs(offset), offset), default=1)


@dataclass
class OffsetCounts:
    """How often the head word stands at each offset, by relation and half of the corpus.

    Parameters
    ----------
    halves
        By relation: the counts of the first half (even buckets) and of the second.

    Examples
    --------
    >>> counts = OffsetCounts()
    >>> for half, offset in ((0, 1), (0, 1), (1, -2), (1, None)):
    ...     counts.add("det", half, offset)
    >>> counts.best()["det"], counts.chosen("det")
    (1, (1, -2))
    """

    halves: dict[str, tuple[Counter[int], Counter[int]]] = field(default_factory=dict)

    def add(self, relation: str, half: int, offset: int | None) -> None:
        """Count a word whose head word is ``offset`` words away, or None for a root."""
        pair = self.halves.setdefault(relation, (Counter(), Counter()))
        near = offset is not None and 0 < abs(offset) <= FURTHEST
        pair[half][offset if near and offset is not None else ELSEWHERE] += 1

    def best(self) -> dict[str, int]:
        """The best offset of each relation on the whole corpus."""
        return {relation: best_offset(one + two) for relation, (one, two) in self.halves.items()}

    def chosen(self, relation: str) -> tuple[int, int]:
        """The best offset of a relation on each half."""
        one, two = self.halves[relation]
        return best_offset(one), best_offset(two)

    def attributes(self) -> dict[str, str]:
        """The offsets as they are written beside the numbers.

        ``offsets`` has the best one of each relation, ``half_offsets`` the best one on each half,
        and ``offset_counts`` how many words have their head word at each offset.
        """
        whole = {relation: one + two for relation, (one, two) in self.halves.items()}
        return {
            "offsets": json.dumps(self.best()),
            "half_offsets": json.dumps({name: self.chosen(name) for name in self.halves}),
            "offset_counts": json.dumps(
                {name: dict(sorted(counts.items())) for name, counts in whole.items()}
            ),
        }
