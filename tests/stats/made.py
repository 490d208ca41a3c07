"""Hand-made results of dependencies and coreference: how many answers each head has right."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.measures import Coreference, Dependency
from headscope.results import Atlas
from page.samples import made_results, made_values

DIRECTIONS = Dependency.dims["direction"]
WORDS = Dependency.dims["words"]
CANDIDATES = Coreference.dims["candidates"]
KINDS = Coreference.dims["kind"]
MENTIONS = Coreference.dims["mentions"]

LAYERS, HEADS = 2, 3
BUCKETS = 10
BUCKET_OF = np.random.default_rng(0).integers(BUCKETS, size=3000).tolist()
"""The bucket of every answer; of one half of the corpus are the first, the third and so on."""


def dependency(answers: Mapping[str, Mapping[str, Any]]) -> xr.Dataset:
    """Sums of the dependency measure.

    ``answers[relation]`` has the number of words ``n``, the ``offset`` and how often it is right
    (``offset_right``), and the right answers of some heads: {(direction, layer, head): (right,
    right where the offset is right too)}; other heads are never right. They are divided among
    ten buckets by :func:`parts`. Both halves choose the same offset.
    """
    relations = list(answers)
    shape = (BUCKETS, LAYERS, HEADS, len(DIRECTIONS), len(relations), len(WORDS))
    total, count = np.zeros(shape), np.zeros(shape, np.int64)
    for column, (_, given) in enumerate(answers.items()):
        numbers = [given["n"], given["offset_right"], given["offset_right"]]
        count[..., column, :] = by_bucket(np.array(numbers))[:, None, None, None]
        for (direction, layer, head), both in given.get("right", {}).items():
            total[:, layer - 1, head - 1, DIRECTIONS.index(direction), column] = by_bucket(
                np.array([*both, both[1]])
            )
    offsets = {relation: given["offset"] for relation, given in answers.items()}
    counts = {
        relation: {given["offset"]: given["offset_right"], 0: given["n"] - given["offset_right"]}
        for relation, given in answers.items()
    }
    return _dataset(
        total,
        count,
        {"direction": DIRECTIONS, "relation": relations, "words": WORDS},
        {
            "offsets": json.dumps(offsets),
            "half_offsets": json.dumps({name: [one, one] for name, one in offsets.items()}),
            "offset_counts": json.dumps(counts),
        },
    )


def coreference(
    n: Mapping[str, tuple[int, ...]],
    right: Mapping[tuple[str, int, int], Mapping[str, tuple[int, ...]]],
) -> xr.Dataset:
    """Sums of the coreference measure.

    ``n`` has by kind the number of mentions, and of those that each baseline gets right; ``right``
    the same for the mentions that a head (candidates, layer, head) gets right.
    """
    shape = (BUCKETS, LAYERS, HEADS, len(CANDIDATES), len(KINDS), len(MENTIONS))
    total, count = np.zeros(shape), np.zeros(shape, np.int64)
    for kind, numbers in n.items():
        count[..., KINDS.index(kind), :] = by_bucket(np.array(numbers))[:, None, None, None]
    for (candidates, layer, head), kinds in right.items():
        for kind, numbers in kinds.items():
            total[:, layer - 1, head - 1, CANDIDATES.index(candidates), KINDS.index(kind)] = (
                by_bucket(np.array(numbers))
            )
    return _dataset(
        total, count, {"candidates": CANDIDATES, "kind": KINDS, "mentions": MENTIONS}, {}
    )


def parts(number: int) -> list[int]:
    """A number as the numbers of ten buckets that add up to it: one answer after the other is
    dealt out, always in the same order, so that no bucket has more right answers than answers.
    """
    return [BUCKET_OF[:number].count(bucket) for bucket in range(BUCKETS)]


def by_bucket(numbers: NDArray[Any]) -> NDArray[Any]:
    """The same of every number of a row, (bucket, number): sums are kept by bucket."""
    return np.array([parts(int(number)) for number in numbers]).T


def _dataset(
    total: NDArray[Any],
    count: NDArray[Any],
    labels: Mapping[str, Any],
    attributes: Mapping[str, str],
) -> xr.Dataset:
    dims = ("bucket", "layer", "head", *labels)
    coordinates = {
        "bucket": np.arange(1, BUCKETS + 1),
        "layer": np.arange(1, LAYERS + 1),
        "head": np.arange(1, HEADS + 1),
        **{dim: np.array(names, dtype=object) for dim, names in labels.items()},
    }
    about = {
        "title": "Title",
        "unit": "share",
        "source": "Source",
        "listed": "no",
        "kind": "share",
        **attributes,
    }
    return xr.Dataset(
        {"sum": (dims, total), "square": (dims, total), "count": (dims, count)}, coordinates, about
    )


def results(**measures: Any) -> Atlas:
    """Results of these sums; ``surface`` gives means of position, special and entropy as well."""
    surface = measures.pop("surface", None)
    plain = made_results(
        LAYERS, HEADS, values=surface if surface is not None else made_values(LAYERS, HEADS)
    )
    sums = (plain.sums() if surface is not None else {}) | measures
    return Atlas.build(sums, plain.provenance)
