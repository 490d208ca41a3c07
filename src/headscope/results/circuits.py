"""Circuits and retrieval scores beside a survey of the same model: what belongs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headscope.errors import ResultsError

if TYPE_CHECKING:
    from headscope.results.atlas import Atlas

CIRCUITS, RETRIEVAL = "circuits", "retrieval"
"""What their provenance calls them, and where joined results keep their notes. Functions and
commands that make them have the same names."""
WORDS = {CIRCUITS: "circuits", RETRIEVAL: "retrieval scores"}
SHAPE = ("stack", "layers", "heads")


def kind_of(results: Atlas) -> str:
    """``"circuits"`` or ``"retrieval"`` for results that can be joined to a survey, else ""."""
    kind = str(results.provenance.get("kind", ""))
    return kind if kind in WORDS else ""


def is_circuits(results: Atlas) -> bool:
    """Whether results are circuits alone, made from weights without a corpus."""
    return kind_of(results) == CIRCUITS


def same_weights(survey: Atlas, added: Atlas) -> bool:
    """Whether circuits or retrieval scores are of the very weights and stack of a survey."""
    one, two = (atlas.provenance.get("model", {}) for atlas in (survey, added))
    known = [*two.get("same_weights", []), two.get("weights")]
    return one.get("weights") in known and all(one.get(part) == two.get(part) for part in SHAPE)


def join(survey: Atlas, added: Atlas, kind: str = CIRCUITS) -> Atlas:
    """A survey with the groups of circuits, or of retrieval scores, of the same model.

    Parameters
    ----------
    survey
        The results to add to.
    added
        The circuits or retrieval scores.
    kind
        Which of them: ``"circuits"`` or ``"retrieval"``.

    Raises
    ------
    ResultsError
        If the second results are something else, or are of other weights.
    """
    name = survey.provenance.get("model", {}).get("name", "?")
    words = WORDS[kind]
    if kind_of(added) != kind:
        raise ResultsError(
            f"these results are not {words}",
            hint=f"make them with hs.{kind}({name!r})",
            command=f"make them with: headscope {kind} {name} -o {kind}.nc",
        )
    if not same_weights(survey, added):
        other = added.provenance.get("model", {}).get("name", "?")
        raise ResultsError(
            f"the {words} of {other} are not of the weights that were surveyed ({name})",
            hint=f"make them from the same model and options: hs.{kind}({name!r})",
            command=f"make them with the same options: headscope {kind} {name} -o {kind}.nc",
        )
    about: dict[str, Any] = survey.provenance
    made = added.provenance
    about[kind] = {key: made.get(key) for key in ("settings", "notes", "identity")}
    tree = survey.tree.copy()
    for group in added:
        tree[group] = added.tree[group].copy()
    return type(survey)(tree).described(about)


def join_all(results: Sequence[Atlas]) -> list[Atlas]:
    """Surveys and other results, each with its circuits and retrieval scores.

    What is joined is taken out of the list; what stands first, or alone, stays as it is.

    Raises
    ------
    ResultsError
        If circuits or retrieval scores belong to none of the other results.
    """
    found = [atlas for at, atlas in enumerate(results) if not (at and kind_of(atlas))]
    for added in results[1:]:
        kind = kind_of(added)
        if not kind:
            continue
        places = [at for at, atlas in enumerate(found) if same_weights(atlas, added)]
        for at in places:
            found[at] = join(found[at], added, kind)
        if not places:
            join(found[0], added, kind)  # raises, and says why
    return found
