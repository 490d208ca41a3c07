"""Results of several checkpoints side by side: values of every head over a training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from headscope.labels import map_measure
from headscope.results import Atlas
from headscope.results.merge import EXCESS, ROLES
from headscope.results.query import split_value
from headscope.results.schema import GRID, of_heads, statistics
from headscope.stats.excess import Excess
from headscope.stats.main_roles import MainRoles, has_main_roles
from headscope.stats.query import SUMS, chosen_labels, measure_of
from headscope.stats.thresholds import DEFAULT

DIM = "checkpoint"


def track_groups(found: Sequence[Atlas], names: Sequence[str]) -> dict[str, xr.Dataset]:
    """The values of all checkpoints, by measure.

    Parameters
    ----------
    found
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
    for name in found[-1]:
        shared = all(name in atlas for atlas in found)
        if shared and map_measure(name) not in SUMS and of_heads(found[-1][name]):
            parts = [statistics(atlas[name]) for atlas in found]
            joined = xr.concat(parts, index, join="outer", combine_attrs="override")
            groups[name] = joined.assign_attrs(found[-1][name].attrs)
    if all(has_main_roles(atlas) for atlas in found):
        groups[EXCESS] = xr.concat([_excess(atlas) for atlas in found], index, join="outer")
        groups[ROLES] = xr.concat([_roles(atlas) for atlas in found], index)
    return groups


def _excess(atlas: Atlas) -> xr.Dataset:
    """The excess at every role, and whether its test and, where needed, the offset's allow it."""
    whole: Excess = MainRoles.of(atlas, thresholds=replace(DEFAULT, least=-np.inf)).whole
    shape = (*_grid(atlas), len(whole.names))
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
        {"title": "Excess over even attention", "unit": "share of the working attention"},
    )


def _roles(atlas: Atlas) -> xr.Dataset:
    """The main role of every head."""
    table, shape = atlas.analysis.roles, _grid(atlas)
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


def _grid(atlas: Atlas) -> tuple[int, int]:
    layers, heads = atlas.shape
    return layers, heads


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
