"""The best head of each relation against the best fixed offset (Clark et al. 2019, Table 1)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import UserError, unknown
from headscope.results import Atlas
from headscope.stats.grid import labelled_head
from headscope.stats.tests import correct, paired_sign, wilson

DEFAULT_DIRECTIONS = ("dependent to head", "head to dependent")
ALL = "all"
"""How the names of groups of relations begin."""
LEAST = 20
"""Relations with fewer words are skipped unless they are named."""


def relation_tests(
    results: Atlas, *, directions: Sequence[str] = DEFAULT_DIRECTIONS, correction: str = "holm"
) -> xr.Dataset:
    """Test every head at every relation against the best fixed offset.

    Parameters
    ----------
    results
        Results with the measure ``dependency``.
    directions
        Which way arcs are followed.
    correction
        How p-values are corrected over all heads, directions and relations: holm, bh or none.

    Returns
    -------
    xarray.Dataset
        With dims layer, head, direction and relation: ``accuracy``, ``right`` (how many words),
        ``n``, ``baseline`` (the accuracy of the offset), ``p`` (paired, one-sided) and
        ``p_corrected``.
    """
    data = results["dependency"].sel(direction=list(directions))
    right, count = data["sum"].sum("bucket"), data["n"]
    n = count.sel(words="every", drop=True)
    offset_right = count.sel(words="offset right", drop=True)
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
    results: Atlas,
    *,
    relations: Iterable[str] | None = None,
    directions: Sequence[str] = DEFAULT_DIRECTIONS,
    correction: str = "holm",
    least: int | None = None,
) -> pd.DataFrame:
    """The best head and direction of each relation.

    Parameters
    ----------
    results
        Results with the measure ``dependency``.
    relations
        Which relations, by default all with enough words, the most frequent first.
    directions, correction
        As in :func:`relation_tests`. The best head is chosen on the same words, so its p is
        corrected over all heads, directions and relations, not over the rows shown.
    least
        Relations with fewer words are skipped unless they are named: by default 20, or in a
        treebank where none has as many, what the most frequent one has.

    Returns
    -------
    pandas.DataFrame
        One row per relation: words, head, direction, accuracy with Wilson's interval, the accuracy
        of the best fixed offset (``baseline``) and the offset, p and p_corrected.

    Raises
    ------
    UserError
        If there is no such relation, or none has enough words.
    """
    tests = relation_tests(results, directions=directions, correction=correction)
    offsets: dict[str, int] = json.loads(results["dependency"].attrs["offsets"])
    rows = []
    for name in _chosen(tests, relations, least):
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
                "head": str(labelled_head(layer, head)),
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


def _chosen(tests: xr.Dataset, relations: Iterable[str] | None, least: int | None) -> list[str]:
    """The relations to show: those that were named, or all with enough words."""
    known = [str(name) for name in tests["relation"].values]
    if relations is not None:
        chosen = list(relations)
        for name in chosen:
            if name not in known:
                raise unknown("relation", name, known)
    else:
        counts = tests["n"].isel(direction=0, layer=0, head=0)
        words = {name: int(counts.sel(relation=name)) for name in known}
        fewest = least if least is not None else max(1, min(LEAST, max(words.values())))
        chosen = [name for name in known if words[name] >= fewest]
        chosen.sort(key=lambda name: (not name.startswith(ALL), -words[name], name))
    if not chosen:
        raise UserError(
            "no relation has enough words",
            hint="use a larger treebank, or accept fewer words per relation: least=5",
            command="use a larger treebank, or accept fewer words per relation: --least 5",
        )
    return chosen
