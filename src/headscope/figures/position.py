"""Attention to the previous, current and next token (Clark et al. 2019, §3.1)."""

from __future__ import annotations

from typing import Any

from headscope.figures.scatter import HALF, layer_scatter
from headscope.figures.style import subject
from headscope.figures.tidy import unit_text
from headscope.results import Atlas


def position(results: Atlas) -> Any:
    """Draw every head's attention by relative position, above its layer."""
    means = results.mean("position")
    series = {f"{offset} token": means.sel(offset=offset) for offset in means["offset"].values}
    return layer_scatter(
        series,
        title="Attention by relative position",
        subtitle=subject(results.provenance),
        unit=unit_text("share of attention"),
        levels=HALF,
        top=1.0,
    )
