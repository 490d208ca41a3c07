"""Results with main roles made by hand: each head has the excess that a test gives it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headscope.results import Atlas

BUCKETS = 32
ROLES = ("previous", "next", "near", "itself", "same", "modifier to noun")
WHERE = ("at work", "start", "separator", "stops", "other")
SPREAD = ("entropy", "left")
WORDS = ("every", "offset right", "held-out offset right")


def atlas_of(
    heads: Sequence[Mapping[str, Any]],
    *,
    layers: int = 1,
    noise: float = 0.01,
    even: float | None = None,
    seed: int = 1,
    relations: xr.Dataset | None = None,
    roles: Sequence[str] = ROLES,
    more: Mapping[str, xr.Dataset] | None = None,
    tokens: Mapping[str, str] | None = None,
) -> Atlas:
    """Results of some layers, all with as many heads.

    Of each head the excess of some roles is given, of half the corpus each if it is a pair; also
    its activity, the shares that rest (all of the rest on the start token, unless given), and its
    spread. What even attention gives is between 0.1 and 0.2, unless it is given.
    """
    random = np.random.default_rng(seed)
    width = len(heads) // layers
    shape = (BUCKETS, layers, width, len(roles))
    left = random.uniform(50, 150, shape)
    uniform = left * (random.uniform(0.1, 0.2, shape) if even is None else even)
    excess = np.zeros(shape)
    for at, head in enumerate(heads):
        for name, value in head.items():
            if name in roles:
                both = value if isinstance(value, tuple) else (value, value)
                for half in (0, 1):
                    excess[half::2, at // width, at % width, roles.index(name)] = both[half]
    attention = uniform + left * (excess + random.normal(0, noise, shape))
    work = np.stack([attention, uniform, left], -1)

    def group(values: Any, **labels: Any) -> xr.Dataset:
        dims = {**_grid(layers, width), **labels}
        arrays = {"sum": values, "square": values**2, "count": np.full(values.shape, 10)}
        made = {name: (tuple(dims), array) for name, array in arrays.items()}
        return xr.Dataset(made, {dim: list(names) for dim, names in dims.items()})

    def by_head(rows: list[list[float]]) -> Any:
        return np.tile(np.array(rows).reshape(1, layers, width, -1), (BUCKETS, 1, 1, 1))

    groups = {
        "work": group(work, role=roles, part=("attention", "uniform", "left")),
        "activity": group(10 * by_head([_goes(head) for head in heads]), where=WHERE),
        "spread": group(by_head([[head.get("spread", 0.5), 1.0] for head in heads]), part=SPREAD),
    }
    if relations is not None:
        groups["dependency"] = relations
    groups["work"].attrs["titles"] = json.dumps({name: name for name in roles})
    model = {"name": "made", "layers": layers, "heads": width}
    model |= {"tokens": {"start": "[CLS]", "separator": "[SEP]", **(tokens or {})}}
    return Atlas.build(groups | dict(more or {}), {"model": model, "corpus": {"name": "up"}})


def _goes(head: Mapping[str, Any]) -> list[float]:
    """Where a head's attention goes, by kind of token."""
    active = head.get("activity", 0.5)
    given = {name: head.get(name, 0.0) for name in WHERE[2:]}
    return [active, 1.0 - active - sum(given.values()), *given.values()]


def _grid(layers: int, heads: int) -> dict[str, Any]:
    return {
        "bucket": range(1, BUCKETS + 1),
        "layer": range(1, layers + 1),
        "head": range(1, heads + 1),
    }


def relations_of(
    right: Sequence[int], *, relation: str = "det", layers: int = 1, offset: int = 160
) -> xr.Dataset:
    """Each head's right answers at a relation from dependents to head words, of 320, where the
    best offset has 160. The other way each head has a tenth of them.
    """
    width = len(right) // layers
    sums = np.zeros((BUCKETS, layers, width, 2, 1, 3))
    counts = np.zeros_like(sums)
    counts[..., 0], counts[..., 1:] = 320 / BUCKETS, offset / BUCKETS
    for at, number in enumerate(right):
        for way, part in ((0, 1.0), (1, 0.1)):
            mine = sums[:, at // width, at % width, way, 0]
            mine[:, 0] = part * number / BUCKETS
            mine[:, 1:] = part * number * offset / 320 / BUCKETS
    labels: dict[str, Any] = {
        **{dim: list(values) for dim, values in _grid(layers, width).items()},
        "direction": ["dependent to head", "head to dependent"],
        "relation": [relation],
        "words": list(WORDS),
    }
    dims = tuple(labels)
    arrays = {"sum": (dims, sums), "square": (dims, sums), "count": (dims, counts.astype(int))}
    attributes = {
        "kind": "share",
        "offsets": json.dumps({relation: 1}),
        "half_offsets": json.dumps({relation: [1, 1]}),
        "offset_counts": json.dumps({relation: {"1": offset}}),
    }
    return xr.Dataset(arrays, labels, attributes)
