"""The statistics of all heads as columns: what the grid, the finder and the head page show."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.labels import label_text
from headscope.results import Atlas
from headscope.results.schema import label_dims, of_heads, statistics
from headscope.stats.query import DEFAULTS

Array = NDArray[Any]
HIDDEN = ("dependency", "work", "spread")
"""Measures that the page shows in a way of their own, or not at all."""


def statistic_columns(atlas: Atlas) -> tuple[list[dict[str, Any]], dict[str, Array]]:
    """Every statistic that differs between heads.

    Returns
    -------
    about : list of dict
        One entry per statistic: id, measure, title, unit, kind, source, n, listed, reference.
    arrays : dict
        ``value``, ``low`` and ``high``, (statistic, layer, head).
    """
    about: list[dict[str, Any]] = []
    columns: dict[str, list[Array]] = {"value": [], "low": [], "high": []}
    for name in atlas:
        data = atlas[name]
        if name in HIDDEN or not of_heads(data):
            continue
        found = statistics(data).transpose("layer", "head", ...)
        for labels in itertools.product(*(data[dim].values for dim in label_dims(data))):
            chosen = dict(zip(label_dims(data), labels, strict=True))
            one = _statistic(name, data, found.sel(chosen), chosen)
            if one is None:
                continue
            about.append(one)
            for key, column in columns.items():
                column.append(found[key].sel(chosen).values.astype(np.float32))
    shape = (0, *atlas.shape)
    arrays = {
        key: np.stack(column) if column else np.zeros(shape, np.float32)
        for key, column in columns.items()
    }
    return about, arrays


def _statistic(
    name: str, data: xr.Dataset, part: xr.Dataset, chosen: dict[str, Any]
) -> dict[str, Any] | None:
    """What a statistic is called; None for those that are no statistic of heads."""
    values = part["value"].values
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    labels = {dim: str(label) for dim, label in chosen.items()}
    if data.attrs.get("kind") == "share" and not set(labels.values()) & {"every"}:
        return None  # counts of a baseline's right answers, kept for a paired test
    if np.ptp(known) == 0:
        return None  # the same for all heads: a reference line
    attributes = {str(key): str(text) for key, text in data.attrs.items()}
    unit = attributes.get("unit", "")
    return {
        "id": _query_name(name, data, labels),
        "measure": name,
        "title": label_text(name, labels, attributes),
        "unit": unit,
        "kind": "share" if unit.startswith("share") else "times" if "times" in unit else "number",
        "source": attributes.get("source", ""),
        "n": int(np.nanmax(part["count"].values)),
        "listed": attributes.get("listed", "yes") == "yes",
        "reference": _reference(name, data, labels),
    }


def _query_name(name: str, data: xr.Dataset, labels: dict[str, str]) -> str:
    """As the query language names it: labels that are understood anyway are left out."""
    said = []
    for dim, label in labels.items():
        names = [str(one) for one in data[dim].values]
        usual = next((one for one in DEFAULTS if one in names), None)
        if usual is None and len(names) == 1:
            usual = names[0]
        if label != usual:
            said.append(f'"{label}"' if not label.replace("-", "").isalnum() else label)
    return ":".join([name, *said])


def _reference(name: str, data: xr.Dataset, labels: dict[str, str]) -> float | None:
    """Where even attention would be, if that is one number."""
    if name == "role":
        return 1.0
    if name == "entropy" and labels.get("row") in ("all", "cls"):
        return float(data["mean"].sel(row="uniform").isel(layer=0, head=0))
    return None
