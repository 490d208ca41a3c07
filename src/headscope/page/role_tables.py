"""Rows of the tables about roles."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from headscope.numbers import interval, percent
from headscope.page.document import Row, records
from headscope.results import Atlas
from headscope.stats import role_table

REGIONS = {"degree": "number of roles", "which": "which heads"}
CORRELATIONS = {
    "other": "other role",
    "rho (heads)": "ρ over heads",
    "p (heads)": "p over heads",
    "n (heads)": "heads",
    "rho (sequences)": "ρ over sequences",
    "p (sequences)": "p over sequences",
    "n (sequences)": "scores",
}
"""What the page calls the columns of tables."""


def role_rows(results: Atlas, tests: xr.Dataset) -> list[Row]:
    """Return one row per role: how many heads have it, and the strongest head.

    Parameters
    ----------
    results : Atlas
        Results of the measure ``role``.
    tests : Dataset
        From :func:`headscope.stats.role_tests`.

    Returns
    -------
    list of dict
        Without a correction there is no column of corrected p-values. What dependency roles have
        beyond positions is shown where it was measured.
    """
    corrected = tests.attrs["correction"] != "none"
    positions = bool(tests["position"].notnull().any())
    return [
        {
            "role": row["role"],
            "heads": row["heads"],
            "share of heads (%)": percent(row["share"]),
            "sequences": row["sequences"],
            "mean length (tokens)": row["length"],
            "strongest head": row["strongest"] or None,
            "mean (times uniform)": row["mean"],
            "95 % interval": interval(row["low"], row["high"]),
            **(
                {"times position alone": row["position"], "heads by position": row["by position"]}
                if positions
                else {}
            ),
            "effect (d)": row["effect"],
            "p": row["p"],
            **({"p corrected": row["p_corrected"]} if corrected else {}),
        }
        for row in records(role_table(results, tests))
    ]


def shift_rows(shift: pd.DataFrame) -> list[Row]:
    """Return one row per role and third of the layers.

    Parameters
    ----------
    shift : DataFrame
        From :func:`headscope.stats.role_shift`.

    Returns
    -------
    list of dict
    """
    return [
        {
            **({"corpus": row["corpus"]} if "corpus" in row else {}),
            "role": row["role"],
            "third of the layers": f"{row['third']} ({row['layers']})",
            "before": row["before"],
            "after": row["after"],
            "shift": row["shift"],
            "95 % interval": interval(row["low"], row["high"]),
            "effect (deviations)": row["effect"],
            "p of no shift, corrected": row["p_corrected"],
            "p of a shift of no interest, corrected": row["p_least"],
            "verdict": row["verdict"] or None,
            "sequences": row["sequences"],
        }
        for row in records(shift)
    ]


def fine_rows(overlaps: pd.DataFrame) -> list[Row]:
    """Return one row per syntactic relation and direction.

    Parameters
    ----------
    overlaps : DataFrame
        From :func:`headscope.stats.fine_overlaps`.

    Returns
    -------
    list of dict
    """
    return [
        {
            "role": row["role"],
            "other role": row["other"],
            "heads with the role": row["heads"],
            "with both": row["both"],
            "share (%)": percent(row["share"]),
            "which heads": row["which"] or None,
        }
        for row in records(overlaps)
    ]
