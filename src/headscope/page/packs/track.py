"""Checkpoints on the page: what every head did at each of them, for the slider."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.page.packs.roles import NONE
from headscope.results import Atlas
from headscope.results.merge import EXCESS, ROLES, Track, has_track
from headscope.results.query import split_value
from headscope.stats.heads.excess import FAMILIES, ORDER
from headscope.stats.heads.query import chosen_labels, measure_of
from headscope.stats.heads.thresholds import DEFAULT
from headscope.stats.tables.track import emergence

Array = NDArray[Any]
GRID = ("layer", "head")
CELLS = 2_000_000
"""So many numbers of statistics at most: what is left out is shown for the last checkpoint only."""


def track_columns(
    atlas: Atlas, statistics: list[dict[str, Any]]
) -> tuple[dict[str, Any] | None, dict[str, Array]]:
    """The checkpoints of some results; None where they are of one model.

    Parameters
    ----------
    atlas
        The results.
    statistics
        Those of the page; see :func:`headscope.page.packs.statistics.statistic_columns`.

    Returns
    -------
    about : dict or None
        Names and steps of checkpoints; the ids of the statistics that are there for all of them;
        and when each head got its roles.
    arrays : dict
        ``track/value`` (checkpoint, statistic, layer, head); with main roles ``track/family``,
        ``second``, ``borderline``, ``excess``, ``activity`` and ``main``, the excess at the role
        that is the head's main one at the end (checkpoint, layer, head).
    """
    if not has_track(atlas):
        return None, {}
    track = atlas.track
    arrays: dict[str, Array] = {}
    most = CELLS // max(len(track.names) * atlas.shape[0] * atlas.shape[1], 1)
    ids: list[str] = []
    values: list[Array] = []
    for one in statistics:
        found = _values(atlas, track, one["id"]) if len(ids) < most else None
        if found is not None:
            ids.append(one["id"])
            values.append(found)
    if values:
        arrays["track/value"] = np.stack(values, 1).astype(np.float32)
    if ROLES in track:
        roles = track[ROLES].transpose("checkpoint", *GRID)
        arrays["track/family"] = _families(roles["family"].values)
        seconds = np.vectorize(lambda role: FAMILIES.get(role, role), otypes=[object])
        arrays["track/second"] = _families(seconds(roles["second"].values))
        arrays["track/borderline"] = roles["borderline"].values > 0
        for name in ("excess", "activity"):
            arrays[f"track/{name}"] = roles[name].values.astype(np.float32)
        arrays["track/main"] = _main(track)
    about = {
        "names": list(track.names),
        "steps": None if track.steps is None else list(track.steps),
        "statistics": ids,
        "least": DEFAULT.least,
        "appear": _appear(atlas, track),
    }
    return about, arrays


def _values(atlas: Atlas, track: Track, value: str) -> Array | None:
    """A statistic at all checkpoints, (checkpoint, layer, head); None if some lack it."""
    measure, labels = measure_of(atlas, split_value(value))
    if measure not in track:
        return None
    data, group = atlas[measure], track[measure]
    chosen = chosen_labels(measure, data, labels)
    picked = {dim: data[dim].dtype.type(label) for dim, label in chosen.items()}
    return np.asarray(group["value"].sel(picked).transpose("checkpoint", *GRID).values)


def _families(names: Array) -> Array:
    """Families as numbers of the page's list."""
    numbers = [ORDER.index(name) if name in ORDER else NONE for name in names.ravel()]
    return np.array(numbers, np.uint8).reshape(names.shape)


def _main(track: Track) -> Array:
    """The excess of every head at its main role of the last checkpoint; NaN without one."""
    values = track[EXCESS]["value"].transpose("checkpoint", *GRID, "role")
    names = [str(role) for role in values["role"].values]
    last = track[ROLES]["role"].transpose("checkpoint", *GRID).values[-1]
    found = np.full(values.shape[:-1], np.nan, np.float32)
    for place, role in np.ndenumerate(last):
        if str(role) in names:
            found[:, *place] = values.values[:, *place, names.index(str(role))]
    return found


def _appear(atlas: Atlas, track: Track) -> list[dict[str, Any]]:
    """When each head got the roles that it has at the end, earliest first."""
    if EXCESS not in track:
        return []
    return [
        {
            "head": row["head"],
            "role": row["role"],
            "family": FAMILIES[str(row["role"])],
            "checkpoint": track.names.index(str(row["checkpoint"])),
            "value": row["value"],
            "last": row["last"],
            "main": bool(row["main"]),
        }
        for row in emergence(atlas).to_dict("records")
    ]
