"""How similar the maps of two models are, head by head (Kovaleva et al. 2019, Figure 5)."""

from __future__ import annotations

from typing import Any

from headscope.figures.heat import heat_map
from headscope.figures.style import subject
from headscope.results import Atlas


def change(results: Atlas) -> Any:
    """Draw the cosine between the two models' maps, for every head."""
    data = results["change"]
    return heat_map(
        data["mean"],
        title="Similarity of the two models' maps",
        subtitle=subject(results.provenance),
        unit="cosine, 1 = unchanged",
        domain=(0, 1),
        low=data["low"].clip(-1, 1),
        high=data["high"].clip(-1, 1),
    )
