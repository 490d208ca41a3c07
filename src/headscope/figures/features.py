"""Attention to linguistic features, and its change (Kovaleva et al. 2019, Figure 6)."""

from __future__ import annotations

from typing import Any

from headscope.figures.grids import measure_grid
from headscope.results import Atlas


def features(results: Atlas) -> Any:
    """Draw one small map per feature."""
    return measure_grid(results, "feature", "Attention to features")


def features_change(results: Atlas) -> Any:
    """Draw one small map per feature: the second model minus the first."""
    return measure_grid(results, "feature-change", "Change in attention to features")
