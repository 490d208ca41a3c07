"""Results of known examples: what is derived from their sums can be computed from the examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.measures import Feature, Frame, Link
from headscope.results import Atlas
from page.samples import made_results

DIRECTIONS = Frame.dims["direction"]
FEATURES = Feature.dims["feature"]
LINKS = Link.dims["link"]

DIMS: dict[str, dict[str, tuple[str, ...]]] = {
    "frame": {"direction": DIRECTIONS},
    "feature": {"feature": FEATURES},
    "feature-change": {"feature": FEATURES},
    "link": {"link": LINKS},
    "link-change": {"link": LINKS},
    "change": {},
}
Values = NDArray[np.float64]
"""(example, layer, head, label…); NaN is not counted."""


def random_values(
    name: str, *, layers: int = 2, heads: int = 3, examples: int = 12, seed: int = 0
) -> Values:
    """Values between 0 and 1 (differences between -1 and 1), all different."""
    random = np.random.default_rng(seed)
    shape = (examples, layers, heads, *(len(labels) for labels in DIMS[name].values()))
    return random.uniform(-1 if name.endswith("-change") else 0, 1, shape)


def sampled(values: Mapping[str, Values], **changes: Any) -> Atlas:
    """Results of these examples, each a document in a bucket of its own."""
    first = next(iter(values.values()))
    plain = made_results(first.shape[1], first.shape[2], values={}, **changes)
    return Atlas.build(
        {name: _sums(name, array) for name, array in values.items()},
        plain.provenance | {"measures": list(values)},
    )


def _sums(name: str, values: Values) -> xr.Dataset:
    dims = ("bucket", "layer", "head", *DIMS[name])
    arrays = {
        "sum": np.nan_to_num(values),
        "square": np.nan_to_num(values) ** 2,
        "count": np.isfinite(values).astype(np.int64),
    }
    labels = {dim: np.array(names, dtype=object) for dim, names in DIMS[name].items()}
    coordinates = {
        "bucket": np.arange(1, len(values) + 1),
        "layer": np.arange(1, values.shape[1] + 1),
        "head": np.arange(1, values.shape[2] + 1),
        **labels,
    }
    return xr.Dataset(
        {key: (dims, array) for key, array in arrays.items()},
        coordinates,
        {"title": f"Title of {name}", "unit": "share of attention", "source": "Source"},
    )
