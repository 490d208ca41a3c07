"""Whether the claims of Pande et al. 2021 hold here, corpus by corpus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.papers.claims import Answer, Claim, Finding, held_by_most
from headscope.papers.pande2021 import facts
from headscope.results import Atlas
from headscope.stats import (
    COARSE,
    FINE,
    fine_overlaps,
    overlap_shares,
    pooled_mean,
    present,
    role_correlations,
    role_sets,
    undecided,
)
from headscope.stats.tables.role_tables import RELATIONS

ROUNDING = 1e-9
"""A difference no larger is none."""
NO_BLOCK = "no head has the role block"
NO_TREE = "no corpus has trees"


def findings(
    results: Mapping[str, Atlas],
    tests: Mapping[str, xr.Dataset],
    shifts: Mapping[str, pd.DataFrame],
) -> list[Finding]:
    """Test the paper's claims.

    Parameters
    ----------
    results, tests
        Role scores and their tests, by corpus.
    shifts
        Shifts by fine-tuning, by corpus; empty without fine-tuned models.

    Returns
    -------
    list of Finding
        In the order of the paper. A claim holds if it does in more than half of the corpora that
        it can be tested on.
    """
    every = list(results.values())
    mean = pooled_mean(every)
    tau = facts.CLAIMS["tau"]
    found = {
        "tau": _tau(tau, mean)
        if np.isfinite(mean)
        else tau.untested("no sequence has any of the roles")
    }
    for name, (check, reason) in _CHECKS.items():
        answers = {corpus: check(results[corpus], tests[corpus]) for corpus in tests}
        found[name] = held_by_most(facts.CLAIMS[name], answers, reason)
    for name, shifted in _SHIFTED.items():
        answers = {corpus: shifted(shift) for corpus, shift in shifts.items()}
        found[name] = held_by_most(facts.CLAIMS[name], answers, "no fine-tuned model was given")
    return [found[name] for name in facts.CLAIMS]


def _tau(claim: Claim, mean: float) -> Finding:
    """The threshold that follows from the mean of all scores."""
    found = int(np.floor(mean)) + 1
    return claim.tested(f"{mean:.2f}, so that τ = {found}", found == facts.TAU)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _outliers(results: Atlas, tests: xr.Dataset) -> Answer:
    roles = present(tests, COARSE)
    part = tests.sel(role=roles)
    count = int(((part["mean"] > part["tau"]) & (part["p"] >= 0.05)).sum())
    over = int((part["mean"] > part["tau"]).sum())
    return (f"{count} of {over} with a mean above τ", count > 0) if roles else None


def _bimodal(results: Atlas, tests: xr.Dataset) -> Answer:
    value = undecided(tests)
    return None if np.isnan(value) else (_percent(value), value <= 0.05)


def _share(name: str, holds: Callable[[float], bool]) -> Callable[[Atlas, xr.Dataset], Answer]:
    """One of the paper's shares of heads."""

    def check(results: Atlas, tests: xr.Dataset) -> Answer:
        value = overlap_shares(tests)[name]
        return None if np.isnan(value) else (_percent(value), holds(value))

    return check


def _spearman(results: Atlas, tests: xr.Dataset) -> Answer:
    both = role_correlations(results, ("local", "syntactic"))
    if both.empty or np.isnan(both["rho (heads)"].iloc[0]):
        return None
    rho = float(both["rho (heads)"].iloc[0])
    return f"{rho:.2f}", rho >= 0.7


def _fine(role: str, other: str) -> Callable[[Atlas, xr.Dataset], Answer]:
    def check(results: Atlas, tests: xr.Dataset) -> Answer:
        for row in fine_overlaps(tests).to_dict("records"):
            if (row["role"], row["other"]) == (role, other) and row["heads"]:
                return f"{row['both']} of {row['heads']}", bool(row["share"] >= 0.5)
        return None

    return check


def _block(results: Atlas, tests: xr.Dataset) -> Answer:
    sets = role_sets(tests)
    if not sets.get("block"):
        return None
    others = sets.get("syntactic", set()) | sets.get("local", set())
    both = len(sets["block"] & others)
    return f"{both} of {len(sets['block'])}", both < len(sets["block"]) / 4


def _by_layer(tests: xr.Dataset, roles: Sequence[str]) -> NDArray[np.float64] | None:
    """The share of each layer's heads that have one of some roles."""
    there = present(tests, roles)
    if not there:
        return None
    return np.asarray(tests["has"].sel(role=there).any("role").mean("head").values, float)


def _depths(layers: int) -> NDArray[np.float64]:
    """Where the middle of each layer is, as a share of the model's depth."""
    return (np.arange(layers) + 0.5) / layers


def _skilled(results: Atlas, tests: xr.Dataset) -> Answer:
    there = present(tests, FINE)
    if not there:
        return None
    skills = tests["has"].sel(role=there).sum("role").mean("head").values
    return _at_depth(skills, facts.SKILLED_LAYERS, "{:.1f} against {:.1f} elsewhere")


def _at_depth(values: NDArray[np.float64], depth: tuple[float, float], text: str) -> Answer:
    """Whether layers at some depth have more than the others."""
    inside = (_depths(len(values)) > depth[0]) & (_depths(len(values)) < depth[1])
    if inside.all() or not inside.any():
        return None
    here, elsewhere = float(values[inside].mean()), float(values[~inside].mean())
    return text.format(here, elsewhere), here > elsewhere + ROUNDING


