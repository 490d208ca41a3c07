"""Heat maps of single statistics: previous and next token, [CLS], [SEP], entropy."""

from __future__ import annotations

from typing import Any

from headscope.figures.heat import measure_map
from headscope.results import Atlas


def heat_previous(results: Atlas) -> Any:
    """Draw every head's attention to the previous token."""
    return measure_map(results, "position", "Attention to the previous token", offset="previous")


def heat_next(results: Atlas) -> Any:
    """Draw every head's attention to the next token."""
    return measure_map(results, "position", "Attention to the next token", offset="next")


def heat_cls(results: Atlas) -> Any:
    """Draw every head's attention to the start token."""
    return measure_map(results, "special", "Attention to [CLS]", token="cls", row="all")


def heat_sep(results: Atlas) -> Any:
    """Draw every head's attention to the separator."""
    return measure_map(results, "special", "Attention to [SEP]", token="sep", row="all")


def heat_entropy(results: Atlas) -> Any:
    """Draw every head's entropy."""
    return measure_map(results, "entropy", "Entropy of attention", unit="entropy, nats", row="all")
