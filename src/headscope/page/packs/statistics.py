"""The statistics of all heads as columns: what the grid, the finder and the head page show."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.labels import label_text, map_measure
from headscope.page.packs.nulls import null_values, statistic_bands
from headscope.results import Atlas
from headscope.results.schema import GRID, label_dims, of_heads, statistics
from headscope.results.summary import says_the_same
from headscope.stats.heads.query import DEFAULTS

Array = NDArray[Any]
HIDDEN = ("dependency", "work", "spread", "sink_places", "arc", "profile")
"""Measures that the page shows in a way of their own, or not at all."""
PARTS = ("value", "low", "high")


def statistic_columns(atlas: Atlas) -> tuple[list[dict[str, Any]], dict[str, Array]]:
    """Every statistic that differs between heads.

    Returns
    -------
    about : list of dict
        One entry per statistic: id, measure, title, unit, kind, source, n, listed, reference; and
        nulls, the bands of null models, where there are any.
    arrays : dict
        ``value``, ``low`` and ``high``, (statistic, layer, head).
    """
    about: list[dict[str, Any]] = []
    columns: list[Array] = []
    for name in atlas:
        data = atlas[name]
        if map_measure(name) in HIDDEN or not of_heads(data):
            continue
        own = label_dims(data)
        found = statistics(data).transpose(*own, *GRID)
        parts = [found[part].values.astype(np.float32) for part in PARTS]
        counts, nulls = found["count"].values, null_values(atlas, name)
        for place in itertools.product(*(range(found.sizes[dim]) for dim in own)):
            named = {dim: data[dim].values[at] for dim, at in zip(own, place, strict=True)}
            labels = {dim: str(label) for dim, label in named.items()}
            values = np.stack([part[place] for part in parts])
            same = says_the_same(name, found["value"], labels)
            if same or not _is_statistic(data, labels, values[0]):
                continue
            more = {"n": int(np.nanmax(counts[place]))} | statistic_bands(nulls, named)
            about.append(_described(name, data, labels) | more)
            columns.append(values)
    order = _beside([one["id"] for one in about])
    about, columns = [about[place] for place in order], [columns[place] for place in order]
    stacked = np.stack(columns, 1) if columns else np.zeros((3, 0, *atlas.shape), np.float32)
    return about, dict(zip(PARTS, stacked, strict=True))


def _beside(ids: list[str]) -> list[int]:
    """The order in which a statistic of norm-weighted maps comes right after that of attention."""
    first = {name: place for place, name in reversed(list(enumerate(map(map_measure, ids))))}
    return sorted(range(len(ids)), key=lambda place: (first[map_measure(ids[place])], place))


def _is_statistic(data: xr.Dataset, labels: dict[str, str], values: Array) -> bool:
    """Whether heads differ in it. Reference lines and counts kept for paired tests are left out."""
    if data.attrs.get("kind") == "share" and "every" not in labels.values():
        return False
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool(np.ptp(known) > 0)


def _described(name: str, data: xr.Dataset, labels: dict[str, str]) -> dict[str, Any]:
    """What a statistic is called."""
    attributes = {str(key): str(text) for key, text in data.attrs.items()}
    unit = attributes.get("unit", "")
    return {
        "id": _query_name(name, data, labels),
        "measure": name,
        "title": label_text(name, labels, attributes),
        "unit": unit,
        "kind": "share" if unit.startswith("share") else "times" if "times" in unit else "number",
        "source": attributes.get("source", ""),
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
    """Where even attention would be, or a score with all heads on, if that is one number."""
    if map_measure(name) == "role":
        return 1.0
    if name == "head_off" and "difference" in data:
        return float((data["mean"] - data["difference"]).mean())
    if map_measure(name) == "entropy" and labels.get("row") in ("all", "cls"):
        return float(data["mean"].sel(row="uniform").isel(layer=0, head=0))
    return None
