"""Attention between verbs and subjects, nouns and pronouns (Kovaleva et al. 2019, §4.5)."""

from __future__ import annotations

from typing import Any

from headscope.figures.grids import measure_grid
from headscope.results import Atlas

PAIRS = ("verb to subject", "subject to verb", "noun to pronoun", "pronoun to noun")
"""The links between words; the others start at [CLS]."""


def links(results: Atlas) -> Any:
    """Draw one small map per kind of pair."""
    title = "Attention from token to token"
    return measure_grid(results, "link", title, labels=PAIRS, columns=2)


def links_change(results: Atlas) -> Any:
    """Draw one small map per kind of pair: the second model minus the first."""
    title = "Change in attention from token to token"
    return measure_grid(results, "link-change", title, labels=PAIRS, columns=2)
