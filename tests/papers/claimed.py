"""The claims of a paper, tested on results that were made for it."""

from __future__ import annotations

from typing import Any

from headscope.papers import Recipe
from headscope.papers.claims import Finding

HOLDS = {"yes": True, "no": False}


def findings(recipe: type[Recipe], **results: Any) -> dict[str, Finding]:
    """What is found of each claim that has all results it needs, by the name of its test."""
    return {
        claim.test.__name__: claim.finding(results)
        for claim in recipe.claims
        if set(claim.needs) <= set(results)
    }


def found(findings: dict[str, Finding], name: str) -> tuple[str, bool | None]:
    """The number here, and whether the claim holds: None if it is undecided or not tested."""
    return findings[name].here, HOLDS.get(findings[name].holds)


def verdicts(findings: dict[str, Finding]) -> dict[str, bool | None]:
    """Whether each claim holds."""
    return {name: HOLDS.get(one.holds) for name, one in findings.items()}
