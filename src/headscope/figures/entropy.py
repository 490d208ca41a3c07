"""Entropy of attention (Clark et al. 2019, Figure 4)."""

from __future__ import annotations

from typing import Any

from headscope.figures.scatter import layer_scatter
from headscope.figures.style import subject
from headscope.results import Atlas


def entropy(results: Atlas) -> Any:
    """Draw every head's entropy, from all tokens and from [CLS], with the uniform line."""
    means = results.mean("entropy")
    series = {"from all tokens": means.sel(row="all"), "from [CLS]": means.sel(row="cls")}
    return layer_scatter(
        series,
        title="Entropy of attention",
        subtitle=subject(results.provenance),
        unit="entropy, nats (0 = all on one token)",
        line=means.sel(row="uniform"),
        line_name="uniform attention",
    )