def _only_delimiters(results: Atlas, tests: xr.Dataset) -> Answer:
    there = present(tests, FINE)
    if not {"cls", "sep"} & set(there):
        return None
    layers = max(1, round(tests.sizes["layer"] / 4))
    last = tests["has"].sel(role=there).isel(layer=slice(-layers, None))
    skilled = last.any("role")
    others = last.sel(role=[name for name in there if name not in ("cls", "sep")]).any("role")
    count, only = int(skilled.sum()), int((skilled & ~others).sum())
    return (f"{only} of {count}", only >= count / 2) if count else None


def _first_delimiter(results: Atlas, tests: xr.Dataset) -> Answer:
    shares = _by_layer(tests, ("delimiter",))
    if shares is None or len(shares) < 2:
        return None
    others = float(shares[1:].mean())
    text = f"{_percent(shares[0])} against {_percent(others)} in the others"
    return text, bool(shares[0] < others / 2 - ROUNDING)


def _first_block(results: Atlas, tests: xr.Dataset) -> Answer:
    shares = _by_layer(tests, ("block",))
    if shares is None or not shares.any() or len(shares) < 2:
        return None
    text = f"{_percent(shares[0])} against {_percent(shares[1:].mean())} in the others"
    return text, bool(shares[0] > shares[1:].mean() + ROUNDING)


def _everywhere(results: Atlas, tests: xr.Dataset) -> Answer:
    shares = _by_layer(tests, RELATIONS)
    if shares is None:
        return None
    count = int((shares >= 0.25).sum())
    return f"{count} of {len(shares)} layers", count >= 0.75 * len(shares)


def _middle(results: Atlas, tests: xr.Dataset) -> Answer:
    shares = _by_layer(tests, RELATIONS)
    if shares is None:
        return None
    return _at_depth(100 * shares, facts.SYNTACTIC_LAYERS, "{:.1f} % against {:.1f} % elsewhere")


def _last(results: Atlas, tests: xr.Dataset) -> Answer:
    shares = _by_layer(tests, RELATIONS)
    if shares is None or len(shares) < 2:
        return None
    layers = max(1, round(len(shares) / 6))
    here, others = shares[-layers:].mean(), shares[:-layers].mean()
    text = f"{_percent(here)} against {_percent(others)} in the others"
    return text, bool(here < others / 2 - ROUNDING)


def _shifted(role: str, verdict: str) -> Callable[[pd.DataFrame], Answer]:
    def check(shift: pd.DataFrame) -> Answer:
        rows = shift[(shift["role"] == role) & (shift["third"] == "last")].dropna(subset=["shift"])
        if rows.empty:
            return None
        row = rows.iloc[0]
        return f"{row['shift']:+.2f} ({row['verdict']})", row["verdict"] == verdict

    return check


def _separator(shift: pd.DataFrame) -> Answer:
    rows = shift[shift["third"] == "last"].dropna(subset=["shift"]).set_index("role")
    if not {"cls", "sep"} <= set(rows.index):
        return None
    last = rows["shift"]
    text = f"[SEP] {last['sep']:+.2f} ({rows['verdict']['sep']}), [CLS] {last['cls']:+.2f}"
    return text, rows["verdict"]["sep"] == "lower" and abs(last["sep"]) > abs(last["cls"])


def _early(shift: pd.DataFrame) -> Answer:
    four = shift[shift["role"].isin(COARSE)].dropna(subset=["shift"])
    sizes = four.assign(size=four["shift"].abs()).groupby("third")["size"].mean()
    if not {"first", "middle", "last"} <= set(sizes.index):
        return None
    text = ", ".join(f"{third} {sizes[third]:.2f}" for third in ("first", "middle", "last"))
    return text, bool(sizes["last"] > max(sizes["first"], sizes["middle"]))


_CHECKS: dict[str, tuple[Callable[[Atlas, xr.Dataset], Answer], str]] = {
    "outliers": (_outliers, "none of the four roles could be tested"),
    "bimodal": (_bimodal, "no role could be tested"),
    "delimiter": (_share("delimiter heads", lambda share: share > 0.5), "no delimiters"),
    "unskilled": (_share("heads without a role", lambda share: share <= 0.2), "no role"),
    "local": (
        _share("syntactic heads that are local too", lambda share: share >= 0.5),
        "no syntactic heads",
    ),
    "spearman": (_spearman, NO_TREE),
    "nsubj": (_fine("nsubj", "next-local"), "no nsubj heads, or no next-local role"),
    "dobj": (_fine("dobj", "previous-local"), "no dobj heads"),
    "block": (_block, NO_BLOCK),
    "skilled": (_skilled, "none of the fine roles could be tested"),
    "delimiter last": (_only_delimiters, "no delimiters, or no head there with a fine role"),
    "delimiter first": (_first_delimiter, "no delimiters"),
    "block first": (_first_block, NO_BLOCK),
    "syntactic everywhere": (_everywhere, NO_TREE),
    "syntactic middle": (_middle, NO_TREE),
    "syntactic last": (_last, NO_TREE),
}
_SHIFTED: dict[str, Callable[[pd.DataFrame], Answer]] = {
    "delimiter falls": _shifted("delimiter", "lower"),
    "sep falls": _separator,
    "block rises": _shifted("block", "higher"),
    "early same": _early,
}
