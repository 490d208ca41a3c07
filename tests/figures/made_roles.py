"""Atlas of roles made by hand from the score of every sequence, as a survey keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.results import Atlas
from page.samples import made_results

NAMES = (
    *("local", "previous-local", "next-local", "delimiter", "cls", "sep", "block", "syntactic"),
    *("nsubj", "dobj", "amod", "advmod"),
)

GALLERY = {
    *("role-scores", "role-cumulative", "role-p", "role-heat", "role-venn", "role-upset"),
    *("role-correlations", "role-skills", "role-layers"),
}


def made(scores: NDArray[Any], roles: Sequence[str] = NAMES, *, keep: int | None = None) -> Atlas:
    """Make results from scores, (sequence, layer, head, role).

    A score is NaN where a sequence does not have the role. ``keep`` says how many single scores are
    kept; by default all.
    """
    known = ~np.isnan(scores)
    filled = np.where(known, scores, 0.0)
    dims = ("layer", "head", "role")
    labels = {
        "layer": np.arange(1, scores.shape[1] + 1),
        "head": np.arange(1, scores.shape[2] + 1),
        "role": np.array(roles),
    }
    parts = {"sum": filled, "square": filled**2, "count": known.astype(np.int64)}
    sums = {name: (("bucket", *dims), part.sum(0, keepdims=True)) for name, part in parts.items()}
    about = {"title": "Sieve bias of each role", "unit": "times uniform attention"}
    about |= {"source": "Pande et al. 2021", "absent": "{}"}
    dataset = xr.Dataset(sums, {"bucket": [1], **labels}, about)
    kept = scores[: len(scores) if keep is None else keep].astype(np.float32)
    if keep != 0:
        dataset["value"] = (("example", *dims), kept)
        dataset = dataset.assign_coords(
            example=np.arange(len(kept)),
            id=("example", [f"s{number}" for number in range(len(kept))]),
        )
    return Atlas.build({"role": dataset}, made_results(scores.shape[1], scores.shape[2]).provenance)


def random_scores(
    layers: int = 3,
    heads: int = 4,
    sequences: int = 40,
    roles: Sequence[str] = NAMES,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Skewed scores, some heads' means well over 3 and some well under."""
    random = np.random.default_rng(seed)
    return random.lognormal(
        random.normal(0.9, 0.8, (1, layers, heads, len(roles))),
        0.6,
        (sequences, layers, heads, len(roles)),
    )


def rows_of(chart: Any, *columns: str) -> pd.DataFrame:
    """Return the first data of a chart that have these columns, wherever they are."""
    spec = chart.to_dict()  # validates against Vega-Lite's schema
    assert "NaN" not in json.dumps(spec)
    for values in (*spec.get("datasets", {}).values(), *_inline(spec)):
        if values and set(columns) <= set(values[0]):
            return pd.DataFrame(values)
    raise AssertionError(f"no data with {columns}")


def _inline(part: Any) -> list[Any]:
    if isinstance(part, list):
        return [found for item in part for found in _inline(item)]
    if not isinstance(part, dict):
        return []
    own = part["data"].get("values") if isinstance(part.get("data"), dict) else None
    return ([json.loads(own) if isinstance(own, str) else own] if own else []) + [
        found for item in part.values() for found in _inline(item)
    ]


def lines_of(chart: Any) -> str:
    """Return the lines under a chart's title."""
    return "\n".join(chart.to_dict()["title"]["subtitle"])
