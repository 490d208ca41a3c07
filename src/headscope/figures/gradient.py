"""Gradient importance of attention to each kind of token (Clark et al. 2019, Figure 3)."""

from __future__ import annotations

from typing import Any

from headscope.figures.scatter import layer_scatter
from headscope.figures.style import subject
from headscope.results import Atlas


def gradient(results: Atlas) -> Any:
    """Draw how much the loss would change with each head's attention, above its layer."""
    means = results.mean("gradient")
    series = {
        "to [SEP]": means.sel(token="sep"),
        "to full stop or comma": means.sel(token="punctuation"),
        "to other tokens": means.sel(token="other"),
    }
    return layer_scatter(
        series,
        title="Gradient importance",
        subtitle=subject(results.provenance),
        unit="mean |∂loss/∂α| (higher = matters more)",
    )
