"""Table 1 of Clark et al.: the best head of each relation, against the best fixed offset."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import UserError, unknown
from headscope.results import Results, head_name
from headscope.stats.tests import correct, paired_sign, wilson

DEFAULT_DIRECTIONS = ("dependent to head", "head to dependent")
ALL = "all"
LEAST = 20
"""Relations with fewer words are left out, unless they are named."""


def relation_tests(
    results: Results, *, directions: Sequence[str] = DEFAULT_DIRECTIONS, correction: str = "holm"
) -> xr.Dataset:
    """Accuracy, offset baseline and a paired one-sided test for every head, direction and relation, corrected over all of them together."""
    data = results["dependency"].sel(direction=list(directions))
    right, count = data["sum"].sum("bucket"), data["n"]
    n, offset_right = (
        count.sel(words="every", drop=True),
        count.sel(words="offset right", drop=True),
    )
    mine, both = right.sel(words="every", drop=True), right.sel(words="offset right", drop=True)
    p = xr.apply_ufunc(paired_sign, mine - both, offset_right - both).where(n > 0)
    return xr.Dataset(
        {
            "accuracy": mine / n.where(n > 0),
            "right": mine,
            "n": n,
            "baseline": offset_right / n.where(n > 0),
            "p": p,
            "p_corrected": (p.dims, correct(p.values, correction)),
        }
    )


def best_heads(
    results: Results,
    *,
    relations: Iterable[str] | None = None,
    directions: Sequence[str] = DEFAULT_DIRECTIONS,
    correction: str = "holm",
    least: int | None = None,
) -> pd.DataFrame:
    """One row a relation: its best head and direction with Wilson's interval, the best fixed offset, and the corrected p of the difference.

    The best head is chosen on the same words, so its p is corrected over all heads, directions and relations, not over the rows shown.
    ``least`` leaves out relations with fewer words, unless they are named: 20, or in a treebank where none has as many, what the most frequent has.
    """
    tests = relation_tests(results, directions=directions, correction=correction)
    offsets: dict[str, int] = json.loads(results["dependency"].attrs["offsets"])
    known = [str(name) for name in tests["relation"].values]
    if relations is not None:
        chosen = list(relations)
        for name in chosen:
            if name not in known:
                raise unknown("relation", name, known)
    else:
        counts = tests["n"].isel(direction=0, layer=0, head=0)
        fewest = least if least is not None else max(1, min(LEAST, int(counts.max())))
        chosen = [name for name in known if int(counts.sel(relation=name)) >= fewest]
        chosen.sort(
            key=lambda name: (not name.startswith(ALL), -int(counts.sel(relation=name)), name)
        )
    if not chosen:
        raise UserError(
            "no relation has enough words",
            hint="give a larger treebank, or a smaller least number of words",
        )
    rows = []
    for name in chosen:
        one = tests.sel(relation=name).stack(place=("direction", "layer", "head"))
        if not bool(one["accuracy"].notnull().any()):
            continue
        best = one.isel(place=int(np.nanargmax(one["accuracy"].values)))
        direction, layer, head = best["place"].item()
        low, high = wilson(best["right"].item(), best["n"].item())
        rows.append(
            {
                "relation": name,
                "words": int(best["n"]),
                "head": head_name(int(layer), int(head)),
                "direction": direction,
                "accuracy": float(best["accuracy"]),
                "low": float(low),
                "high": float(high),
                "baseline": float(best["baseline"]),
                "offset": offsets.get(name, 0),
                "p": float(best["p"]),
                "p_corrected": float(best["p_corrected"]),
            }
        )
    return pd.DataFrame(rows)
