"""Which heads have which role (Pande et al. 2021): a one-tailed test of each head's mean sieve bias against a threshold, with effect sizes and intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from headscope.errors import ResultsError, UserError, unknown
from headscope.results import KEPT, Results, head_name
from headscope.stats.tests import CORRECTIONS, correct

TAU = 3.0
ALPHA = 0.05
FEW = 30
RESAMPLES = 5000
ROUNDING = 1e-6
COARSE = ("local", "syntactic", "delimiter", "block")
"""The four roles of the paper."""
FINE = ("cls", "sep", "block", "previous-local", "next-local", "nsubj", "dobj", "amod", "advmod")
"""The nine of its Figure 5."""
TESTS = ("z", "t", "bootstrap", "permutation")
AUTO = "auto"

Scores = NDArray[np.float64]
Tau = float | str | Mapping[str, float | str]
BLOCK_MOST = 2.2
"""Attention wholly within two segments scores 2L / (words), about 2.1: over this no head can have the role block."""


def role_tests(
    results: Results,
    *,
    tau: Tau = TAU,
    test: str = "z",
    correction: str = "none",
    alpha: float = ALPHA,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> xr.Dataset:
    """Every head and role: mean, interval, effect size (Cohen's d against the threshold), p of "the mean is at most tau", corrected over all heads and roles together, and ``has``.

    ``tau`` is a number over 0, or "auto": the smallest integer above the mean of all scores; or a mapping of roles to such, with "" for all others. ``test``: z (as the paper) or t, from the moments of all sequences;
    bootstrap or permutation (sign flips), from the sequences whose scores are kept. ``correction``: none, holm or bh, over all heads and roles together.
    """
    if test not in TESTS:
        raise unknown("test", test, TESTS)
    if correction not in CORRECTIONS:
        raise unknown("correction", correction, CORRECTIONS)
    if not 0 < alpha < 1:
        raise UserError(
            f"alpha must be between 0 and 1, got {alpha} instead", hint="give --alpha 0.05, say"
        )
    data = role_data(results)
    threshold = find_taus(results, tau)
    mean, deviation, n = data["mean"], _spread(data), data["n"]
    if test in ("z", "t"):
        p = xr.apply_ufunc(moment_test(test), mean, deviation, n, threshold)
        low, high = data["low"], data["high"]
        used = n
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
    return tests.assign_attrs(
        test=test,
        correction=correction,
        alpha=alpha,
        resamples=resamples if test in ("bootstrap", "permutation") else 0,
        seed=seed,
    )


def role_data(results: Results) -> xr.Dataset:
    """The role branch of results, or an error that says how to get one."""
    if "role" not in results.measures:
        raise ResultsError(
            "these results have no roles in them",
            hint="run: headscope survey MODEL CORPUS --measure role -o roles.nc",
        )
    return results["role"]


def parse_tau(given: Sequence[str]) -> Tau:
    """Thresholds as they are typed: "3", "auto", "block=1.5".

    >>> parse_tau(["3", "block=1.5"])
    {'': 3.0, 'block': 1.5}
    """
    found: dict[str, float | str] = {"": TAU}
    for text in given:
        role, _, value = text.rpartition("=")
        try:
            found[role] = value if value == AUTO else float(value)
        except ValueError:
            raise UserError(
                f"tau must be a number over 0, 'auto', or ROLE=NUMBER; got {text!r} instead",
                hint="give --tau 3, or --tau block=1.5",
            ) from None
    return found


def find_taus(results: Results, tau: Tau = TAU) -> xr.DataArray:
    """The threshold of every role."""
    roles = [str(name) for name in role_data(results)["role"].values]
    given = dict(tau) if isinstance(tau, Mapping) else {"": tau}
    for name in given:
        if name and name not in roles:
            raise unknown("role", name, roles)
    numbers = {name: find_tau(results, value) for name, value in given.items()}
    return xr.DataArray(
        [numbers.get(role, numbers.get("", TAU)) for role in roles],
        {"role": role_data(results)["role"]},
        ("role",),
    )


def find_tau(results: Results, tau: float | str = TAU) -> float:
    """The threshold: as given, or from the data: the smallest integer above the mean of all scores of the paper's four roles.

    The four are taken as far as the corpus has them; without any, all roles there are.
    """
    if isinstance(tau, str):
        if tau != AUTO:
            raise UserError(
                f"tau must be a number over 0, or 'auto'; got {tau!r} instead",
                hint="give --tau 3, as the paper",
            )
        centre = grand_mean(results)
        if math.isnan(centre):
            raise ResultsError(
                "there is no score to find tau from: no sequence has any of the roles",
                hint="give --tau 3, as the paper",
            )
        return float(math.floor(centre) + 1)
    if not tau > 0 or not math.isfinite(tau):
        raise UserError(
            f"tau must be over 0 (1 is what uniform attention gives), got {tau:g} instead",
            hint="give --tau 3, as the paper, or --tau auto",
        )
    return float(tau)


def grand_mean(results: Results) -> float:
    """The mean of all scores: over heads, sequences and the paper's four roles."""
    data = role_data(results)
    part = data.sel(role=_there(data, COARSE) or list(data["role"].values))
    count = int(part["count"].sum())
    return float(part["sum"].sum()) / count if count else math.nan


def _spread(data: xr.Dataset) -> xr.DataArray:
    """The scores' deviation; 0 where it is no more than the rounding of its sums, as of scores that are all the same."""
    deviation = data["deviation"]
    return deviation.where((deviation > ROUNDING * abs(data["mean"])) | deviation.isnull(), 0.0)


def moment_test(test: str) -> Callable[..., Scores]:
    """The one-tailed test from mean, deviation and count. Without any spread the mean alone decides."""

    def p_value(mean: Scores, deviation: Scores, n: Scores, tau: Scores) -> Scores:
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = (mean - tau) / (deviation / np.sqrt(n))
            found = stats.norm.sf(statistic) if test == "z" else stats.t.sf(statistic, n - 1)
        return np.where(deviation == 0, np.where(mean > tau, 0.0, 1.0), found)

    return p_value


def _resampled(
    data: xr.Dataset, tau: xr.DataArray, test: str, resamples: int, seed: int
) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray, xr.DataArray]:
    """p and interval from the kept scores, role by role: the sequences that have a role are the same for all heads."""
    values = kept_scores(data)
    if resamples < 1:
        raise UserError(
            f"the number of resamples must be 1 or more, got {resamples} instead",
            hint="leave it out for 5000",
        )
    generator = np.random.default_rng(seed)
    shape = data["mean"].shape
    p, low, high, used = (np.full(shape, np.nan) for _ in range(4))
    for index in range(shape[-1]):
        scores = values.values[..., index].reshape(len(values), -1).astype(np.float64)
        scores = scores[~np.isnan(scores).any(1)]
        used[..., index] = len(scores)
        if len(scores) >= 2:
            found = (bootstrap if test == "bootstrap" else sign_flip)(
                scores, float(tau[index]), resamples, generator
            )
            p[..., index], low[..., index], high[..., index] = (
                part.reshape(shape[:-1]) for part in found
            )
    return tuple(data["mean"].copy(data=part) for part in (p, low, high, used))  # type: ignore[return-value]


