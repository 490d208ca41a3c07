"""Attention to [SEP], from [SEP] and from other tokens (Clark et al. 2019, Figure 2, bottom)."""

from __future__ import annotations

from typing import Any

from headscope.figures.scatter import layer_scatter
from headscope.figures.style import subject
from headscope.figures.tidy import unit_text
from headscope.results import Atlas


def from_sep(results: Atlas) -> Any:
    """Draw every head's attention to [SEP] by where it comes from, above its layer."""
    means = results.mean("special").sel(token="sep")
    series = {"from [SEP]": means.sel(row="sep"), "from other tokens": means.sel(row="other")}
    return layer_scatter(
        series,
        title="Attention to [SEP]",
        subtitle=subject(results.provenance),
        unit=unit_text("share of attention"),
        top=1.0,
    )
