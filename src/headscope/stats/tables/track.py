"""Results of several checkpoints side by side, and when in training each role appears."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError, UserError
from headscope.labels import map_measure
from headscope.results import Atlas
from headscope.results.merge import EXCESS, ROLES, Track
from headscope.results.query import split_value
from headscope.results.schema import GRID, of_heads, statistics
from headscope.stats.grid import SUMS, labelled_head
from headscope.stats.heads.excess import Excess
from headscope.stats.heads.main_roles import MainRoles, has_main_roles
from headscope.stats.heads.query import chosen_labels, measure_of
from headscope.stats.heads.thresholds import DEFAULT

DIM = "checkpoint"


def track_groups(atlases: Sequence[Atlas], names: Sequence[str]) -> dict[str, xr.Dataset]:
    """The values of all checkpoints, by measure.

    Parameters
    ----------
    atlases
        Surveys of the checkpoints, with the same corpus and settings.
    names
        The names of the checkpoints.

    Returns
    -------
    dict of str to xarray.Dataset
        See :class:`headscope.results.merge.Track`.
    """
    index = xr.DataArray(np.array(names, dtype=object), dims=DIM, name=DIM)
    groups = {}
    for name in atlases[-1]:
        shared = all(name in atlas for atlas in atlases)
        if shared and map_measure(name) not in SUMS and of_heads(atlases[-1][name]):
            parts = [statistics(atlas[name]) for atlas in atlases]
            joined = xr.concat(parts, index, join="outer", combine_attrs="override")
            groups[name] = joined.assign_attrs(atlases[-1][name].attrs)
    if all(has_main_roles(atlas) for atlas in atlases):
        groups[EXCESS] = xr.concat([_excess(atlas) for atlas in atlases], index, join="outer")
        groups[ROLES] = xr.concat([_roles(atlas) for atlas in atlases], index)
    return groups


def _excess(atlas: Atlas) -> xr.Dataset:
    """The excess at every role, and whether its test and, where needed, the offset's allow it."""
    whole: Excess = MainRoles.of(atlas, thresholds=replace(DEFAULT, least=-np.inf)).whole
    shape = (*atlas.shape, len(whole.names))
    dims = (*GRID, "role")
    return xr.Dataset(
        {
            "value": (dims, whole.value.reshape(shape)),
            "half": (dims, whole.half.reshape(shape)),
            "passes": (dims, whole.counts.reshape(shape).astype(np.int8)),
        },
        {
            "layer": list(atlas.layers),
            "head": np.arange(1, shape[1] + 1),
            "role": np.array(whole.names, dtype=object),
        },
        {"title": "Above chance", "unit": "share of the active attention"},
    )


def _roles(atlas: Atlas) -> xr.Dataset:
    """The main role of every head."""
    table, shape = atlas.analysis.roles, atlas.shape
    numbers = {
        name: (GRID, table[name].to_numpy(float).reshape(shape))
        for name in ("excess", "activity", "spread", "borderline")
    }
    words = {
        name: (GRID, table[name].astype(str).to_numpy(object).reshape(shape))
        for name in ("role", "family", "second")
    }
    places = {"layer": list(atlas.layers), "head": np.arange(1, shape[1] + 1)}
    return xr.Dataset({**numbers, **words}, places, {"title": "Main roles", "unit": ""})


def track_values(results: Atlas, value: str) -> xr.DataArray:
    """One value of every head at every checkpoint.

    Parameters
    ----------
    results
        Results of :func:`headscope.track`.
    value
        As in a query: ``"position:previous"``.

    Returns
    -------
    xarray.DataArray
        With the dimensions checkpoint, layer and head.

    Examples
    --------
    >>> import headscope as hs
    >>> from headscope.models.loading import random_init
    >>> texts = ["The dog barks.", "A cat sleeps."]
    >>> models = [random_init(hs.load("demo"), seed=0), hs.load("demo")]
    >>> atlas = hs.track(models, texts, measures="position")
    >>> values = track_values(atlas, "position:previous").sel(layer=1, head=3).values
    >>> (values > 0.9).tolist()
    [False, True]
    """
    track = results.track
    measure, labels = measure_of(results, split_value(value))
    group = track[measure]
    chosen = chosen_labels(measure, results[measure], labels)
    picked = {dim: results[measure][dim].dtype.type(label) for dim, label in chosen.items()}
    return group["value"].sel(picked).transpose(DIM, *GRID)


