"""Rows of the tables about roles."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from headscope.page.document import Row, records
from headscope.results import Atlas
from headscope.results.columns import OVERLAPS, ROLES, SHIFTS, for_people
from headscope.stats import role_table


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
    table = role_table(results, tests)
    if tests.attrs["correction"] == "none":
        table = table.drop(columns="p_corrected")
    return records(for_people(table, ROLES))


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
    return records(for_people(shift, SHIFTS))


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
    return records(for_people(overlaps, OVERLAPS))
