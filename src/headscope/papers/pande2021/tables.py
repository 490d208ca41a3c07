"""Rows for the tables of Pande et al. 2021: the published numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headscope.page import Table
from headscope.page.document import records
from headscope.papers.pande2021 import facts
from headscope.results import Atlas
from headscope.stats import (
    grand_mean,
    matched_scores,
    overlap_shares,
    role_correlations,
    undecided,
)
from headscope.stats.lengths import WIDTH
from headscope.stats.role_scores import mean_lengths

Row = dict[str, Any]
LABELS = ("corpus", "model", "sequences")
"""The columns of the summary that are not numbers to average."""


def summary_row(name: str, results: Atlas, tests: xr.Dataset) -> Row:
    """Make the summary's row for one corpus.

    Parameters
    ----------
    name
        The corpus.
    results, tests
        Its role scores and their tests.

    Returns
    -------
    dict
        The mean score, the share of undecided p-values, and the shares of heads.
    """
    return {
        "corpus": name,
        "model": results.provenance["model"]["name"],
        "sequences": results.provenance["counts"]["seen"],
        "mean length (tokens)": float(mean_lengths(results["role"]).sel(role="local"))
        if "local" in results["role"]["role"].values
        else np.nan,
        "mean score": grand_mean(results),
        "undecided p-values": undecided(tests),
        **overlap_shares(tests),
    }


def summary_rows(rows: Sequence[Row]) -> list[Row]:
    """Add the paper's means and ours.

    Parameters
    ----------
    rows
        One row per corpus, from :func:`summary_row`.

    Returns
    -------
    list of dict
        The paper's means over its four tasks, our means, then the rows.
    """
    paper: Row = {
        "corpus": "paper, mean of four tasks",
        "model": "BERT base, fine-tuned",
        "sequences": facts.SEQUENCES,
        "mean length (tokens)": None,
        "mean score": facts.MEAN_SCORE,
        "undecided p-values": facts.UNDECIDED,
        **facts.SHARES,
    }
    mean: Row = {"corpus": "mean here", "model": "", "sequences": None}
    for name in rows[0]:
        if name not in LABELS:
            values = np.array([row[name] for row in rows], float)
            known = values[~np.isnan(values)]
            mean[name] = float(known.mean()) if known.size else np.nan
    return [paper, mean, *rows]


def share_rows(name: str, results: Atlas, tests: xr.Dataset) -> list[Row]:
    """Make the table of shares of one corpus.

    Parameters
    ----------
    name
        The corpus; a GLUE task has published correlations.
    results, tests
        Its role scores and their tests.

    Returns
    -------
    list of dict
        Shares of heads, and Spearman's correlation of local with syntactic scores.
    """
    rows = [
        _compared(quantity, facts.SHARES.get(quantity), value)
        for quantity, value in overlap_shares(tests).items()
    ]
    both = role_correlations(results, ("local", "syntactic"))
    published = facts.SPEARMAN.get(name.upper())
    for over, words in (("heads", "over heads"), ("sequences", "over heads and sequences")):
        if len(both) and f"rho ({over})" in both:
            value = float(both[f"rho ({over})"].iloc[0])
            rows.append(_compared(f"Spearman, local and syntactic, {words}", published, value))
    return rows


def _compared(quantity: str, paper: float | None, here: float) -> Row:
    return {
        "quantity": quantity,
        "paper": paper,
        "here": here,
        "difference": None if paper is None else here - paper,
    }


def count_rows(before: xr.Dataset, after: xr.Dataset) -> list[Row]:
    """Count the heads with each role before and after fine-tuning.

    Parameters
    ----------
    before, after
        Role tests of both models.

    Returns
    -------
    list of dict
        One row per role that both have.
    """
    old, new = (tests["has"].sum(("layer", "head")) for tests in (before, after))
    rows: list[Row] = []
    for name in old["role"].values:
        if name in new["role"].values:
            counts = int(old.sel(role=name)), int(new.sel(role=name))
            rows.append(
                {
                    "role": str(name),
                    "heads before": counts[0],
                    "heads after": counts[1],
                    "change": counts[1] - counts[0],
                }
            )
    return rows


def length_table(results: Mapping[str, Atlas], tau: float) -> Table:
    """Make the table of scores at equal lengths.

    Parameters
    ----------
    results
        Role scores by corpus.
    tau
        The threshold.

    Returns
    -------
    Table
        One row per role and corpus.
    """
    names = {
        "role": "role",
        "corpus": "corpus",
        "length": "mean length (tokens)",
        "mean": "mean score",
        "over": "heads over τ",
        "matched length": "mean length, matched",
        "matched mean": "mean score, matched",
        "matched over": "heads over τ, matched",
        "matched": "sequences, matched",
    }
    matched = matched_scores(results, tau=tau)
    if len(matched):
        matched = matched.astype({"over": "Int64", "matched over": "Int64"})
    rows = [{name: row[key] for key, name in names.items()} for row in records(matched)]
    note = (
        f"Scores grow with length. Sequences are weighted so that, in bins of {WIDTH} tokens, all "
        "corpora have the same lengths. Heads over τ are counted by their means, without a test."
    )
    return Table(rows, title="The corpora at equal lengths", note=note, id="length-table")