Flags = NDArray[np.bool_]
COLUMNS = ("head", "role", "checkpoint", "step", "value", "before", "last", "main")


def emergence(results: Atlas, *, by: str = "", threshold: float | None = None) -> pd.DataFrame:
    """When each head got what it has at the last checkpoint.

    Parameters
    ----------
    results
        Results of :func:`headscope.track`.
    by
        A value of a query, such as ``"synthetic:induction"``. Default: the excess over even
        attention at every role, which must also pass its test as in
        :func:`headscope.stats.main_roles`.
    threshold
        The threshold. Default: 0.1 for the lower end of the excess; with ``by`` it must be given.

    Returns
    -------
    pandas.DataFrame
        One row per head and role that is past the threshold at the last checkpoint: ``checkpoint``
        and ``step`` (NaN where names tell none), the first one from which on it is past the
        threshold at every checkpoint; ``value`` there, ``before`` (at the checkpoint before; NaN at
        the first checkpoint) and at the ``last`` checkpoint; ``main``, whether it is the head's
        main role at the end. Earliest first, then the largest value at the end.

    Raises
    ------
    ResultsError
        If the results are of one model, or lack the measures of main roles.

    Examples
    --------
    >>> import headscope as hs
    >>> from headscope.models.loading import random_init
    >>> texts = ["The dog barks.", "A cat sleeps."]
    >>> models = [random_init(hs.load("demo"), seed=0), hs.load("demo")]
    >>> atlas = hs.track(models, texts, measures="position")
    >>> table = emergence(atlas, by="position:previous", threshold=0.5)
    >>> table[["head", "checkpoint"]].values.tolist()
    [['1-3', 'demo']]
    """
    track = results.track
    if by.strip():
        if threshold is None:
            raise UserError(
                f"the threshold of {by} is missing: values differ too much for one default",
                hint=f"give one too, e.g. by={by!r} with threshold=0.5",
            )
        values = track_values(results, by).expand_dims(role=[by.strip()], axis=-1)
        past = np.asarray(values.values >= threshold)
    else:
        data = _tracked_excess(track)
        values = data["value"].transpose(DIM, *GRID, "role")
        passes = data["passes"].transpose(DIM, *GRID, "role").values > 0
        low = values.values - data["half"].transpose(DIM, *GRID, "role").values
        past = np.asarray(low >= (DEFAULT.least if threshold is None else threshold)) & passes
    return _table(track, values, past)


def first_for_good(past: Flags) -> NDArray[np.int64]:
    """The first checkpoint from which on something holds; -1 if it does not hold at the last one.

    Parameters
    ----------
    past
        (checkpoint, …): whether it holds.

    Examples
    --------
    >>> first_for_good(np.array([[True, False], [False, True], [True, True], [True, False]]))
    array([ 2, -1])
    """
    since = np.logical_and.accumulate(past[::-1])[::-1]
    return np.where(since[-1], since.argmax(0), -1)


def _tracked_excess(track: Track) -> xr.Dataset:
    if EXCESS not in track:
        raise ResultsError(
            "these checkpoints were surveyed without the measures of main roles (activity, work, "
            "spread)",
            hint='name a value and its threshold: by="position:previous", threshold=0.5',
        )
    return track[EXCESS]


def _table(track: Track, values: xr.DataArray, past: Flags) -> pd.DataFrame:
    """One row per head and role that is past its threshold at the end."""
    first = first_for_good(past)
    roles = [str(role) for role in values["role"].values]
    main = track[ROLES]["role"].values[-1] if ROLES in track else None
    rows: list[dict[str, Any]] = []
    for layer, head, role in np.argwhere(first >= 0).tolist():
        at = int(first[layer, head, role])
        line = values.values[:, layer, head, role]
        labels = int(values["layer"].values[layer]), int(values["head"].values[head])
        rows.append(
            {
                "head": str(labelled_head(*labels)),
                "role": roles[role],
                "checkpoint": track.names[at],
                "step": np.nan if track.steps is None else track.steps[at],
                "value": float(line[at]),
                "before": float(line[at - 1]) if at else np.nan,
                "last": float(line[-1]),
                "main": main is not None and str(main[layer, head]) == roles[role],
                "order": at,
            }
        )
    table = pd.DataFrame(rows, columns=[*COLUMNS, "order"])
    ordered = table.sort_values(["order", "last"], ascending=[True, False], kind="stable")
    return ordered.drop(columns="order").reset_index(drop=True)
