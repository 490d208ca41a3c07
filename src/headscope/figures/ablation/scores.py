"""Scores with something disabled, as data frames; what the figures of ablation share."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from headscope.tasks.metrics import METRICS, metric_title

WAYS = {
    "uniform": "attention made uniform",
    "zero": "output set to zero",
    "mean": "output replaced by its mean",
}
"""The ways of disabling a head, in words."""


def score_frame(data: xr.Dataset, by: list[str]) -> pd.DataFrame:
    """Return one row per head, layer or set that was disabled.

    Parameters
    ----------
    data : Dataset
        Scores with something disabled, and their differences from the baseline.
    by : list of str
        The dims that name a row.

    Returns
    -------
    DataFrame
        With the columns score, difference and its interval, p, p_corrected and name.
    """
    names = ["mean", "difference", "difference_low", "difference_high", "p", "p_corrected"]
    frame = data[names].to_dataframe().reset_index().rename(columns={"mean": "score"})
    frame["name"] = frame[by].astype(str).agg("-".join, axis=1)
    return frame.replace([np.inf, -np.inf], np.nan)


def within(values: pd.Series, metric: str) -> pd.Series:
    """Keep scores inside the range of their metric.

    Examples
    --------
    >>> within(pd.Series([0.9, 1.1]), "accuracy").tolist()
    [0.9, 1.0]
    """
    return values.clip(METRICS[metric].low, METRICS[metric].high) if metric in METRICS else values


def metric_text(metric: str, better: str) -> str:
    """Write a metric for an axis, with its range or the direction that is better.

    Examples
    --------
    >>> metric_text("accuracy", "higher"), metric_text("loss", "lower")
    ('accuracy, 0–1', 'loss (lower is better)')
    """
    if metric not in METRICS or not math.isfinite(METRICS[metric].high - METRICS[metric].low):
        return f"{metric} ({better} is better)"
    about = METRICS[metric]
    ends = f"{about.low:g}–{about.high:g}" if about.low == 0 else f"{about.low:g} to {about.high:g}"
    return f"{about.title}, {ends}"


def sentence_case(metric: str) -> str:
    """Write a metric at the beginning of a title.

    Examples
    --------
    >>> sentence_case("loss"), sentence_case("f1")
    ('Loss', 'F1')
    """
    title = metric_title(metric)
    return title[:1].upper() + title[1:]


def way_text(way: str) -> str:
    """Say what was done to disabled heads.

    Examples
    --------
    >>> way_text("zero")
    'disabled: output set to zero'
    """
    return f"disabled: {WAYS.get(way, way)}"


def score_tooltip(metric: str) -> list[Any]:
    """Show what is disabled, the score, its change with interval, and p."""
    titles = {
        "score": metric,
        "difference": "change",
        "difference_low": "95 % from",
        "difference_high": "to",
    }
    return [
        alt.Tooltip("name:N", title="disabled"),
        *(alt.Tooltip(f"{name}:Q", format=".4f", title=title) for name, title in titles.items()),
        alt.Tooltip("p:Q", format=".2g"),
        alt.Tooltip("p_corrected:Q", format=".2g", title="p, corrected"),
    ]
