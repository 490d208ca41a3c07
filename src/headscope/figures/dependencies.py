"""The best head of each dependency relation (Clark et al. 2019, Table 1)."""

from __future__ import annotations

from typing import Any

from headscope.figures.bars import BESIDE, ranked_bars
from headscope.figures.style import subject
from headscope.results import Atlas
from headscope.stats import best_heads

MOST = 24
"""So many relations are drawn, the most frequent first."""
WAYS = {
    "dependent to head": "dependent → head",
    "head to dependent": "head → dependent",
    "head to dependent by column": "head → dependent, by column",
}
"""The directions of attention, as the figure writes them."""
SHORT = {"all but root and punctuation": "all but root and punct"}
"""Names of rows that would take too much room."""


def dependencies(results: Atlas) -> Any:
    """Draw the accuracy of the best head of each relation, with its direction and the offset."""
    table = best_heads(results).head(MOST)
    beside = [
        f"{row.head}, {WAYS[str(row.direction)]}; {row.offset:+d}" for row in table.itertuples()
    ]
    return ranked_bars(
        table.assign(relation=table["relation"].replace(SHORT), **{BESIDE: beside}),
        label="relation",
        title="Dependencies: the best head of each relation",
        subtitle=subject(results.provenance),
        unit="accuracy: share of words, 0–1",
    )
