"""Hand-made results of roles: the score of every sequence, head and role is given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.results import Atlas
from page.samples import made_results

ROLES = ("local", "syntactic", "delimiter", "block", "cls")
LAYERS, HEADS = 2, 3
PAPER: dict[str, Any] = {"test": "z", "correction": "none"}
"""How the paper tests."""

Values = NDArray[np.float64]


def made_roles(
    values: Any,
    roles: Sequence[str] = ROLES,
    *,
    kept: int | None = None,
    ids: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    tokens: Sequence[int] | None = None,
    buckets: int = 2,
    attributes: Mapping[str, str] = {},
    absent: Mapping[str, str] = {},
    **provenance: Any,
) -> Atlas:
    """Results with these scores (sequence, layer, head, role); NaN where there is no such role.

    The first ``kept`` sequences are kept one by one, by default all of them, with their groups and
    lengths where given.
    """
    scores = np.asarray(values, np.float32)
    blocks = [scores[first::buckets].astype(np.float64) for first in range(buckets)]
    sums = np.stack([np.nansum(block, 0) for block in blocks])
    squares = np.stack([np.nansum(block**2, 0) for block in blocks])
    counts = np.stack([(~np.isnan(block)).sum(0) for block in blocks])
    dims = ("bucket", "layer", "head", "role")
    size = len(scores) if kept is None else kept
    names = np.array(
        [str(index) for index in range(len(scores))] if ids is None else ids, dtype=object
    )
    coordinates: dict[str, Any] = {
        "bucket": np.arange(1, buckets + 1),
        "layer": np.arange(1, scores.shape[1] + 1),
        "head": np.arange(1, scores.shape[2] + 1),
        "role": np.array(roles, dtype=object),
    }
    variables: dict[str, Any] = {
        "sum": (dims, sums),
        "square": (dims, squares),
        "count": (dims, counts),
    }
    if size:
        variables["value"] = (("example", *dims[1:]), scores[:size])
        coordinates |= {"example": np.arange(size), "id": ("example", names[:size])}
        if groups is not None:
            coordinates["group"] = ("example", np.array(groups, dtype=object)[:size])
        if tokens is not None:
            coordinates["tokens"] = ("example", np.array(tokens, np.int64)[:size])
    attributes = {
        "title": "Sieve bias",
        "unit": "times uniform attention",
        "source": "Pande et al. 2021",
        "absent": json.dumps(dict(absent)),
        **attributes,
    }
    return Atlas.build(
        {"role": xr.Dataset(variables, coordinates, attributes)},
        made_results(scores.shape[1], scores.shape[2]).provenance | provenance,
    )


def random_scores(
    sequences: int = 40,
    *,
    seed: int = 0,
    layers: int = LAYERS,
    heads: int = HEADS,
    roles: int = len(ROLES),
) -> Values:
    """Scores around 3, skewed, each head and role with a mean of its own; as float32 keeps them."""
    random = np.random.default_rng(seed)
    centre = random.uniform(2.4, 3.6, (layers, heads, roles))
    return (
        (centre + random.gamma(2.0, 0.5, (sequences, layers, heads, roles)) - 1.0)
        .astype(np.float32)
        .astype(np.float64)
    )


def each(values: Values) -> list[tuple[int, int, int]]:
    return list(np.ndindex(*values.shape[1:]))
