"""Rows for the tables of Pande et al. 2021: the published numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headscope.figures.style import BUILTIN
from headscope.numbers import percent
from headscope.page import Table
from headscope.page.document import records
from headscope.papers.pande2021 import facts
from headscope.papers.pande2021.equal_lengths import WIDTH, matched_scores
from headscope.results import Atlas
from headscope.stats import (
    grand_mean,
    overlap_shares,
    role_correlations,
    undecided,
)
from headscope.stats.tables.roles import mean_lengths

Row = dict[str, Any]
LABELS = ("corpus", "model", "sequences")
"""The columns of the summary that are not numbers to average."""
SHARES = ("undecided p-values", *facts.SHARES, "heads with two roles or more")
"""The columns of the summary that are shares."""


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
        The mean score, the share of undecided p-values, and the shares of heads (0–1).
    """
    return {
        "corpus": corpus_label(name),
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
        The paper's means over its four tasks, our means of several corpora, then the rows. Shares
        are in percent.
    """
    paper: Row = {
        "corpus": "paper, mean of four tasks",
        "model": "BERT base, fine-tuned",
        "sequences": facts.SEQUENCES,
        "mean length (tokens)": None,
        "mean score": f"{facts.MEAN_SCORE}",
        "undecided p-values": facts.UNDECIDED,
        **facts.SHARES,
        "heads with two roles or more": None,
    }
    mean: Row = {"corpus": "mean here", "model": "", "sequences": None}
    for name in rows[0]:
        if name not in LABELS:
            values = np.array([row[name] for row in rows], float)
            known = values[~np.isnan(values)]
            mean[name] = float(known.mean()) if known.size else np.nan
    return [_in_percent(row) for row in (paper, *([mean] if len(rows) > 1 else []), *rows)]


def _in_percent(row: Row) -> Row:
    """Write the shares of a row of the summary as the paper does."""
    return {
        f"{name} (%)" if name in SHARES else name: percent(value) if name in SHARES else value
        for name, value in row.items()
    }


def corpus_label(name: str) -> str:
    """Name a corpus for a reader.

    Examples
    --------
    >>> corpus_label("demo"), corpus_label("MRPC")
    ('built-in corpus', 'MRPC')
    """
    return "built-in corpus" if name == BUILTIN else name


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
        _compared(f"{quantity} (%)", _hundredfold(facts.SHARES.get(quantity)), 100 * value)
        for quantity, value in overlap_shares(tests).items()
    ]
    both = role_correlations(results, ("local", "syntactic"))
    published = facts.SPEARMAN.get(name.upper())
    for over, words in (("heads", "over heads"), ("sequences", "over heads and sequences")):
        if len(both) and f"rho ({over})" in both:
            value = float(both[f"rho ({over})"].iloc[0])
            quantity = f"Spearman, local and syntactic, {words}"
            rows.append(_compared(quantity, published, value, places=2))
    return rows


def _hundredfold(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _compared(quantity: str, paper: float | None, here: float, *, places: int = 1) -> Row:
    """A published number beside ours, both with as many decimals as the paper gives."""

    def shown(value: float, sign: str = "") -> str | None:
        return None if np.isnan(value) else f"{value:{sign}.{places}f}"

    return {
        "quantity": quantity,
        "paper": None if paper is None else shown(paper),
        "here": shown(here),
        "difference": None if paper is None else shown(here - paper, "+"),
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
