"""The statistics of a survey as tables for readers: labels in plain words, numbers with units."""

from __future__ import annotations

from typing import Any

import pandas as pd

from headscope.numbers import MISSING, interval, share
from headscope.page.document import Row, records
from headscope.results import Atlas
from headscope.stats.tables.antecedents import antecedent_table, table_of_scores
from headscope.stats.tables.relations import best_heads


def dependency_rows(results: Atlas) -> list[Row]:
    """Return one row per dependency relation: its best head against the best fixed offset."""
    return [
        {
            "relation": row["relation"],
            "words": row["words"],
            "best head": row["head"],
            "direction": row["direction"],
            "accuracy (0–1)": share(row["accuracy"]),
            "95 % interval": interval(row["low"], row["high"], form=share),
            "held out": share(row["held_out"]),
            "held-out head": row["held_out_head"] or MISSING,
            "best offset": f"{row['offset']:+d}",
            "its accuracy": share(row["baseline"]),
            "its accuracy held out": share(row["held_out_baseline"]),
            "p": row["p"],
            "p corrected": row["p_corrected"],
        }
        for row in records(_best_heads(results))
    ]


def _best_heads(results: Atlas) -> pd.DataFrame:
    """The best head of each relation, as the analysis of all heads has found it."""
    found = results.analysis.best_heads
    return best_heads(results) if found is None else found


def antecedent_rows(results: Atlas) -> list[Row]:
    """Return the accuracy of the baselines and of the best head at finding antecedents.

    The last row counts mentions: its numbers are integers.
    """
    rows = []
    scores = results.analysis.antecedent_scores
    for row in records(antecedent_table(results) if scores is None else table_of_scores(scores)):
        shown: dict[str, Any] = {}
        for name, value in row.items():
            if name == "low":
                shown["95 % interval"] = interval(value, row["high"], form=share)
            elif name != "high":
                whole = row["system"] == "mentions" and isinstance(value, float) and value >= 0
                shown[name] = int(value) if whole else value
        rows.append(shown)
    return rows
