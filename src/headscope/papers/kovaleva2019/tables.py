"""Rows and sentences for the page of Kovaleva et al. 2019."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from headscope.figures.ablation.scores import WAYS
from headscope.numbers import interval
from headscope.page import records
from headscope.papers.kovaleva2019 import facts
from headscope.papers.sections import counted
from headscope.results import Atlas
from headscope.stats import frame_table
from headscope.stats.patterns import pattern_shares
from headscope.tasks import Task


def share_rows(found: Mapping[str, Atlas]) -> list[dict[str, object]]:
    """List the share of each pattern class (Figure 2).

    Parameters
    ----------
    found
        Surveys with the measure pattern, by what their maps are of.

    Returns
    -------
    list of dict
        Percent of all maps with the 95 % interval, one row per survey.
    """
    rows = []
    for name, results in found.items():
        row: dict[str, object] = {"maps of": name}
        for share in records(pattern_shares(results)):
            ends = interval(100 * share["low"], 100 * share["high"], form="{:.1f}".format)
            row[str(share["pattern"])] = f"{100 * share['share']:.1f} {ends}"
        rows.append(row | {"examples": results.provenance["counts"]["seen"]})
    return rows


def frame_rows(results: Atlas) -> list[dict[str, object]]:
    """List the heads that attend most along frame links (Figure 3).

    Parameters
    ----------
    results
        A survey with the measure frame.

    Returns
    -------
    list of dict
        The strongest heads: attention in either direction with its 95 % interval, each direction
        alone, and whether the head is above the 99th percentile of all heads.
    """
    return [
        {
            "head": row["head"],
            "largest attention": row["mean"],
            "95 % interval": interval(row["low"], row["high"]),
            "target → element": row["target to element"],
            "element → target": row["element to target"],
            "99th percentile of all heads": row["percentile"],
            "above it": "yes" if row["over"] else "no",
            "sentences": row["sentences"],
        }
        for row in records(frame_table(results))
    ]


def gain_rows(table: pd.DataFrame, what: str) -> list[dict[str, object]]:
    """List what disabling heads or layers gains (Figures 8 and 9).

    Parameters
    ----------
    table
        What :func:`headscope.stats.ablation.change_table` returned, or some of its rows.
    what
        "head" or "layer".

    Returns
    -------
    list of dict
        The score without the head or layer, and the gain over the baseline.
    """
    metric = table.columns[1]
    return [
        {
            f"{what} disabled": row[f"{what} off"],
            metric: row[metric],
            "gain": row["gain"],
            "95 % interval": interval(row["low"], row["high"]),
            "p": row["p"],
            "p (corrected)": row["p corrected"],
        }
        for row in records(table)
    ]


def disabling_text(task: Task, heads: pd.DataFrame, *, layers: int, seen: int, way: str) -> str:
    """Say how many heads matter (Section 4.6).

    Parameters
    ----------
    task
        The task.
    heads
        The table of gains with each head off.
    layers
        How many layers were disabled.
    seen
        How many dev examples were scored.
    way
        How heads were disabled.

    Returns
    -------
    str
        A few sentences.
    """
    sure = heads[heads["p corrected"] < 0.05]
    text = (
        f"{len(heads)} heads and {layers} layers disabled in turn ({WAYS[way]}), on {seen} dev "
        f"examples. "
        f"The score rises without {int((heads['gain'] > 0).sum())} of the heads and falls without "
        f"{int((heads['gain'] < 0).sum())}. Significant (p < 0.05, Holm over all heads): "
        f"{counted((sure['gain'] > 0).sum(), 'gain')} and "
        f"{counted((sure['gain'] < 0).sum(), 'loss')}."
    )
    gain = facts.GAINS.get(task.name)
    return f"{text} The paper's largest gain from one head is {gain} points." if gain else text
