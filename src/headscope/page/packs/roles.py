"""Main roles, tested roles and relations of all heads, as arrays for the page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.labels import family_of
from headscope.results import Atlas
from headscope.stats.jackknife import jackknife
from headscope.stats.main_roles import FAMILIES, NEEDED, main_roles
from headscope.stats.relations import LEAST, relation_tests
from headscope.stats.roles import role_tests

Array = NDArray[Any]
ORDER = (
    "previous", "next", "near", "itself", "same", "induction", "noun phrase", "clause",
    "broad", "no clear role", "rests",
)  # fmt: skip
"""Families as the page lists them."""
NONE = 255
"""No second role."""
GRID = ("layer", "head")


def role_columns(atlas: Atlas) -> tuple[dict[str, Any], dict[str, Array]]:
    """The main role of every head, and its excess at every role."""
    if not set(NEEDED) <= set(atlas):
        return {"families": [], "work": [], "activity": [], "agreement": None}, {}
    table = main_roles(atlas)
    shape = atlas.shape
    arrays: dict[str, Array] = {
        "roles/family": _family(table["family"], shape),
        "roles/second": _family(table["second"].map(lambda role: FAMILIES.get(role, role)), shape),
        "roles/borderline": table["borderline"].to_numpy(bool).reshape(shape),
    }
    for name in ("excess", "low", "high", "p_corrected", "activity", "spread"):
        key = name.removesuffix("_corrected")
        arrays[f"roles/{key}"] = table[name].to_numpy(float).reshape(shape)
    work, excess = _work(atlas)
    activity = atlas["activity"]["mean"].transpose("where", *GRID)
    arrays |= excess | {"activity": activity.values}
    kinds = [str(kind) for kind in activity["where"].values]
    same = int((~table["borderline"]).sum())
    document = {
        "families": list(ORDER),
        "work": work,
        "activity": kinds,
        "agreement": [same, len(table)],
    }
    return document, arrays


def _family(names: pd.Series, shape: tuple[int, int]) -> Array:
    numbers = [ORDER.index(name) if name in ORDER else NONE for name in names.astype(str)]
    return np.array(numbers, np.uint8).reshape(shape)


def _work(atlas: Atlas) -> tuple[list[dict[str, str]], dict[str, Array]]:
    """The excess over even attention at every role of the working attention."""
    data = atlas["work"]
    titles = json.loads(data.attrs["titles"])
    sums = data["sum"]
    left = sums.sel(part="left", drop=True)
    more = sums.sel(part="attention", drop=True) - sums.sel(part="uniform", drop=True)
    value = more.sum("bucket") / left.sum("bucket").where(left.sum("bucket") > 0)
    order = ("role", *GRID)
    about = [
        {"id": str(role), "title": titles[str(role)], "family": FAMILIES[str(role)]}
        for role in data["role"].values
    ]
    arrays = {
        "work/value": value.transpose(*order).values,
        "work/half": jackknife(more, left).transpose(*order).values,
    }
    return about, arrays


def test_columns(atlas: Atlas) -> tuple[list[dict[str, str]], dict[str, Array]]:
    """The tested roles of Pande et al. 2021."""
    if "role" not in atlas:
        return [], {}
    tests = role_tests(atlas, correction="holm")
    titles = json.loads(str(atlas["role"].attrs.get("titles", "{}")))
    about = [
        {"id": str(role), "title": titles.get(str(role), str(role))}
        for role in tests["role"].values
    ]
    order = ("role", *GRID)
    arrays = {
        f"tests/{name}": tests[source].transpose(*order).values
        for name, source in (
            ("mean", "mean"),
            ("low", "low"),
            ("high", "high"),
            ("p", "p_corrected"),
            ("effect", "effect"),
            ("has", "has"),
        )
    }
    return about, arrays


def relation_columns(atlas: Atlas) -> tuple[list[dict[str, Any]], dict[str, Array]]:
    """The accuracy of every head at dependency relations with enough words, both directions."""
    if "dependency" not in atlas:
        return [], {}
    tests = relation_tests(atlas)
    data = atlas["dependency"].sel(words="every", direction=tests["direction"].values)
    offsets: dict[str, int] = json.loads(str(atlas["dependency"].attrs.get("offsets", "{}")))
    about: list[dict[str, Any]] = []
    names = ("accuracy", "low", "high", "p")
    columns: dict[str, list[Array]] = {name: [] for name in names}
    first = tests.isel(layer=0, head=0)
    for relation in tests["relation"].values:
        for direction in tests["direction"].values:
            place = {"relation": relation, "direction": direction}
            here = first.sel(place)
            if int(here["n"]) < LEAST or str(relation).startswith("all"):
                continue
            about.append(_relation(str(relation), str(direction), here, offsets))
            sources = (tests["accuracy"], data["low"], data["high"], tests["p_corrected"])
            for name, source in zip(names, sources, strict=True):
                columns[name].append(source.sel(place).transpose(*GRID).values)
    if not about:
        return [], {}
    return about, {f"relations/{name}": np.stack(column) for name, column in columns.items()}


def _relation(
    relation: str, direction: str, here: xr.Dataset, offsets: dict[str, int]
) -> dict[str, Any]:
    up = direction == "dependent to head"
    offset = offsets.get(relation, 0)
    return {
        "id": f"{relation}:{direction}",
        "title": f"{relation}: {'dependent → head' if up else 'head → dependent'}",
        "relation": relation,
        "direction": direction,
        "baseline": float(here["baseline"]),
        "offset": offset if up else -offset,
        "n": int(here["n"]),
        "family": family_of(relation),
    }
