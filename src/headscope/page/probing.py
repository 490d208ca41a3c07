"""Probes on a page: layers, top heads, and the best heads of each task (Jo and Myaeng 2020)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from headscope.numbers import MISSING
from headscope.page.document import Row, Section, Table, missing, records
from headscope.results import Atlas
from headscope.stats.tables.probing import EMBEDDINGS as STORED
from headscope.stats.tables.probing import (
    TOP,
    head_table,
    probing_remarks,
    small_test_text,
    small_tests,
    split_table,
    split_text,
    task_titles,
    top_table,
)

SHOWN = 5
"""How many heads of each task are shown."""
EMBEDDINGS = (
    "Embeddings only: a classifier on the mean over tokens of what the first layer reads (words, "
    "and positions where the model adds them), which shows what a text gives before any head."
)
SELECTIVITY = (
    "Difference: the score minus that of a classifier trained on shuffled labels. Heads are in "
    "the order of their validation scores."
)


def probe_section(results: Atlas) -> Section:
    """Return what probing found, in two tables.

    Parameters
    ----------
    results : Atlas
        Results of a probe.

    Returns
    -------
    Section
    """
    text = (
        "Test scores in percent with 95 % intervals in parentheses, and gains over the last layer. "
        "Layers, heads and the strength of L2 are chosen on validation data. The best layer's "
        "number is in square brackets."
    )
    remarks = [EMBEDDINGS] if STORED in results.measures else []
    remarks += [*probing_remarks(results), small_test_text(small_tests(results))]
    layers = Table(
        layer_rows(top_table(results)),
        title="Layers and top heads",
        note=" ".join(filter(None, remarks)),
    )
    heads = Table(
        best_head_rows(results),
        title="Best heads",
        sortable=True,
        id="probe-heads",
        note=SELECTIVITY,
    )
    return Section("probes", "Probes", text, [layers, *split_tables(results), heads])


def split_tables(results: Atlas) -> list[Table]:
    """Return the table of repeated splits, if there are any.

    Parameters
    ----------
    results : Atlas
        Results of a probe.

    Returns
    -------
    list of Table
        One table or none.
    """
    if TOP not in results.measures:
        return []
    rows = split_rows(split_table(results))
    return [Table(rows, title="Repeated splits", note=split_text(results))]


def split_rows(table: pd.DataFrame) -> list[Row]:
    """Return means over repeated splits as texts, in percent and points.

    Parameters
    ----------
    table : DataFrame
        From :func:`headscope.stats.tables.probing.split_table`.

    Returns
    -------
    list of dict
        One row per task.
    """
    rows = []
    for row in records(table):
        names = {"last": "last layer", "best": "best layer", "top": f"top-{row['n']} heads"}
        shown: Row = {"task": row["task"], "test sentences": row["test size"]}
        for what, title in names.items():
            ends = f"{row[f'{what} low']:.0f}–{row[f'{what} high']:.0f}"
            shown[title] = f"{row[what]:.1f} ({ends})"
        for what, title in (("top - last", "top − last"), ("top - best", "top − best")):
            ends = f"{row[f'{what} low']:+.1f} to {row[f'{what} high']:+.1f}"
            shown[f"{title}, points"] = f"{row[what]:+.1f} ({ends})"
        rows.append(shown)
    return rows


def layer_rows(table: pd.DataFrame) -> list[Row]:
    """Return Table 3 of the paper: scores of layers and of chosen heads.

    Parameters
    ----------
    table : DataFrame
        From :func:`headscope.stats.tables.probing.top_table`.

    Returns
    -------
    list of dict
        Scores with intervals and gains over the last layer; published numbers next to them where
        the table has them.
    """
    rows = []
    for row in records(table):
        shown: Row = {"task": row["task"], "majority": row["majority"]}
        titles = {
            **({"embeddings": "embeddings only"} if "embeddings" in row else {}),
            "last": "last layer",
            "best": "best layer",
            "top": f"top-{row['n']} heads",
            "greedy": f"greedy {row['n']}",
        }
        for what, title in titles.items():
            shown[title] = _score(row, what)
            if f"paper: {what}" in row:
                shown[f"{title}: paper"] = row[f"paper: {what}"]
        rows.append(shown)
    return rows


def _score(row: dict[str, Any], what: str) -> str:
    """Write a score in percent, the best layer's number, the interval and the gain."""
    if missing(row[what]):
        return MISSING
    gain = row.get(f"{what} gain")
    gained = "" if missing(gain) else f" {gain:+.1f} %"
    layer = f" [{row['best layer']}]" if what == "best" else ""
    ranked = row.get(f"{what} spearman")
    beside = "" if missing(ranked) else f", ρ {ranked:.1f}"
    ends = f"{row[f'{what} low']:.0f}–{row[f'{what} high']:.0f}"
    return f"{row[what]:.1f}{layer} ({ends}){beside}{gained}"


def _percent(share: float) -> str:
    return MISSING if missing(share) else f"{100 * share:.1f}"


def best_head_rows(results: Atlas, count: int = SHOWN) -> list[Row]:
    """Return the best heads of every task.

    Parameters
    ----------
    results : Atlas
        Results of a probe.
    count : int
        How many heads of each task.

    Returns
    -------
    list of dict
        Scores in percent.
    """
    rows = []
    for name, title in task_titles(results).items():
        for row in records(head_table(results, name, count=count)):
            test, low, high = (_percent(row[part]) for part in ("test", "low", "high"))
            rows.append(
                {
                    "task": title,
                    "head": row["head"],
                    "test": f"{test} ({low}–{high})",
                    "shuffled labels": _percent(row["control"]),
                    "difference": _percent(row["selectivity"]),
                    "validation": _percent(row["validation"]),
                }
            )
    return rows
