"""The scores of roles (sieve bias, Pande et al. 2021) in results: which roles, and their scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from headscope.errors import ResultsError
from headscope.results import KEPT, Atlas

COARSE = ("local", "syntactic", "delimiter", "block")
"""The four roles of the paper."""
FINE = ("cls", "sep", "block", "previous-local", "next-local", "nsubj", "dobj", "amod", "advmod")
"""The nine roles of its Figure 5."""


def role_data(results: Atlas) -> xr.Dataset:
    """The measure ``role`` of results.

    Parameters
    ----------
    results
        Results of a survey.

    Raises
    ------
    ResultsError
        If the results have no roles; the message says how to get them.
    """
    if "role" not in results.measures:
        raise ResultsError(
            "these results have no roles in them",
            hint='survey with roles: hs.survey(model, corpus, measures="role")',
        )
    return results["role"]


def kept_scores(data: xr.Dataset) -> xr.DataArray:
    """The scores of single sequences.

    Parameters
    ----------
    data
        The measure ``role``.

    Raises
    ------
    ResultsError
        If only the moments were kept.
    """
    if KEPT not in data or not data.sizes["example"]:
        raise ResultsError(
            "these results keep only the moments, not the score of every sequence",
            hint="keep scores: hs.survey(model, corpus, keep=5000); or give test='z' or test='t'",
        )
    return data[KEPT]


def roles_with_scores(data: xr.Dataset, roles: Sequence[str]) -> list[str]:
    """Those of some roles that some sequence has a score for.

    Parameters
    ----------
    data
        Anything with ``n`` by role: the measure, or its tests.
    roles
        Names of roles.
    """
    known = {str(name) for name in data["role"].values}
    n = data["n"].max([str(dim) for dim in data["n"].dims if dim != "role"])
    return [name for name in roles if name in known and float(n.sel(role=name)) > 0]


def same_roles(data: xr.Dataset) -> dict[str, str]:
    """Roles that are an earlier one by another name, because their tokens are the same.

    The first token of a text is ``[CLS]`` in BERT, so that ``first token`` and ``cls`` have the
    same scores: one hypothesis, not two.

    Parameters
    ----------
    data
        The measure ``role``.

    Returns
    -------
    dict of str to str
        The earlier role by the later one.
    """
    sums = data[["sum", "count"]].transpose(..., "role")
    columns = {
        str(name): np.stack([sums["sum"].values[..., place], sums["count"].values[..., place]])
        for place, name in enumerate(data["role"].values)
    }
    found: dict[str, str] = {}
    for place, (name, column) in enumerate(columns.items()):
        if not column[1].any():
            continue
        for other in list(columns)[:place]:
            if other not in found and np.array_equal(columns[other], column):
                found[name] = other
                break
    return found


def mean_lengths(data: xr.Dataset) -> xr.DataArray:
    """The mean number of tokens of the sequences that have each role.

    Parameters
    ----------
    data
        The measure ``role``.

    Returns
    -------
    xarray.DataArray
        By role, of the sequences whose scores are kept; NaN where there are none.
    """
    if KEPT not in data or "tokens" not in data.coords:
        return xr.full_like(data["role"], np.nan, dtype=float).rename(None)
    has = data[KEPT].notnull().any(("layer", "head"))
    return data["tokens"].where(has).mean("example")
