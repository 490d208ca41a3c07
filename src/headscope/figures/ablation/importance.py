"""Gradient importance of every head (Michel et al. 2019)."""

from __future__ import annotations

from typing import Any

from headscope.figures.heat import heat_map
from headscope.figures.style import subject
from headscope.results import Atlas


def importance(results: Atlas) -> Any:
    """Draw a heat map of gradient importance."""
    data = results["importance"]
    return heat_map(
        data["mean"],
        title="Gradient head importance",
        subtitle=subject(results.provenance),
        unit="mean |∂loss/∂ξ|",
        low=data["low"].clip(min=0.0),
        high=data["high"],
    )
