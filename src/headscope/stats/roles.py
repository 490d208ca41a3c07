"""Which heads have which role (Pande et al. 2021): a test of each head's mean sieve bias."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import UserError, unknown
from headscope.numbers import count as shown_count
from headscope.results import Atlas
from headscope.stats.grid import labelled_head
from headscope.stats.one_sample import bootstrap_test, moment_test, sign_flip_test
from headscope.stats.role_scores import COARSE, kept_scores, role_data, roles_with_scores
from headscope.stats.tau import TAU, Tau, find_taus
from headscope.stats.tests import check_correction, correct

ALPHA = 0.05
FEW = 30
"""Below so many sequences the test of a mean is not to be trusted."""
RESAMPLES = 5000
ROUNDING = 1e-6
"""A deviation below this share of the mean is no more than the rounding of its sums."""
TESTS = ("z", "t", "bootstrap", "permutation")
BLOCK_MOST = 2.2
"""Attention wholly within two segments scores 2L / (words), about 2.1: above this threshold no head
can have the role block."""


def role_tests(
    results: Atlas,
    *,
    tau: Tau = TAU,
    test: str = "z",
    correction: str = "none",
    alpha: float = ALPHA,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> xr.Dataset:
    """Test for every head and role whether the mean score is above the threshold.

    Parameters
    ----------
    results
        Results with the measure ``role``.
    tau
        The threshold: a number over 0; ``auto``, the smallest integer above the mean of all scores;
        or a mapping of roles to these, with ``""`` for all others.
    test
        ``z`` (as in the paper) or ``t``, from the moments of all sequences; ``bootstrap`` or
        ``permutation`` (sign flips), from the sequences whose scores are kept.
    correction
        none, holm or bh, over all heads and roles together.
    alpha
        A head has a role where the corrected p is below this.
    resamples, seed
        Of the bootstrap or permutation test.

    Returns
    -------
    xarray.Dataset
        With dims layer, head and role: ``mean``, ``low``, ``high``, ``effect`` (Cohen's d against
        the threshold), ``p`` of "the mean is at most tau", ``p_corrected``, ``has``, ``n`` and
        ``tau``.

    Raises
    ------
    UserError
        If an option is not one of those named above.
    """
    if test not in TESTS:
        raise unknown("test", test, TESTS)
    check_correction(correction)
    if not 0 < alpha < 1:
        raise UserError(f"alpha must be between 0 and 1, got {alpha} instead", hint="0.05 is usual")
    data = role_data(results)
    threshold = find_taus(results, tau)
    mean, deviation, n = data["mean"], _spread(data), data["n"]
    if test in ("z", "t"):
        p = xr.apply_ufunc(moment_test, mean, deviation, n, threshold, kwargs={"test": test})
        low, high, used = data["low"], data["high"], n
    else:
        p, low, high, used = _resampled(data, threshold, test, resamples, seed)
    p = p.where(used >= 2)
    corrected = p.copy(data=correct(p.values, correction))
    tests = xr.Dataset(
        {
            "mean": mean,
            "low": low,
            "high": high,
            "effect": ((mean - threshold) / deviation.where(deviation > 0)),
            "p": p,
            "p_corrected": corrected,
            "has": (corrected < alpha) & p.notnull(),
            "n": used,
            "tau": threshold,
        }
    )
    drawn = resamples if test in ("bootstrap", "permutation") else 0
    return tests.assign_attrs(
        test=test, correction=correction, alpha=alpha, resamples=drawn, seed=seed
    )


def _spread(data: xr.Dataset) -> xr.DataArray:
    """The scores' deviation; 0 where it is no more than rounding, as of scores all the same."""
    deviation = data["deviation"]
    return deviation.where((deviation > ROUNDING * abs(data["mean"])) | deviation.isnull(), 0.0)


