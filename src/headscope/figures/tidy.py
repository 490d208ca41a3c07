"""Labelled arrays as data frames with one row per head, ready to draw."""

from __future__ import annotations

import pandas as pd
import xarray as xr

SHARES = (0.0, 1.0)
"""The ends of a scale of shares."""


def tidy(values: xr.DataArray | xr.Dataset) -> pd.DataFrame:
    """Turn an array by layer and head into a data frame with one row per head.

    Parameters
    ----------
    values : DataArray or Dataset
        With dims layer and head (counted from 1), and others if need be. An array becomes the
        column ``value``.

    Returns
    -------
    DataFrame
        The dims, the values, and ``name``: the head as people write it.

    Examples
    --------
    >>> grid = xr.DataArray([[0.5, 0.25]], {"layer": [1], "head": [1, 2]}, ("layer", "head"))
    >>> tidy(grid)[["name", "value"]].values.tolist()
    [['1-1', 0.5], ['1-2', 0.25]]
    """
    plain = values.reset_coords(drop=True)
    whole = plain.to_dataframe(name="value") if isinstance(plain, xr.DataArray) else None
    frame = (plain.to_dataframe() if whole is None else whole).reset_index()
    return frame.assign(name=frame["layer"].astype(str) + "-" + frame["head"].astype(str))


def is_share(unit: str) -> bool:
    """Tell whether values with this unit are shares, between 0 and 1.

    Examples
    --------
    >>> is_share("share of attention"), is_share("change in share of attention"), is_share("nats")
    (True, False, False)
    """
    return unit.startswith("share")


def unit_text(unit: str) -> str:
    """Write a unit for an axis; shares with their range.

    Examples
    --------
    >>> unit_text("share of attention"), unit_text("nats")
    ('share of attention, 0–1', 'nats')
    """
    return f"{unit}, 0–1" if is_share(unit) else unit


def interval(data: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Return a dataset's interval, kept between 0 and 1 where its unit is a share.

    Examples
    --------
    >>> data = xr.Dataset({"low": ((), -0.1), "high": ((), 0.3)}, attrs={"unit": "share of words"})
    >>> [float(bound) for bound in interval(data)]
    [0.0, 0.3]
    """
    low, high = data["low"], data["high"]
    if is_share(str(data.attrs.get("unit", ""))):
        return low.clip(*SHARES), high.clip(*SHARES)
    return low, high
