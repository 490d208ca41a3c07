"""Tables of roles (Pande et al. 2021): counts, cautions, overlaps, skills, and shifts by tuning."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when they are used
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from headscope.errors import ResultsError, UserError
from headscope.heads import Head
from headscope.identity import same_corpus
from headscope.numbers import count as shown_count
from headscope.options import RESAMPLING, RoleTest
from headscope.results import KEPT, Atlas
from headscope.results.schema import GRID
from headscope.stats.grid import grid_heads
from headscope.stats.inference.correction import ALPHA, check_correction, correct
from headscope.stats.inference.documents import FEW as FEW_DOCUMENTS
from headscope.stats.inference.documents import ClusterSums, kept_groups
from headscope.stats.tables.roles import (
    COARSE,
    FINE,
    exploratory_note,
    find_taus,
    kept_scores,
    mean_lengths,
    role_data,
    roles_with_scores,
    same_roles,
    tests_of,
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
        mine = {key: values[role] for key, values in columns.items()}
        known = bool((~np.isnan(mine["mean"])).any())
        best = int(np.nanargmax(mine["mean"])) if known else None
        row: dict[str, object] = {
            "role": name,
            "heads": int(mine["has"].sum()),
            "share": float(mine["has"].sum()) / len(heads),
            "by position": (
                float(mine["positional"].sum()) if np.isfinite(mine["position"]).any() else np.nan
            ),
            "sequences": int(mine["n"].max()),
            "length": float(lengths[role]),
            "strongest": "" if best is None else str(heads[best]),
        }
        row |= {key: np.nan if best is None else float(mine[key][best]) for key in SHOWN}
        rows.append(row)
    return pd.DataFrame(rows)


def tau_table(
    results: Atlas, taus: Sequence[float] = (1, 2, 3, 4, 5), **options: Any
) -> pd.DataFrame:
    """How many heads have each role as the threshold rises.

    Parameters
    ----------
    results
        Results with the measure ``role``.
    taus
        The thresholds.
    **options
        test, correction, alpha, resamples, clusters and seed of :func:`headscope.stats.role_tests`.

    Returns
    -------
    pandas.DataFrame
        Roles in rows, thresholds in columns.
    """
    rows = np.stack([find_taus(results, float(tau)).values for tau in taus])
    columns = {
        f"tau {tau:g}": tests["has"].sum(GRID).to_series()
        for tau, tests in zip(taus, tests_of(RoleTest(**options), results, rows), strict=True)
    }
    return pd.DataFrame(columns).rename_axis("role").reset_index()


def undecided(tests: xr.Dataset | Sequence[xr.Dataset], roles: Sequence[str] = COARSE) -> float:
    """The share of p-values between 0.05 and 0.95 over the paper's four roles (published: 1.8 %).

    Parameters
    ----------
    tests
        What :func:`headscope.stats.role_tests` returns, for one corpus or for several.
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
        What :func:`~headscope.stats.tables.roles.role_tests` returns for them.

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
    absent: dict[str, list[str]] = {}
    for name, reason in json.loads(data.attrs.get("absent", "{}")).items():
        absent.setdefault(reason, []).append(name)
    said += [f"Absent: {', '.join(names)} ({reason})." for reason, names in absent.items()]
    said += [
        f"{role} and {other} are the same tokens here, and count as one test."
        for role, other in same_roles(data).items()
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


RELATIONS = ("nsubj", "dobj", "amod", "advmod")
SIDES = ("previous-local", "next-local")

RoleSets = Mapping[str, AbstractSet[Head]]
"""The heads of each role."""


def role_sets(tests: xr.Dataset, roles: Sequence[str] = COARSE) -> dict[str, set[Head]]:
    """The heads that have each role.

    Parameters
    ----------
    tests
        What :func:`~headscope.stats.tables.roles.role_tests` returns.
    roles
        Which roles; those that were not tested are skipped.
    """
    sets: dict[str, set[Head]] = {}
    for role in present(tests, roles):
        has = tests["has"].sel(role=role).transpose(*GRID)
        sets[role] = set(itertools.compress(grid_heads(has), has.values.ravel()))
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
        What :func:`~headscope.stats.tables.roles.role_tests` returns.

    Returns
    -------
    dict of str to float
        Delimiter heads, heads without a role, syntactic heads that are local too, and heads with
        two roles or more; NaN where a role was not tested.
    """
    sets = role_sets(tests)
    total = tests.sizes["layer"] * tests.sizes["head"]
    syntactic, several = sets.get("syntactic", set()), set[Head]()
    for first, second in combinations(sets.values(), 2):
        several |= first & second
    both = syntactic & sets.get("local", set())
    return {
        "delimiter heads": len(sets["delimiter"]) / total if "delimiter" in sets else np.nan,
        "heads without a role": 1 - len(set().union(*sets.values())) / total if sets else np.nan,
        "syntactic heads that are local too": len(both) / len(syntactic)
        if syntactic and "local" in sets
        else np.nan,
        "heads with two roles or more": len(several) / total if len(sets) > 1 else np.nan,
    }


def share_table(tests: xr.Dataset) -> pd.DataFrame:
    """The shares of :func:`overlap_shares` as a table."""
    shares = overlap_shares(tests)
    return pd.DataFrame({"of the paper's four roles": list(shares), "share": shares.values()})


def fine_overlaps(tests: xr.Dataset) -> pd.DataFrame:
    """How many heads of each syntactic relation look the same way in any text.

    Parameters
    ----------
    tests
        What :func:`~headscope.stats.tables.roles.role_tests` returns.

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
    for first, second in combinations(names, 2):
        row: dict[str, object] = {"role": first, "other": second}
        row |= _spearman(data["mean"].sel(role=first), data["mean"].sel(role=second), "heads")
        if KEPT in data:
            row |= _spearman(data[KEPT].sel(role=first), data[KEPT].sel(role=second), "sequences")
        rows.append(row)
    return pd.DataFrame(rows)


def _spearman(first: xr.DataArray, second: xr.DataArray, over: str) -> dict[str, float]:
    left, right = first.values.ravel(), second.values.ravel()
    known = ~(np.isnan(left) | np.isnan(right))
    enough = known.sum() >= 3 and np.ptp(left[known]) > 0 and np.ptp(right[known]) > 0
    rho, p = scipy.stats.spearmanr(left[known], right[known]) if enough else (np.nan, np.nan)
    return {f"rho ({over})": float(rho), f"p ({over})": float(p), f"n ({over})": int(known.sum())}


def skills(tests: xr.Dataset, roles: Sequence[str] = FINE) -> pd.DataFrame:
    """Which fine roles every head has (Figure 5).

    Parameters
    ----------
    tests
        What :func:`~headscope.stats.tables.roles.role_tests` returns.
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
        What :func:`~headscope.stats.tables.roles.role_tests` returns.
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
        What :func:`~headscope.stats.tables.roles.role_tests` returns.
    roles
        Names of roles.
    """
    known = {str(name) for name in tests["role"].values}
    return [
        name for name in roles if name in known and bool(tests["p"].sel(role=name).notnull().any())
    ]


THIRDS = ("first", "middle", "last")
LEAST = 0.1
"""The smallest shift of interest by default: a tenth of what uniform attention gives."""
RUN = ("max_length", "long", "token_types")
"""Settings of a run that change what a score means."""
ROLES = ("direction", "subtypes")
"""The same of the measure ``role``."""
OPTIONS = "survey both models with the same options"


def role_shift(
    before: Atlas,
    after: Atlas,
    *,
    roles: Sequence[str] | None = None,
    correction: str = "holm",
    alpha: float = ALPHA,
    least: float = LEAST,
    clusters: bool = True,
) -> pd.DataFrame:
    """Compare the scores of roles before and after fine-tuning, paired by sequence.

    Parameters
    ----------
    before, after
        Results of two models with the same layers and heads on the same corpus, which keep the
        scores of single sequences. Sequences are paired by number and must have the same ids.
    roles
        Which roles, by default all that both have.
    correction
        How p-values are corrected over all rows: holm, bh or none.
    alpha
        The level of the verdicts.
    least
        The smallest shift of interest, in times uniform attention. With many sequences a shift of
        0.0001 has a tiny p too, and means nothing.
    clusters
        Whether sequences that share a document or another group count as one cluster.

    Returns
    -------
    pandas.DataFrame
        One row per role and third of the layers: the mean score over heads before and after, the
        ``shift`` with its 95 % interval, p of no change (paired t test) and p corrected, all over
        documents where the corpus has any, else over sequences; ``effect``, the shift divided by
        the deviation of the scores before over sequences; ``p_least``, corrected, of "the shift is
        no larger than ``least``"; and a ``verdict``: higher or lower (``p_least`` is below alpha),
        same (the 90 % interval lies within ``least`` either way), or unclear. ``attrs`` has
        ``least``, ``alpha`` and ``correction``.

    Raises
    ------
    ResultsError
        If the two cannot be compared; the message says why.
    """
    check_correction(correction)
    if not least >= 0:
        raise UserError(
            f"the smallest shift of interest must be 0 or more, got {least} instead",
            hint=f"{LEAST} is the default",
        )
    old, new = _paired(before, after)
    names = [
        str(name)
        for name in old["role"].values
        if name in new["role"].values and (roles is None or name in roles)
    ]
    if not names:
        raise ResultsError(
            "the two results have no role in common", hint="survey both with the same roles"
        )
    groups = kept_groups(old.to_dataset(name=KEPT)) if clusters else [""] * len(old)
    old, new = (scores.sel(role=names).astype(np.float64) for scores in (old, new))
    change = new - old
    rows = []
    for third, layers in zip(THIRDS, np.array_split(change["layer"].values, 3), strict=True):
        if not len(layers):
            continue
        by_sequence = change.sel(layer=layers).mean(("layer", "head"))
        for name in names:
            row: dict[str, object] = {"role": name, "third": third, "layers": _named(layers)}
            start = old.sel(role=name, layer=layers).mean(("layer", "head")).values
            row["before"] = float(old.sel(role=name, layer=layers).mean())
            row["after"] = float(new.sel(role=name, layer=layers).mean())
            rows.append(row | _tested(by_sequence.sel(role=name).values, start, groups, least))
    frame = pd.DataFrame(rows)
    frame["p_corrected"] = correct(frame["p"], correction)
    frame["p_least"] = correct(frame["p_least"], correction)
    frame = frame.assign(verdict=_verdicts(frame, alpha)).drop(columns="p_same")
    frame.attrs |= {"least": least, "alpha": alpha, "correction": correction}
    return frame


def _verdicts(frame: pd.DataFrame, alpha: float) -> list[str]:
    """What can be said of each shift."""
    verdicts = []
    for row in frame.to_dict("records"):
        if row["p_least"] < alpha:
            verdicts.append("higher" if row["shift"] > 0 else "lower")
        elif np.isnan(row["p_same"]):
            verdicts.append("")
        else:
            verdicts.append("same" if row["p_same"] < alpha else "unclear")
    return verdicts


def _named(layers: NDArray[np.int64]) -> str:
    return f"{layers[0]}–{layers[-1]}" if len(layers) > 1 else str(layers[0])


def _tested(
    changes: NDArray[np.float64], start: NDArray[np.float64], groups: Sequence[str], least: float
) -> dict[str, object]:
    """What paired changes show, one per sequence; NaN is not counted."""
    there = ~np.isnan(changes)
    known = changes[there]
    row: dict[str, object] = dict.fromkeys(("low", "high", "p", "p_least", "p_same"), np.nan)
    row["shift"] = shift = float(known.mean()) if len(known) else np.nan
    row["effect"] = _effect(shift, start[there])
    sums = ClusterSums.of(changes[:, None, None], groups)
    row |= {"sequences": len(known), "clusters": int(sums.number.item())}
    if len(known) and not known.any():
        return row | {"low": 0.0, "high": 0.0, "p": 1.0, "p_least": 1.0, "p_same": 0.0}
    ratio = sums.ratio
    if np.isfinite(ratio.degrees).all() and np.ptp(known) > 0:
        error, degrees = float(ratio.error.item()), float(ratio.degrees.item())
        row |= zip(("low", "high"), (end.item() for end in ratio.interval()), strict=True)
        row["p"] = 2 * special.stdtr(degrees, -abs(shift) / error)
        row["p_least"] = min(1.0, 2 * special.stdtr(degrees, (least - abs(shift)) / error))
        row["p_same"] = special.stdtr(degrees, (abs(shift) - least) / error)
    return row


def _effect(shift: float, start: NDArray[np.float64]) -> float:
    """The shift in deviations of the scores before; NaN where they have none."""
    if len(start) < 2 or not np.ptp(start) > 0:
        return np.nan
    return float(shift / start.std(ddof=1))


def _paired(before: Atlas, after: Atlas) -> tuple[xr.DataArray, xr.DataArray]:
    """The kept scores of both for the sequences that both have."""
    _check_comparable(before, after)
    old, new = kept_scores(role_data(before)), kept_scores(role_data(after))
    ids = [pd.Series(scores["id"].values, scores["example"].values) for scores in (old, new)]
    common = ids[0].index.intersection(ids[1].index)
    if common.empty or not (ids[0][common] == ids[1][common]).all():
        raise ResultsError(
            "the two results do not have the same sequences in the same order: "
            "tokenizer, length or batch size differ",
            hint=OPTIONS,
        )
    return old.sel(example=common), new.sel(example=common)


def _check_comparable(before: Atlas, after: Atlas) -> None:
    """Refuse two results whose scores do not mean the same thing."""
    first, second = before.provenance, after.provenance
    shapes = [(about["model"]["layers"], about["model"]["heads"]) for about in (first, second)]
    if shapes[0] != shapes[1]:
        (layers, heads), (others, others_heads) = shapes
        raise ResultsError(
            f"the two models have different heads ({layers} × {heads} and {others} × "
            f"{others_heads}) and cannot be compared head by head",
            hint="compare a model with its own fine-tuned version",
        )
    if not same_corpus(first, second):
        raise ResultsError(
            f"the two results are of different corpora ({first['corpus']['name']} and "
            f"{second['corpus']['name']})",
            hint="survey both models with the same corpus",
        )
    about = [first["settings"], second["settings"]]
    roles = [role_data(results).attrs for results in (before, after)]
    for key, where in (*((key, about) for key in RUN), *((key, roles) for key in ROLES)):
        values = [settings.get(key) for settings in where]
        if values[0] != values[1]:
            raise ResultsError(
                f"the two results differ in {key.replace('_', ' ')} ({values[0]} and {values[1]}), "
                "so their scores do not mean the same thing",
                hint=OPTIONS,
            )
