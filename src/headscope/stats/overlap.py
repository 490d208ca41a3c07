"""Heads with several roles (Pande et al. 2021): overlaps, correlations, skills by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations, product

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when they are used
import xarray as xr

from headscope.heads import Head
from headscope.results import KEPT, Atlas
from headscope.stats.grid import grid_heads
from headscope.stats.role_scores import COARSE, FINE, role_data

RELATIONS = ("nsubj", "dobj", "amod", "advmod")
SIDES = ("previous-local", "next-local")

RoleSets = Mapping[str, AbstractSet[Head]]
"""The heads of each role."""


def role_sets(tests: xr.Dataset, roles: Sequence[str] = COARSE) -> dict[str, set[Head]]:
    """The heads that have each role.

    Parameters
    ----------
    tests
        What :func:`~headscope.stats.roles.role_tests` returns.
    roles
        Which roles; those that were not tested are skipped.
    """
    sets: dict[str, set[Head]] = {}
    for role in present(tests, roles):
        has = tests["has"].sel(role=role).transpose("layer", "head")
        flags = has.values.ravel()
        sets[role] = {head for head, flag in zip(grid_heads(has), flags, strict=True) if flag}
    return sets


def regions(sets: RoleSets) -> pd.DataFrame:
    """Every combination of roles that some head has exactly.

    These are the regions of a Venn diagram and the bars of an UpSet plot.

    Parameters
    ----------
    sets
        The heads of each role.

    Returns
    -------
    pandas.DataFrame
        One row per combination, the largest first: roles, degree (how many roles), heads (how many
        heads) and which heads.

    Examples
    --------
    >>> local, block = {Head(0, 0), Head(0, 1)}, {Head(0, 1)}
    >>> regions({"local": local, "block": block})[["roles", "which"]].values.tolist()
    [['local', '1-1'], ['local & block', '1-2']]
    """
    rows = []
    for size in range(1, len(sets) + 1):
        for names in combinations(sets, size):
            inside = set.intersection(*(set(sets[name]) for name in names))
            inside -= set().union(*(sets[name] for name in sets if name not in names))
            if inside:
                which = ", ".join(str(head) for head in sorted(inside))
                roles = " & ".join(names)
                rows.append({"roles": roles, "degree": size, "heads": len(inside), "which": which})
    return pd.DataFrame(rows, columns=["roles", "degree", "heads", "which"]).sort_values(
        ["heads", "roles"], ascending=[False, True], ignore_index=True
    )


def overlap_shares(tests: xr.Dataset) -> dict[str, float]:
    """The shares of heads that the paper reports for its four roles.

    Parameters
    ----------
    tests
        What :func:`~headscope.stats.roles.role_tests` returns.

    Returns
    -------
    dict of str to float
        Delimiter heads, heads without a role, syntactic heads that are local too, and heads with
        two roles or more; NaN where a role was not tested.
    """
    sets = role_sets(tests)
    total = tests.sizes["layer"] * tests.sizes["head"]
    syntactic, several = sets.get("syntactic", set()), set[Head]()
    for one, two in combinations(sets.values(), 2):
        several |= one & two
    both = syntactic & sets.get("local", set())
    return {
        "delimiter heads": len(sets["delimiter"]) / total if "delimiter" in sets else np.nan,
        "heads without a role": 1 - len(set().union(*sets.values())) / total if sets else np.nan,
        "syntactic heads that are local too": len(both) / len(syntactic)
        if syntactic and "local" in sets
        else np.nan,
        "heads with two roles or more": len(several) / total if len(sets) > 1 else np.nan,
    }


def fine_overlaps(tests: xr.Dataset) -> pd.DataFrame:
    """How many heads of each syntactic relation look the same way in any text.

    Parameters
    ----------
    tests
        What :func:`~headscope.stats.roles.role_tests` returns.

    Returns
    -------
    pandas.DataFrame
        One row per relation (nsubj, dobj, amod, advmod) and direction (previous-local,
        next-local): heads with the ``role``, heads with ``both``, and their ``share``, NaN without
        any head.
    """
    sets = role_sets(tests, (*RELATIONS, *SIDES))
    rows = []
    for role, side in product(RELATIONS, SIDES):
        if role in sets and side in sets:
            both = sets[role] & sets[side]
            share = len(both) / len(sets[role]) if sets[role] else np.nan
            which = ", ".join(str(head) for head in sorted(both))
            row = {"role": role, "other": side, "heads": len(sets[role]), "both": len(both)}
            rows.append(row | {"share": share, "which": which})
    return pd.DataFrame(rows, columns=["role", "other", "heads", "both", "share", "which"])


def role_correlations(results: Atlas, roles: Sequence[str] | None = None) -> pd.DataFrame:
    """Spearman's correlation between the scores of every two roles.

    Parameters
    ----------
    results
        Results with the measure ``role``.
    roles
        Which roles, by default all; those that the results do not have are skipped.

    Returns
    -------
    pandas.DataFrame
        One row per pair: rho, p and n over heads (their means), and over heads and sequences where
        the scores of single sequences are kept.
    """
    data = role_data(results)
    known = [str(name) for name in data["role"].values]
    names = known if roles is None else [name for name in roles if name in known]
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
    rho, p = scipy.stats.spearmanr(left[known], right[known]) if enough else (np.nan, np.nan)
    return {f"rho ({over})": float(rho), f"p ({over})": float(p), f"n ({over})": int(known.sum())}


def skills(tests: xr.Dataset, roles: Sequence[str] = FINE) -> pd.DataFrame:
    """Which fine roles every head has (Figure 5).

    Parameters
    ----------
    tests
        What :func:`~headscope.stats.roles.role_tests` returns.
    roles
        Which roles; those that were not tested are skipped.

    Returns
    -------
    pandas.DataFrame
        One row per head and role: ``has``, how many of the roles the head has (``skills``), and its
        ``place`` in its layer when heads are sorted by that number.
    """
    has = tests["has"].sel(role=present(tests, roles))
    frame = has.to_dataframe()["has"].reset_index()
    number = has.sum("role").to_series()
    heads = pd.MultiIndex.from_frame(frame[["layer", "head"]])
    frame["skills"] = number.reindex(heads).to_numpy()
    order = frame[["layer", "head", "skills"]].drop_duplicates()
    order = order.sort_values(["layer", "skills", "head"], ascending=[True, False, True])
    order["place"] = order.groupby("layer").cumcount() + 1
    return frame.merge(order[["layer", "head", "place"]], on=["layer", "head"])


def layer_shares(tests: xr.Dataset, roles: Sequence[str] | None = None) -> pd.DataFrame:
    """The share of each layer's heads that have each role.

    Parameters
    ----------
    tests
        What :func:`~headscope.stats.roles.role_tests` returns.
    roles
        Which roles, by default all.

    Returns
    -------
    pandas.DataFrame
        Layers in rows, roles in columns, and the mean number of fine roles per head.
    """
    names = [str(name) for name in tests["role"].values] if roles is None else present(tests, roles)
    frame = tests["has"].sel(role=names).mean("head").to_series().unstack("role")[names]
    fine = tests["has"].sel(role=present(tests, FINE)).sum("role").mean("head")
    frame["fine roles per head"] = fine.to_series()
    return frame.reset_index()


def present(tests: xr.Dataset, roles: Sequence[str]) -> list[str]:
    """Those of some roles that were tested, i.e. have a p for some head.

    Parameters
    ----------
    tests
        What :func:`~headscope.stats.roles.role_tests` returns.
    roles
        Names of roles.
    """
    known = {str(name) for name in tests["role"].values}
    return [
        name for name in roles if name in known and bool(tests["p"].sel(role=name).notnull().any())
    ]
