"""Bands of null models for the page: where the middle 95 % of their heads are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr
from numpy.typing import NDArray

from headscope.page.packs.roles import relation_columns, role_columns
from headscope.results import Atlas
from headscope.results.merge import NULL_WORDS
from headscope.results.schema import statistics
from headscope.stats.tables.alike import band

Array = NDArray[Any]
Values = dict[str, xr.DataArray]
"""The values of a measure by null model."""


def null_values(atlas: Atlas, name: str) -> Values:
    """The values of a measure in the null models that have it, by the null model in words."""
    return {
        NULL_WORDS.get(null, null): statistics(other[name])["value"]
        for null, other in atlas.nulls.items()
        if name in other
    }


def statistic_bands(values: Values, labels: Mapping[str, object]) -> dict[str, Any]:
    """What the null models add to the description of a statistic: nothing without a band.

    Parameters
    ----------
    values
        Of its measure; see :func:`null_values`.
    labels
        The labels of the statistic by dimension.
    """
    found = []
    for null, own in values.items():
        known = all(label in own[dim].values for dim, label in labels.items())
        if known:  # in older results, shuffled words have no annotations
            found += _band(null, own.sel(labels).values)
    return {"nulls": found} if found else {}


def add_role_bands(
    atlas: Atlas, work: Sequence[dict[str, Any]], relations: Sequence[dict[str, Any]]
) -> None:
    """Add the bands of null models to the descriptions of roles and of relations.

    Parameters
    ----------
    atlas
        Results of a survey.
    work, relations
        What :func:`role_columns` and :func:`relation_columns` say of its roles and relations.
    """
    for null, other in atlas.nulls.items():
        words = NULL_WORDS.get(null, null)
        roles, arrays = role_columns(other.analysis)
        _add(work, roles["work"], arrays.get("work/value"), words)
        about, arrays = relation_columns(other.analysis)
        _add(relations, about, arrays.get("relations/accuracy"), words)


def _add(
    mine: Sequence[dict[str, Any]],
    theirs: Sequence[dict[str, Any]],
    values: Array | None,
    null: str,
) -> None:
    rows = {} if values is None else dict(zip((one["id"] for one in theirs), values, strict=True))
    for one in mine:
        if one["id"] in rows and (found := _band(null, rows[one["id"]])):
            one.setdefault("nulls", []).extend(found)


def _band(null: str, values: Array) -> list[dict[str, Any]]:
    """The band as the page has it; none where the null model has no values."""
    low, high = band(values)
    return [{"null": null, "low": low, "high": high}] if low <= high else []
