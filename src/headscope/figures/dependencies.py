"""The best head of each dependency relation (Clark et al. 2019, Table 1)."""

from __future__ import annotations

from typing import Any

from headscope.figures.bars import ranked_bars
from headscope.figures.style import subject
from headscope.results import Atlas
from headscope.stats import best_heads

MOST = 24
"""So many relations are drawn, the most frequent first."""


def dependencies(results: Atlas) -> Any:
    """Draw the accuracy of the best head of each relation."""
    return ranked_bars(
        best_heads(results).head(MOST),
        label="relation",
        title="Dependencies: the best head of each relation",
        subtitle=subject(results.provenance),
        unit="accuracy: share of words whose head word gets most attention, 0–1",
    )
