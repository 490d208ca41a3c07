"""The values of all checkpoints of a training, as results keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from headscope.errors import ResultsError, unknown
from headscope.results.schema import TRACK

if TYPE_CHECKING:
    from headscope.results.labelled import LabelledResults

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
    >>> from headscope.models.random import random_init
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


def has_track(results: LabelledResults) -> bool:
    """Whether results hold the values of several checkpoints."""
    return TRACK in results.tree.children


def track_of(results: LabelledResults) -> Track:
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
    steps = [one["step"] for one in listed]
    groups = {str(name): part.to_dataset() for name, part in results.tree[TRACK].children.items()}
    return Track(
        tuple(str(one["name"]) for one in listed),
        None if None in steps else tuple(int(step) for step in steps),
        groups,
    )