def kept_scores(data: xr.Dataset) -> xr.DataArray:
    """The scores of single sequences, or an error that says how to keep them."""
    if KEPT not in data or not data.sizes["example"]:
        raise ResultsError(
            "these results keep only the moments, not the score of every sequence",
            hint="run the survey again without --keep 0, or use the z or t test",
        )
    return data[KEPT]


def bootstrap(
    scores: Scores, tau: float, resamples: int, generator: np.random.Generator
) -> tuple[Scores, Scores, Scores]:
    """Sequences drawn again with replacement: p by centring the scores on tau (the mean at its null), the interval by percentiles. ``scores``: (sequence, head)."""
    count, centre = len(scores), scores.mean(0)
    drawn = generator.multinomial(count, np.full(count, 1 / count), size=resamples) / count
    means = drawn @ (scores - centre)
    p = (1 + (means + tau >= centre).sum(0)) / (1 + resamples)
    low, high = np.quantile(means, [0.025, 0.975], axis=0) + centre
    return p, low, high


def sign_flip(
    scores: Scores, tau: float, resamples: int, generator: np.random.Generator
) -> tuple[Scores, Scores, Scores]:
    """Permutation by sign: under the null a score lies as far over tau as under it. The interval is the t one: a permutation test has none of its own."""
    away = scores - tau
    signs = generator.integers(0, 2, (resamples, len(scores)), dtype=np.int8) * 2.0 - 1.0
    means = signs @ away / len(scores)
    centre = away.mean(0)
    p = (1 + (means >= centre - 1e-12 * np.abs(centre)).sum(0)) / (1 + resamples)
    error = stats.t.ppf(0.975, len(scores) - 1) * scores.std(0, ddof=1) / np.sqrt(len(scores))
    return p, scores.mean(0) - error, scores.mean(0) + error


