"""Hand-made results of pattern classes: every map's class is given, sums are counted from it."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.results import Atlas
from page.samples import made_results

CLASSES = ("vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous")


def pattern_results(
    found: NDArray[np.int64], blocks: NDArray[np.int64], *, corpus: str = "some/texts.txt"
) -> Atlas:
    """Results of the classes ``found`` (example, layer, head), each example in one of ``blocks``.

    Classes and blocks count from 0; a map of class -1 was not counted.
    """
    examples, layers, heads = found.shape
    shape = (16, layers, heads, len(CLASSES))
    total, count = np.zeros(shape), np.zeros(shape, np.int64)
    for example in range(examples):
        for layer in range(layers):
            for head in range(heads):
                if found[example, layer, head] >= 0:
                    total[blocks[example], layer, head, found[example, layer, head]] += 1
                    count[blocks[example], layer, head] += 1
    dims = ("bucket", "layer", "head", "pattern")
    coordinates = {
        "bucket": np.arange(1, 17),
        "layer": np.arange(1, layers + 1),
        "head": np.arange(1, heads + 1),
        "pattern": np.array(CLASSES, dtype=object),
    }
    data = xr.Dataset(
        {"sum": (dims, total), "square": (dims, total), "count": (dims, count)},
        coordinates,
        {"title": "Pattern classes", "unit": "share of inputs", "source": "Source"},
    )
    return Atlas.build({"pattern": data}, made_results(layers, heads, corpus=corpus).provenance)


def random_patterns(
    examples: int = 40, layers: int = 2, heads: int = 3, *, seed: int = 0
) -> NDArray[np.int64]:
    """Classes at random, some much more frequent than others."""
    return np.random.default_rng(seed).choice(
        len(CLASSES), (examples, layers, heads), p=(0.4, 0.2, 0.05, 0.05, 0.3)
    )
