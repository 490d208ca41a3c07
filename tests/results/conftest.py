"""Results made by hand, from values that the test knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray

from headscope.results import Atlas

BLOCKS = 32
PROVENANCE: dict[str, Any] = {
    "model": {"name": "hand", "weights": "abc"},
    "corpus": {"name": "mine.txt", "sha256": "123"},
    "settings": {"batch_size": 16, "seed": 0},
    "measures": ["position"],
    "shards": ["1/1"],
    "counts": {"read": 9, "used": 9, "seen": 9, "nonfinite": 0, "nonfinite_examples": []},
    "created": "2025-01-01T00:00:00Z",
}
DIMS: dict[str, dict[str, list[str]]] = {
    "position": {"offset": ["previous", "current", "next"]},
    "special": {"token": ["cls", "sep", "punctuation"], "row": ["all", "sep", "other"]},
    "entropy": {"row": ["all", "cls", "uniform"]},
}
UNITS = {"position": "share of attention", "special": "share of attention", "entropy": "nats"}

Values = Mapping[str, NDArray[Any]]
Make = Callable[..., Atlas]


def sums(name: str, values: NDArray[Any], *, first: int = 0) -> xr.Dataset:
    """The sums of a measure over its values, (example, layer, head, labels…); example i is in block
    first + i.
    """
    shape = (BLOCKS, *values.shape[1:])
    total, square, count = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int64)
    for index, value in enumerate(values):
        known = ~np.isnan(value)
        total[(first + index) % BLOCKS][known] += value[known]
        square[(first + index) % BLOCKS][known] += value[known] ** 2
        count[(first + index) % BLOCKS] += known
    dims = ("bucket", "layer", "head", *DIMS[name])
    coordinates: dict[str, Any] = {
        dim: range(1, size + 1) for dim, size in zip(dims[:3], shape[:3], strict=True)
    }
    coordinates |= {dim: np.array(labels, object) for dim, labels in DIMS[name].items()}
    return xr.Dataset(
        {"sum": (dims, total), "square": (dims, square), "count": (dims, count)},
        coordinates,
        {"title": name.title(), "unit": UNITS[name], "source": "a test"},
    )


@pytest.fixture
def make():
    """Make results: ``make(position=values, shards=[...])``; what is no measure is provenance."""

    def build(*, first=0, **given):
        values: Values = {
            name: np.asarray(given.pop(name), np.float64) for name in DIMS if name in given
        }
        return Atlas.build(
            {name: sums(name, array, first=first) for name, array in values.items()},
            {**PROVENANCE, "measures": list(values), **given},
        )

    return build


@pytest.fixture
def some(make):
    """Three measures of nine examples, two layers and three heads."""
    random = np.random.default_rng(1)
    return make(
        position=random.random((9, 2, 3, 3)),
        special=random.random((9, 2, 3, 3, 3)),
        entropy=random.random((9, 2, 3, 3)),
    )
