"""Probes on a page: layers and top heads beside each other, and the best heads of each task (Jo and Myaeng 2020)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from headscope.page.document import Row, Section, Table, missing, records
from headscope.results import Atlas
from headscope.stats.probing import head_table, probing_remarks, task_titles, top_table

SHOWN = 5
SELECTIVITY = "Selectivity: the score less that of a classifier on shuffled labels. Heads are in the order of their validation scores."


def probe_section(results: Atlas) -> Section:
    """What probing found, in two tables."""
    text = "Test scores in percent, with 95 % intervals, and gains over the last layer; layers, heads and L2 are chosen on validation."
    tables = [
        Table(
            layer_rows(top_table(results)),
            title="Layers and top heads",
            note=" ".join(f"{remark}." for remark in probing_remarks(results)),
        )
    ]
    return Section(
        "probes",
        "Probes",
        text,
        [
            *tables,
            Table(
                best_head_rows(results),
                title="Best heads",
                sortable=True,
                id="probe-heads",
                note=SELECTIVITY,
            ),
        ],
    )


def layer_rows(table: pd.DataFrame) -> list[Row]:
    """Table 3 of the paper: scores with intervals and gains over the last layer, published numbers beside where the table has them."""
    rows = []
    for row in records(table):
        shown: Row = {"task": row["task"], "majority": row["majority"]}
        for what, title in (
            ("last", "last layer"),
            ("best", "best layer"),
            ("top", f"top-{row['n']} heads"),
            ("greedy", f"greedy {row['n']}"),
        ):
            shown[title] = _score(row, what)
            if f"paper: {what}" in row:
                shown[f"{title}: paper"] = row[f"paper: {what}"]
        rows.append(shown)
    return rows


def _score(row: dict[str, Any], what: str) -> str:
    if missing(row[what]):
        return "–"
    gain = (
        f" {row[f'{what} gain']:+.1f} %"
        if f"{what} gain" in row and not missing(row[f"{what} gain"])
        else ""
    )
    layer = f" [{row['best layer']}]" if what == "best" else ""
    return f"{row[what]:.1f}{layer} ({row[f'{what} low']:.0f}–{row[f'{what} high']:.0f}){gain}"


def _percent(share: float) -> str:
    return "–" if missing(share) else f"{100 * share:.1f}"


def best_head_rows(results: Atlas, count: int = SHOWN) -> list[Row]:
    """The best heads of every task."""
    return [
        {
            "task": title,
            "head": row["head"],
            "test": f"{100 * row['test']:.1f} ({100 * row['low']:.1f} … {100 * row['high']:.1f})",
            "shuffled labels": _percent(row["control"]),
            "selectivity": _percent(row["selectivity"]),
            "validation": _percent(row["validation"]),
        }
        for name, title in task_titles(results).items()
        for row in records(head_table(results, name, count=count))
    ]
