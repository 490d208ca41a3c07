"""Roles in plain English: what a head with a role does, and where its attention goes."""

from __future__ import annotations

from headscope.measures.roles import FAMILIES, ROLES
from headscope.results import Atlas

ROLE_WORDS = {name: role.words for name, role in ROLES.items()}
"""How sentences speak of each role."""
ORDER = tuple(FAMILIES)
"""The families in the order in which they are listed: the most specific first."""
FAMILY_WORDS = {name: (family.does, family.do, family.what) for name, family in FAMILIES.items()}
"""By family: what one head does, what several do, and the words that stand out."""


def sink_words(results: Atlas) -> dict[str, str]:
    """What the kinds of sinks in ``activity`` are called, as the model names its own tokens.

    Parameters
    ----------
    results
        Results with the measure ``activity``.
    """
    tokens = token_names(results)
    start = results["activity"]["mean"].sel(where="start") if _has(results, "start") else None
    without = start is None or not bool((start > 0).any())
    return {
        "start": tokens.get("start", "the start token"),
        "separator": tokens.get("separator", "separators"),
        "stops": "full stops and commas",
        "other": "the first token" if without else "other special tokens",
    }


def token_names(results: Atlas) -> dict[str, str]:
    """What the model calls its start token and its separator; empty where results do not say.

    Results of two models with different tokens do not say.
    """
    names = results.provenance.get("model", {}).get("tokens", {})
    return dict(names) if isinstance(names, dict) else {}


def _has(results: Atlas, kind: str) -> bool:
    return kind in results["activity"]["where"].values
