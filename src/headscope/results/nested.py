"""Results inside results: null models and checkpoints, in groups that are not measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from headscope.errors import ResultsError, unknown
from headscope.results.schema import NULL, TRACK

if TYPE_CHECKING:
    from headscope.results.atlas import Atlas

NULL_WORDS = {
    "random-weights": "random weights",
    "random-weights-keep-embeddings": "random weights, embeddings kept",
    "shuffled-words": "shuffled words",
}
"""The null models of a survey, in words: all weights drawn anew; all but the embeddings; the same
model on texts whose words are shuffled."""
NULLS = tuple(NULL_WORDS)


def check_nulls(null: str | Iterable[str]) -> tuple[str, ...]:
    """The names of null models, each once, in the order given.

    Parameters
    ----------
    null
        One name, or several.

    Raises
    ------
    UserError
        If there is no such null model.

    Examples
    --------
    >>> check_nulls("shuffled-words")
    ('shuffled-words',)
    """
    names = tuple(dict.fromkeys([null] if isinstance(null, str) else null))
    for name in names:
        if name not in NULLS:
            raise unknown("null model", str(name), NULLS)
    return names


def with_nulls(survey: Atlas, nulls: Mapping[str, Atlas]) -> Atlas:
    """A survey with those of its null models beside it.

    Parameters
    ----------
    survey
        Results of a survey.
    nulls
        Results of the same survey of null models, by name.
    """
    return _with_group(survey, NULL, {name: one.tree for name, one in nulls.items()})


def with_track(survey: Atlas, groups: Mapping[str, xr.Dataset]) -> Atlas:
    """A survey of the last checkpoint with the values of all checkpoints beside it."""
    return _with_group(survey, TRACK, {name: xr.DataTree(one) for name, one in groups.items()})


def _with_group(survey: Atlas, kind: str, parts: Mapping[str, xr.DataTree]) -> Atlas:
    tree = survey.tree.copy()
    tree[kind] = xr.DataTree(xr.Dataset(attrs={"kind": kind}))
    for name, part in parts.items():
        tree[f"{kind}/{name}"] = part.copy()
    return type(survey)(tree)


# --- checkpoints ---

CHECKPOINTS = "checkpoints"
"""Where the provenance of a track lists its checkpoints."""
EXCESS, ROLES = "excess", "roles"
"""Groups of a track besides its measures: the excess at every role, and main roles."""


@dataclass(frozen=True)
class Track:
    """What every head did at every checkpoint.

    Parameters
    ----------
    names
        The checkpoints, in their order.
    steps
        The steps that the names tell; None where they do not.
    groups
        By measure: ``value``, ``low``, ``high`` and ``count``, with the dimension ``checkpoint``
        before those of the measure. With main roles also ``excess`` (over even attention, at every
        role) and ``roles``.

    Examples
    --------
    >>> import headscope as hs
    >>> from headscope.models.loading import random_init
    >>> texts = ["The dog barks.", "A cat sleeps."]
    >>> models = [hs.load("demo"), random_init(hs.load("demo"), seed=0)]
    >>> track = hs.track(models, texts, measures="position").track
    >>> track.names, dict(track["position"].sizes)
    (('demo', 'demo (random, seed 0)'), {'checkpoint': 2, 'layer': 6, 'head': 12, 'offset': 3})
    """

    names: tuple[str, ...]
    steps: tuple[int, ...] | None
    groups: Mapping[str, xr.Dataset]

    def __getitem__(self, measure: str) -> xr.Dataset:
        if measure not in self.groups:
            raise unknown("measure", str(measure), self.groups, error=ResultsError)
        return self.groups[measure]

    def __contains__(self, measure: object) -> bool:
        return measure in self.groups

    @property
    def places(self) -> tuple[int, ...]:
        """Where checkpoints are on an axis: their steps, or else 1, 2, 3 …"""
        return self.steps or tuple(range(1, len(self.names) + 1))


def has_track(results: Atlas) -> bool:
    """Whether results hold the values of several checkpoints."""
    return TRACK in results.tree.children


def track_of(results: Atlas) -> Track:
    """The checkpoints of some results.

    Raises
    ------
    ResultsError
        If the results are of one model.
    """
    if not has_track(results):
        raise ResultsError(
            "these results are of one model, not of several checkpoints",
            hint="make results of checkpoints with hs.track(models, corpus)",
            command="make results of checkpoints with: headscope track FOLDER... CORPUS",
        )
    listed = results.provenance[CHECKPOINTS]
    steps = [one.get("step") for one in listed]
    groups = {str(name): part.to_dataset() for name, part in results.tree[TRACK].children.items()}
    return Track(
        tuple(str(one["name"]) for one in listed),
        None if None in steps else tuple(int(step) for step in steps),
        groups,
    )
