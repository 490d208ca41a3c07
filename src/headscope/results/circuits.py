"""Circuits beside a survey of the same model: which results belong together, and joining them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headscope.errors import ResultsError

if TYPE_CHECKING:
    from headscope.results.atlas import Atlas

CIRCUITS = "circuits"
"""What the provenance of circuits calls them, and where joined results keep their notes."""
SHAPE = ("stack", "layers", "heads")


def is_circuits(results: Atlas) -> bool:
    """Whether results are circuits alone, made from weights without a corpus."""
    return results.provenance.get("kind") == CIRCUITS


def same_weights(survey: Atlas, circuits: Atlas) -> bool:
    """Whether circuits are of the very weights and stack that a survey measured."""
    one, two = (atlas.provenance.get("model", {}) for atlas in (survey, circuits))
    known = [*two.get("same_weights", []), two.get("weights")]
    return one.get("weights") in known and all(one.get(part) == two.get(part) for part in SHAPE)


def join(survey: Atlas, circuits: Atlas) -> Atlas:
    """A survey with the groups of circuits of the same model added to it.

    Raises
    ------
    ResultsError
        If the second results are not circuits, or are of other weights.
    """
    name = survey.provenance.get("model", {}).get("name", "?")
    if not is_circuits(circuits):
        raise ResultsError(
            "these results are not circuits",
            hint=f"make them with hs.circuits({name!r})",
            command=f"make them with: headscope circuits {name} -o circuits.nc",
        )
    if not same_weights(survey, circuits):
        other = circuits.provenance.get("model", {}).get("name", "?")
        raise ResultsError(
            f"the circuits of {other} are not of the weights that were surveyed ({name})",
            hint=f"make them from the same model and options: hs.circuits({name!r})",
            command=f"make them with the same options: headscope circuits {name} -o circuits.nc",
        )
    about: dict[str, Any] = survey.provenance
    made = circuits.provenance
    about[CIRCUITS] = {key: made.get(key) for key in ("settings", "notes", "identity")}
    tree = survey.tree.copy()
    for group in circuits:
        tree[group] = circuits.tree[group].copy()
    return type(survey)(tree).described(about)


def join_all(results: Sequence[Atlas]) -> list[Atlas]:
    """Surveys and other results, each with its circuits; circuits are taken out of the list.

    Circuits that stand first, or alone, stay as they are.

    Raises
    ------
    ResultsError
        If circuits belong to none of the other results.
    """
    found = [atlas for at, atlas in enumerate(results) if not (at and is_circuits(atlas))]
    for circuits in results[1:]:
        if not is_circuits(circuits):
            continue
        places = [at for at, atlas in enumerate(found) if same_weights(atlas, circuits)]
        for at in places:
            found[at] = join(found[at], circuits)
        if not places:
            join(found[0], circuits)  # raises, and says why
    return found