def role_table(results: Results, tests: xr.Dataset) -> pd.DataFrame:
    """One row a role: how many heads have it, and the strongest of them with its interval, effect and p."""
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
        row["strongest"] = (
            head_name(*(int(part) for part in best["place"].item())) if best is not None else ""
        )
        row |= {
            key: float(best[key]) if best is not None else np.nan
            for key in ("mean", "low", "high", "effect", "p", "p_corrected")
        }
        rows.append(row)
    return pd.DataFrame(rows)


def tau_table(
    results: Results, taus: Sequence[float] = (1, 2, 3, 4, 5), **how: object
) -> pd.DataFrame:
    """How many heads get each role as tau goes up."""
    found = {
        f"tau {tau:g}": role_tests(results, tau=float(tau), **how)["has"].sum(("layer", "head"))  # type: ignore[arg-type]
        for tau in taus
    }
    frame = pd.DataFrame({name: counts.to_series() for name, counts in found.items()})
    return frame.rename_axis("role").reset_index()


def undecided(tests: xr.Dataset, roles: Sequence[str] = COARSE) -> float:
    """The share of p-values between 0.05 and 0.95 over the paper's four roles (published: 1.8 %)."""
    p = tests["p"].sel(role=_there(tests, roles) or list(tests["role"].values)).values
    p = p[~np.isnan(p)]
    return float(((p > 0.05) & (p < 0.95)).mean()) if p.size else math.nan


def cautions(results: Results, tests: xr.Dataset) -> list[str]:
    """What a reader must know beside the test: too few sequences, roles that are absent, tests from part of the sequences."""
    data = role_data(results)
    found = []
    n = tests["n"].max(("layer", "head"))
    few = [
        f"{name} ({int(count)})"
        for name, count in zip(n["role"].values, n.values, strict=True)
        if 0 < count < FEW
    ]
    if few:
        found.append(
            f"Fewer than {FEW} sequences: {', '.join(few)}. The test of the mean is not to be trusted there; take more, or --test permutation."
        )
    none = [
        str(name) for name, count in zip(n["role"].values, n.values, strict=True) if not count > 0
    ]
    if none:
        found.append(f"No sequence has a token of {', '.join(none)}: not defined.")
    found += [
        f"Absent: {name} ({why})."
        for name, why in json.loads(data.attrs.get("absent", "{}")).items()
    ]
    causal = (
        results.provenance["model"].get("stack") == "decoder"
    )  # where early tokens of the second segment see few others, and can score more
    if (
        not causal
        and "block" in tests["role"].values
        and float(tests["tau"].sel(role="block")) >= BLOCK_MOST
    ):
        found.append(
            "By the paper's formula block can be at most about 2.1, even for a head that never leaves its segment: no head can have it at this tau. Give it one of its own, e.g. --tau block=1.5."
        )
    everything = float(data["n"].max())
    if tests.attrs["test"] in ("bootstrap", "permutation") and float(n.max()) < everything:
        found.append(
            f"The {tests.attrs['test']} uses the {int(n.max())} sequences whose scores are kept, of {int(everything)}; means are over all."
        )
    return found


def _there(data: xr.Dataset, roles: Sequence[str]) -> list[str]:
    """Those of some roles that the results have values of."""
    known = {str(name) for name in data["role"].values}
    n = data["n"].max([str(dim) for dim in data["n"].dims if dim != "role"])
    return [name for name in roles if name in known and float(n.sel(role=name)) > 0]
