"""Attention to [SEP], from [SEP] and from other tokens (Clark et al. 2019, Figure 2, bottom)."""

from __future__ import annotations

from typing import Any

from headscope.figures.scatter import HALF, layer_scatter, uniform_level
from headscope.figures.style import subject
from headscope.figures.tidy import unit_text
from headscope.results import Atlas


def from_sep(results: Atlas, *, uniform: float | None = None) -> Any:
    """Draw every head's attention to [SEP] by where it comes from, above its layer.

    Parameters
    ----------
    results : Atlas
        With the measure special.
    uniform : float, optional
        The share that [SEP] would get if attention were uniform, drawn as a line.

    Returns
    -------
    altair chart
    """
    means = results.mean("special").sel(token="sep")
    series = {"from [SEP]": means.sel(row="sep"), "from other tokens": means.sel(row="other")}
    return layer_scatter(
        series,
        title="Attention to [SEP]",
        subtitle=subject(results.provenance),
        unit=unit_text("share of attention"),
        levels=HALF | uniform_level(uniform),
        top=1.0,
    )
