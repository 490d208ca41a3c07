"""Results inside results: null models and checkpoints, in groups that are not measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import xarray as xr

from headscope.errors import unknown
from headscope.results.schema import NULL, TRACK

if TYPE_CHECKING:
    from headscope.results.atlas import Atlas

NULLS = ("random-weights", "random-weights-keep-embeddings", "shuffled-words")
"""The null models of a survey: all weights drawn anew; all but the embeddings; the same model on
texts whose words are shuffled."""
NULL_WORDS = {
    "random-weights": "random weights",
    "random-weights-keep-embeddings": "random weights, embeddings kept",
    "shuffled-words": "shuffled words",
}
"""The null models in words."""


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
