"""Attention along frame links (Kovaleva et al. 2019, Figure 3)."""

from __future__ import annotations

from typing import Any

from headscope.figures.heat import heat_map
from headscope.figures.squares import outline
from headscope.figures.style import subject
from headscope.figures.tidy import interval, unit_text
from headscope.results import Atlas
from headscope.stats import outstanding


def frames(results: Atlas) -> Any:
    """Draw every head's attention along frame links; those that stand out have a red frame."""
    data = results["frame"].sel(direction="both")
    low, high = interval(data)
    chart = heat_map(
        data["mean"],
        title="Attention along frame links",
        subtitle=subject(results.provenance),
        unit=unit_text("share of attention"),
        low=low,
        high=high,
    )
    _, heads = outstanding(data["mean"])
    return chart + outline(heads)
