"""Composition on the page: the heads that every head composes with most."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.results import Atlas
from headscope.results.merge import CIRCUITS
from headscope.stats.tables.circuits import KINDS

TOP = 6
"""Heads in each direction and kind. All pairs of a large model would be too much for a page."""


def composition_columns(
    atlas: Atlas,
) -> tuple[dict[str, Any] | None, dict[str, NDArray[Any]]]:
    """The strongest compositions of every head; None where the results have no circuits.

    Returns
    -------
    about : dict or None
        The kinds, and the baseline of each with its deviation; notes on what is left out.
    arrays : dict
        ``composition/earlier`` and ``composition/later``, places of the other heads (-1: none), and
        ``…/excess``, all (kind, place, rank).
    """
    if "composition" not in atlas:
        return None, {}
    data = atlas["composition"]
    size = atlas.shape[0] * atlas.shape[1]
    excess = data["excess"].transpose("kind", "layer", "head", "from_layer", "from_head").values
    square = excess.reshape(len(KINDS), size, size)
    arrays: dict[str, NDArray[Any]] = {}
    for name, values in (("earlier", square), ("later", square.transpose(0, 2, 1))):
        places, strengths = _strongest(values)
        arrays[f"composition/{name}"] = places
        arrays[f"composition/{name}/excess"] = strengths
    about = atlas.provenance
    notes = about.get(CIRCUITS, about).get("notes", [])
    return {
        "kinds": list(KINDS),
        "baseline": data["baseline"].values.tolist(),
        "deviation": data["baseline_deviation"].values.tolist(),
        "notes": [str(note) for note in notes],
    }, arrays


def _strongest(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Places and values of the largest entries of each row, (kind, place, rank)."""
    filled = np.where(np.isnan(values), -np.inf, values)
    order = np.argsort(-filled, axis=2, kind="stable")[:, :, :TOP]
    strengths = np.take_along_axis(values, order, 2).astype(np.float32)
    return np.where(np.isnan(strengths), -1, order).astype(np.int32), strengths
