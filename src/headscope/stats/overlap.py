"""Heads with several roles (Pande et al. 2021): overlaps of the roles' sets of heads, correlations of their scores, skills by layer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from headscope.results import KEPT, Results, head_name
from headscope.stats.roles import COARSE, FINE, role_data


def role_sets(tests: xr.Dataset, roles: Sequence[str] = COARSE) -> dict[str, set[str]]:
    """The heads of each role, by name."""
    found: dict[str, set[str]] = {}
    for role in present(tests, roles):
        has = tests["has"].sel(role=role).stack(place=("layer", "head"))
        found[role] = {
            head_name(int(layer), int(head)) for layer, head in has["place"].values[has.values]
        }
    return found


def regions(sets: dict[str, set[str]]) -> pd.DataFrame:
    """Every combination of roles that some head has exactly, with how many heads have it and which: the regions of a Venn diagram, the bars of an UpSet plot."""
    rows = []
    for size in range(1, len(sets) + 1):
        for names in combinations(sets, size):
            inside = set.intersection(*(sets[name] for name in names)) - set().union(
                *(sets[name] for name in sets if name not in names)
            )
            if inside:
                rows.append(
                    {
                        "roles": " & ".join(names),
                        "degree": size,
                        "heads": len(inside),
                        "which": ", ".join(sorted(inside, key=_order)),
                    }
                )
    return pd.DataFrame(rows, columns=["roles", "degree", "heads", "which"]).sort_values(
        ["heads", "roles"], ascending=[False, True], ignore_index=True
    )


def overlap_shares(tests: xr.Dataset) -> dict[str, float]:
    """The shares that the paper reports: delimiter heads, heads without a role, syntactic heads that are local too. NaN where there is nothing to share."""
    sets = role_sets(tests)
    total = tests.sizes["layer"] * tests.sizes["head"]
    some = set().union(*sets.values())
    syntactic = sets.get("syntactic", set())
    return {
        "delimiter heads": len(sets["delimiter"]) / total if "delimiter" in sets else np.nan,
        "heads without a role": 1 - len(some) / total if sets else np.nan,
        "syntactic heads that are local too": len(syntactic & sets["local"]) / len(syntactic)
        if syntactic and "local" in sets
        else np.nan,
        "heads with two roles or more": len(
            {head for one, two in combinations(sets.values(), 2) for head in one & two}
        )
        / total
        if len(sets) > 1
        else np.nan,
    }


def role_correlations(results: Results, roles: Sequence[str] | None = None) -> pd.DataFrame:
    """Spearman's correlation between the scores of every two roles: over heads (their means), and over heads and sequences where the scores are kept."""
    data = role_data(results)
    names = (
        [str(name) for name in data["role"].values]
        if roles is None
        else [name for name in roles if name in data["role"].values]
    )
    rows = []
    for one, two in combinations(names, 2):
        row: dict[str, object] = {"role": one, "other": two}
        row |= _spearman(data["mean"].sel(role=one), data["mean"].sel(role=two), "heads")
        if KEPT in data:
            row |= _spearman(data[KEPT].sel(role=one), data[KEPT].sel(role=two), "sequences")
        rows.append(row)
    return pd.DataFrame(rows)


def _spearman(one: xr.DataArray, two: xr.DataArray, over: str) -> dict[str, float]:
    left, right = one.values.ravel(), two.values.ravel()
    known = ~(np.isnan(left) | np.isnan(right))
    enough = known.sum() >= 3 and np.ptp(left[known]) > 0 and np.ptp(right[known]) > 0
    rho, p = stats.spearmanr(left[known], right[known]) if enough else (np.nan, np.nan)
    return {f"rho ({over})": float(rho), f"p ({over})": float(p), f"n ({over})": int(known.sum())}


def skills(tests: xr.Dataset, roles: Sequence[str] = FINE) -> pd.DataFrame:
    """One row a head and fine role: whether it has it, how many it has in all, and its place in its layer when heads are sorted by that number (Figure 5)."""
    names = present(tests, roles)
    has = tests["has"].sel(role=names)
    number = has.sum("role")
    frame = has.to_dataframe()["has"].reset_index()
    frame["skills"] = (
        number.to_series().reindex(pd.MultiIndex.from_frame(frame[["layer", "head"]])).to_numpy()
    )
    order = (
        frame[["layer", "head", "skills"]]
        .drop_duplicates()
        .sort_values(["layer", "skills", "head"], ascending=[True, False, True])
    )
    order["place"] = order.groupby("layer").cumcount() + 1
    return frame.merge(order[["layer", "head", "place"]], on=["layer", "head"])


def layer_shares(tests: xr.Dataset, roles: Sequence[str] | None = None) -> pd.DataFrame:
    """The share of each layer's heads that have each role, and the mean number of fine roles a head has."""
    names = [str(name) for name in tests["role"].values] if roles is None else present(tests, roles)
    frame = tests["has"].sel(role=names).mean("head").to_series().unstack("role")[names]
    frame["roles a head (fine)"] = (
        tests["has"].sel(role=present(tests, FINE)).sum("role").mean("head").to_series()
    )
    return frame.reset_index()


def present(tests: xr.Dataset, roles: Sequence[str]) -> list[str]:
    """Those of some roles that were tested."""
    known = {str(name) for name in tests["role"].values}
    return [
        name for name in roles if name in known and bool(tests["p"].sel(role=name).notnull().any())
    ]


def _order(name: str) -> tuple[int, int]:
    layer, head = name.split("-")
    return int(layer), int(head)
