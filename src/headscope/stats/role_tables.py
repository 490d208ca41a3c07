"""Tables of roles (Pande et al. 2021), and what a reader of their tests should know."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from headscope.numbers import count as shown_count
from headscope.results import Atlas
from headscope.results.schema import GRID
from headscope.stats.grid import grid_heads
from headscope.stats.inference import FEW as FEW_DOCUMENTS
from headscope.stats.role_scores import (
    COARSE,
    mean_lengths,
    role_data,
    roles_with_scores,
    same_roles,
)
from headscope.stats.roles import (
    ALPHA,
    CORRECTION,
    RESAMPLING,
    TEST,
    exploratory_note,
    role_tests_by_tau,
)

BOOTSTRAP = "bootstrap"
SHOWN = ("mean", "low", "high", "effect", "p", "p_corrected", "position")
"""What the table says of the strongest head of a role."""
FEW = 30
"""Below so many sequences the test of a mean is not to be trusted."""
BLOCK_MOST = 2.2
"""Attention wholly within two segments scores 2L / (words), about 2.1: above this threshold no head
can have the role block."""


def role_table(results: Atlas, tests: xr.Dataset) -> pd.DataFrame:
    """How many heads have each role, and the strongest of them.

    Parameters
    ----------
    results
        Results with the measure ``role``.
    tests
        What :func:`role_tests` returns for them.

    Returns
    -------
    pandas.DataFrame
        One row per role: heads, share, sequences and their mean length in tokens (NaN where the
        scores of single sequences are not kept), and the strongest head with its interval, effect
        and p. Scores grow with length, since they are relative to 1 / length. Of dependency roles
        also how many of the heads have it ``by position`` alone, and the ``position`` of the
        strongest: times what its positions alone would give; NaN for others.
    """
    names = [str(name) for name in tests["role"].values]
    columns = {  # (role, head of the grid)
        key: tests[key].transpose("role", *GRID).values.reshape(len(names), -1)
        for key in ("has", "n", "positional", *SHOWN)
    }
    heads = grid_heads(tests["has"])
    lengths = mean_lengths(role_data(results)).sel(role=tests["role"]).values
    rows = []
    for role, name in enumerate(names):
        one = {key: values[role] for key, values in columns.items()}
        known = bool((~np.isnan(one["mean"])).any())
        best = int(np.nanargmax(one["mean"])) if known else None
        row: dict[str, object] = {
            "role": name,
            "heads": int(one["has"].sum()),
            "share": float(one["has"].sum()) / len(heads),
            "by position": (
                float(one["positional"].sum()) if np.isfinite(one["position"]).any() else np.nan
            ),
            "sequences": int(one["n"].max()),
            "length": float(lengths[role]),
            "strongest": "" if best is None else str(heads[best]),
        }
        row |= {key: np.nan if best is None else float(one[key][best]) for key in SHOWN}
        rows.append(row)
    return pd.DataFrame(rows)


def tau_table(
    results: Atlas,
    taus: Sequence[float] = (1, 2, 3, 4, 5),
    *,
    test: str = TEST,
    correction: str = CORRECTION,
    alpha: float = ALPHA,
    resamples: int | None = None,
    clusters: bool = True,
    seed: int = 0,
) -> pd.DataFrame:
    """How many heads have each role as the threshold rises.

    Parameters
    ----------
    results
        Results with the measure ``role``.
    taus
        The thresholds.
    test, correction, alpha, resamples, clusters, seed
        As in :func:`~headscope.stats.roles.role_tests`.

    Returns
    -------
    pandas.DataFrame
        Roles in rows, thresholds in columns.
    """
    found = role_tests_by_tau(
        results,
        taus,
        test=test,
        correction=correction,
        alpha=alpha,
        resamples=resamples,
        clusters=clusters,
        seed=seed,
    )
    columns = {
        f"tau {tau:g}": tests["has"].sum(("layer", "head")).to_series()
        for tau, tests in zip(taus, found, strict=True)
    }
    return pd.DataFrame(columns).rename_axis("role").reset_index()


def undecided(tests: xr.Dataset | Sequence[xr.Dataset], roles: Sequence[str] = COARSE) -> float:
    """The share of p-values between 0.05 and 0.95 over the paper's four roles (published: 1.8 %).

    Parameters
    ----------
    tests
        What :func:`~headscope.stats.roles.role_tests` returns, for one corpus or for several.
    roles
        Which roles; without scores for any of them, all roles.
    """
    every = [tests] if isinstance(tests, xr.Dataset) else list(tests)
    chosen = [
        one["p"].sel(role=roles_with_scores(one, roles) or list(one["role"].values)).values.ravel()
        for one in every
    ]
    p = np.concatenate(chosen)
    p = p[~np.isnan(p)]
    return float(((p > 0.05) & (p < 0.95)).mean()) if p.size else math.nan


def cautions(results: Atlas, tests: xr.Dataset) -> list[str]:
    """What a reader of the tests should know, in plain sentences.

    Parameters
    ----------
    results
        Results with the measure ``role``.
    tests
        What :func:`~headscope.stats.roles.role_tests` returns for them.

    Returns
    -------
    list of str
        Roles with too few sequences or documents, roles that are absent or the same, directions of
        dependency roles, a threshold that no head can reach, and tests from only part of the
        sequences.
    """
    data = role_data(results)
    counts = _most(tests["n"])
    said = [*_few(tests, counts), *filter(None, [exploratory_note(tests).strip()])]
    none = [name for name, count in counts.items() if not count]
    if none:
        said.append(f"Not defined, since no sequence has such a token: {', '.join(none)}.")
    said += _absent(json.loads(data.attrs.get("absent", "{}")))
    said += [
        f"{one} and {other} are the same tokens here, and count as one test."
        for one, other in same_roles(data).items()
    ]
    if tests["position"].notnull().any():
        said.append(
            "“Position” is what the strongest head gives the words of a dependency role, in times "
            "what its mean attention at each offset alone would give them. “By position” counts "
            "heads that pass the test, but not surely give 1.2 times that (Holm over heads and "
            "dependency roles): is:nsubj leaves them out, is:positional-nsubj finds them."
        )
    if unseen := data.attrs.get("unseen"):
        said.append(
            "Dependency roles go both ways here, between a dependent and its head word: from the "
            f"dependent, this causal model would see the head word of {unseen} sequences only."
        )
    # In a causal model early tokens of the second segment see few others, and can score more.
    causal = results.provenance["model"].get("stack") == "decoder"
    if not causal and "block" in counts and float(tests["tau"].sel(role="block")) >= BLOCK_MOST:
        said.append(
            "By the paper's formula the score of block is at most about 2.1, even for a head that "
            "never leaves its segment, so no head can have the role at this threshold. Give it one "
            "of its own: --tau block=1.5, or tau={'': 3, 'block': 1.5} in Python."
        )
    used, everything = max(counts.values()), int(data["n"].max())
    if tests.attrs["test"] in RESAMPLING and used < everything:
        said.append(
            f"The {tests.attrs['test']} test uses the {shown_count(used)} sequences whose scores "
            f"are kept, of {shown_count(everything)}; means are over all."
        )
    return said


def _absent(why: dict[str, str]) -> list[str]:
    """Roles that are absent, those with the same reason in one sentence."""
    names: dict[str, list[str]] = {}
    for name, reason in why.items():
        names.setdefault(reason, []).append(name)
    return [f"Absent: {', '.join(some)} ({reason})." for reason, some in names.items()]


def _most(numbers: xr.DataArray) -> dict[str, int]:
    """The largest number of all heads, by role."""
    most = numbers.max(("layer", "head"))
    return {
        str(name): int(number)
        for name, number in zip(most["role"].values, most.values, strict=True)
    }


def _few(tests: xr.Dataset, counts: dict[str, int]) -> list[str]:
    """Roles with so few sequences, or documents, that their test is rough."""
    said = []
    few = [f"{name} ({count})" for name, count in counts.items() if 0 < count < FEW]
    if few:
        instead = (
            ""
            if tests.attrs["test"] == BOOTSTRAP
            else (", or the bootstrap test, which errs least often on skewed scores")
        )
        said.append(
            f"Fewer than {FEW} sequences: {', '.join(few)}. Do not rely on the test there, above "
            f"all where scores are skewed to the left; use more sequences{instead}."
        )
    if tests.attrs["clustered"]:
        most = max(_most(tests["clusters"]).values())
        said.append(
            "Sequences of one document are not independent of each other: tests and intervals are "
            f"over {shown_count(most)} documents."
        )
        rough = [
            f"{name} ({count})"
            for name, count in _most(tests["effective"].fillna(0)).items()
            if 0 < count < FEW_DOCUMENTS and counts[name] >= FEW
        ]
        if rough:
            said.append(
                f"In effect fewer than {FEW_DOCUMENTS} documents, so that tests and intervals are "
                f"rough: {', '.join(rough)}."
            )
    return said