def _resampled(
    data: xr.Dataset, tau: xr.DataArray, test: str, resamples: int, seed: int
) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray, xr.DataArray]:
    """p, interval and number of sequences from the kept scores, role by role.

    The sequences that have a role are the same for all heads.
    """
    values = kept_scores(data)
    if resamples < 1:
        raise UserError(
            f"the number of resamples must be 1 or more, got {resamples} instead",
            hint=f"{RESAMPLES} is the default",
        )
    chosen = bootstrap_test if test == "bootstrap" else sign_flip_test
    generator = np.random.default_rng(seed)
    shape = data["mean"].shape
    p, low, high, used = (np.full(shape, np.nan) for _ in range(4))
    for index in range(shape[-1]):
        scores = values.values[..., index].reshape(len(values), -1).astype(np.float64)
        scores = scores[~np.isnan(scores).any(1)]
        used[..., index] = len(scores)
        if len(scores) >= 2:
            parts = chosen(scores, float(tau[index]), resamples, generator)
            p[..., index], low[..., index], high[..., index] = (
                part.reshape(shape[:-1]) for part in parts
            )
    template = data["mean"]
    return (
        template.copy(data=p),
        template.copy(data=low),
        template.copy(data=high),
        template.copy(data=used),
    )


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
        One row per role: heads, share, sequences, and the strongest head with its interval, effect
        and p.
    """
    rows = []
    total = tests.sizes["layer"] * tests.sizes["head"]
    for name in tests["role"].values:
        one = tests.sel(role=name).stack(place=("layer", "head"))
        row: dict[str, object] = {
            "role": str(name),
            "heads": int(one["has"].sum()),
            "share": float(one["has"].sum()) / total,
            "sequences": int(one["n"].max()),
        }
        known = bool(one["mean"].notnull().any())
        best = one.isel(place=int(np.nanargmax(one["mean"].values))) if known else None
        row["strongest"] = "" if best is None else str(labelled_head(*best["place"].item()))
        for key in ("mean", "low", "high", "effect", "p", "p_corrected"):
            row[key] = np.nan if best is None else float(best[key])
        rows.append(row)
    return pd.DataFrame(rows)


def tau_table(
    results: Atlas,
    taus: Sequence[float] = (1, 2, 3, 4, 5),
    *,
    test: str = "z",
    correction: str = "none",
    alpha: float = ALPHA,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> pd.DataFrame:
    """How many heads have each role as the threshold rises.

    Parameters
    ----------
    results
        Results with the measure ``role``.
    taus
        The thresholds.
    test, correction, alpha, resamples, seed
        As in :func:`role_tests`.

    Returns
    -------
    pandas.DataFrame
        Roles in rows, thresholds in columns.
    """
    columns = {}
    for tau in taus:
        tests = role_tests(
            results,
            tau=float(tau),
            test=test,
            correction=correction,
            alpha=alpha,
            resamples=resamples,
            seed=seed,
        )
        columns[f"tau {tau:g}"] = tests["has"].sum(("layer", "head")).to_series()
    return pd.DataFrame(columns).rename_axis("role").reset_index()


def undecided(tests: xr.Dataset, roles: Sequence[str] = COARSE) -> float:
    """The share of p-values between 0.05 and 0.95 over the paper's four roles (published: 1.8 %).

    Parameters
    ----------
    tests
        What :func:`role_tests` returns.
    roles
        Which roles; without scores for any of them, all roles.
    """
    p = tests["p"].sel(role=roles_with_scores(tests, roles) or list(tests["role"].values)).values
    p = p[~np.isnan(p)]
    return float(((p > 0.05) & (p < 0.95)).mean()) if p.size else math.nan


def cautions(results: Atlas, tests: xr.Dataset) -> list[str]:
    """What a reader of the tests should know, in plain sentences.

    Parameters
    ----------
    results
        Results with the measure ``role``.
    tests
        What :func:`role_tests` returns for them.

    Returns
    -------
    list of str
        Roles with too few sequences, roles that are absent, a threshold that no head can reach, and
        tests from only part of the sequences.
    """
    data = role_data(results)
    n = tests["n"].max(("layer", "head"))
    counts = {
        str(name): int(number) for name, number in zip(n["role"].values, n.values, strict=True)
    }
    said = []
    few = [f"{name} ({count})" for name, count in counts.items() if 0 < count < FEW]
    if few:
        said.append(
            f"Fewer than {FEW} sequences: {', '.join(few)}. Do not trust the test of the mean "
            "there; use more sequences, or the permutation test."
        )
    none = [name for name, count in counts.items() if not count]
    if none:
        said.append(f"Not defined, since no sequence has such a token: {', '.join(none)}.")
    absent = json.loads(data.attrs.get("absent", "{}"))
    said += [f"Absent: {name} ({why})." for name, why in absent.items()]
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
            "never leaves its segment, so no head can have the role at this tau. "
            "Give it a tau of its own, e.g. block=1.5."
        )
    used, everything = max(counts.values()), int(data["n"].max())
    if tests.attrs["test"] in ("bootstrap", "permutation") and used < everything:
        said.append(
            f"The {tests.attrs['test']} test uses the {shown_count(used)} sequences whose scores "
            f"are kept, of {shown_count(everything)}; means are over all."
        )
    return said
