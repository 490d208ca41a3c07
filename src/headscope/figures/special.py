"""Attention to special tokens and punctuation (Clark et al. 2019, Figure 2, top)."""

from __future__ import annotations

from typing import Any

from headscope.figures.scatter import HALF, layer_scatter, uniform_level
from headscope.figures.style import subject
from headscope.figures.tidy import unit_text
from headscope.results import Atlas


def special(results: Atlas, *, uniform: float | None = None) -> Any:
    """Draw every head's attention to [CLS], [SEP], full stops and commas, above its layer.

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
    means = results.mean("special").sel(row="all")
    series = {
        "to [CLS]": means.sel(token="cls"),
        "to [SEP]": means.sel(token="sep"),
        "to full stop or comma": means.sel(token="punctuation"),
    }
    return layer_scatter(
        series,
        title="Attention to special tokens",
        subtitle=subject(results.provenance),
        unit=unit_text("share of attention"),
        levels=HALF | uniform_level(uniform),
        top=1.0,
    )
