"""Main roles, tested roles and relations of all heads, as arrays for the page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.labels import family_of, label_words
from headscope.stats.heads.excess import FAMILIES, ORDER, Excess
from headscope.stats.heads.findings import Analysis
from headscope.stats.tables.relations import LEAST
from headscope.stats.words.formatter import relation_words, role_name

Array = NDArray[Any]
NONE = 255
"""No second role."""
GRID = ("layer", "head")
UP = "dependent to head"


def role_columns(analysis: Analysis) -> tuple[dict[str, Any], dict[str, Array]]:
    """The main role of every head, and its excess at every role."""
    atlas, excess = analysis.results, analysis.excess
    if excess is None:
        return {"families": [], "work": [], "activity": []}, {}
    table, shape = analysis.roles, atlas.shape
    arrays: dict[str, Array] = {
        "roles/family": _family(table["family"], shape),
        "roles/second": _family(table["second"].map(lambda role: FAMILIES.get(role, role)), shape),
        "roles/borderline": table["borderline"].to_numpy(bool).reshape(shape),
    }
    for name in ("excess", "low", "high", "p_corrected", "activity", "spread"):
        key = name.removesuffix("_corrected")
        arrays[f"roles/{key}"] = table[name].to_numpy(float).reshape(shape)
    activity = atlas["activity"]["mean"].transpose("where", *GRID)
    arrays |= _work(excess, shape) | {"activity": activity.values}
    arrays["work/position"] = _positions(analysis, shape)
    titles = label_words("work", atlas["work"].attrs, "role")
    document = {
        "families": list(ORDER),
        "work": [
            {"id": name, "title": titles.get(name, role_name(name)), "family": FAMILIES[name]}
            for name in excess.names
        ],
        "activity": [str(kind) for kind in activity["where"].values],
    }
    return document, arrays


def _family(names: pd.Series, shape: tuple[int, int]) -> Array:
    numbers = [ORDER.index(name) if name in ORDER else NONE for name in names.astype(str)]
    return np.array(numbers, np.uint8).reshape(shape)


def _work(excess: Excess, shape: tuple[int, int]) -> dict[str, Array]:
    """The excess over even attention at every role of the working attention."""
    parts = {"value": excess.value, "half": excess.half, "p": excess.p, "has": excess.counts}
    return {f"work/{name}": part.T.reshape(-1, *shape) for name, part in parts.items()}


def _positions(analysis: Analysis, shape: tuple[int, int]) -> Array:
    """Times what positions alone would give, of main roles along arcs; NaN for others."""
    assert analysis.excess is not None
    names, found = analysis.excess.names, analysis.positions
    if found is None:
        return np.full((len(names), *shape), np.nan)
    values: Array = found["times"].reindex(role=names).transpose("role", *GRID).values
    return values


def test_columns(analysis: Analysis) -> tuple[list[dict[str, str]], dict[str, Array]]:
    """The tested roles of Pande et al. 2021."""
    tests = analysis.sieves
    if tests is None:
        return [], {}
    titles = json.loads(str(analysis.results["role"].attrs.get("titles", "{}")))
    about = [
        {"id": str(role), "title": titles.get(str(role), str(role))}
        for role in tests["role"].values
    ]
    order = ("role", *GRID)
    sources = {"p": "p_corrected"}
    arrays = {
        f"tests/{name}": tests[sources.get(name, name)].transpose(*order).values
        for name in ("mean", "low", "high", "p", "effect", "has", "position", "positional")
    }
    # what a query's is:ROLE and is:positional-ROLE ask for
    alone = tests["positional"]
    for name, holds in {"plain": tests["has"] & ~alone, "alone": alone}.items():
        arrays[f"tests/{name}"] = holds.transpose(*order).values
    return about, arrays


def relation_columns(analysis: Analysis) -> tuple[list[dict[str, Any]], dict[str, Array]]:
    """The accuracy of every head at dependency relations with enough words, both directions."""
    tests = analysis.relation_tests
    if tests is None:
        return [], {}
    dependency = analysis.results["dependency"]
    data = dependency[["low", "high"]].sel(words="every", direction=tests["direction"].values)
    offsets: dict[str, int] = json.loads(str(dependency.attrs.get("offsets", "{}")))
    order = ("relation", "direction", *GRID)
    sources = (tests["accuracy"], data["low"], data["high"], tests["p_corrected"])
    columns = np.stack([source.transpose(*order).values for source in sources])
    counts, baselines = (tests[name].transpose(*order).values for name in ("n", "baseline"))
    about, kept = list[dict[str, Any]](), list[Array]()
    for row, relation in enumerate(map(str, tests["relation"].values)):
        for column, direction in enumerate(map(str, tests["direction"].values)):
            n = int(counts[row, column, 0, 0])
            if n < LEAST or relation.startswith("all"):
                continue
            one = _relation(relation, direction, offsets)
            about.append(one | {"n": n, "baseline": float(baselines[row, column, 0, 0])})
            kept.append(columns[:, row, column])
    if not kept:
        return [], {}
    names = ("accuracy", "low", "high", "p")
    stacked = np.stack(kept, 1)
    return about, {f"relations/{name}": part for name, part in zip(names, stacked, strict=True)}


def _relation(relation: str, direction: str, offsets: dict[str, int]) -> dict[str, Any]:
    up, offset = direction == UP, offsets.get(relation, 0)
    return {
        "id": f"{relation}:{direction}",
        "title": f"{relation}: {'dependent → head' if up else 'head → dependent'}",
        "words": relation_words(relation, direction),
        "relation": relation,
        "direction": direction,
        "offset": offset if up else -offset,
        "family": family_of(relation),
    }
