"""Do heads that know syntax know semantics too? (Jo and Myaeng 2020, section 6.2, Figure 5)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when they are used
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.bootstrap import CONFIDENCE, draws, percentiles
from headscope.stats.probing import probing_of, task_titles
from headscope.tasks.metrics import METRICS, FromCounts

GROUPS: dict[str, tuple[str, ...]] = {
    "syntactic": ("tree_depth", "top_constituents", "bigram_shift"),
    "semantic": (
        "past_present",
        "subj_number",
        "obj_number",
        "odd_man_out",
        "coordination_inversion",
    ),
}
"""The tasks whose mean is a head's syntactic and semantic score, by SentEval's names."""
RESAMPLES = 10_000


def syntactic_semantic(
    results: Atlas, groups: Mapping[str, Sequence[str]] = GROUPS
) -> pd.DataFrame:
    """The mean test scores of every head over the syntactic and over the semantic tasks.

    Parameters
    ----------
    results
        Results of probing heads.
    groups
        The tasks of each group, by name.

    Returns
    -------
    pandas.DataFrame
        One row per head: layer, head, syntactic and semantic. Means are over the tasks that were
        probed; ``attrs["tasks"]`` says which, ``attrs["missing"]`` which of the groups' were not.

    Raises
    ------
    ResultsError
        If no task of a group was probed, or no head has a score in all tasks.
    """
    data, titles = probing_of(results), task_titles(results)
    probed = {group: [name for name in names if name in titles] for group, names in groups.items()}
    empty = next((group for group, names in probed.items() if not names), None)
    if empty is not None:
        raise ResultsError(
            f"none of the {empty} tasks was probed ({', '.join(groups[empty])})",
            hint="probe at least one syntactic and one semantic task",
        )
    means = {
        group: data["test"].sel(task=names).mean("task", skipna=False)
        for group, names in probed.items()
    }
    frame = xr.Dataset(means).reset_coords(drop=True).to_dataframe().reset_index()
    frame = frame[["layer", "head", *groups]]
    if frame[list(groups)].isna().any(axis=1).all():
        raise ResultsError(
            "no head has a score in all of the syntactic and semantic tasks",
            hint="probe the tasks again",
        )
    frame.attrs["tasks"] = {
        group: [titles[name] for name in names] for group, names in probed.items()
    }
    frame.attrs["missing"] = [
        name for names in groups.values() for name in names if name not in titles
    ]
    return frame


def correlation(
    frame: pd.DataFrame,
    columns: tuple[str, str] = ("syntactic", "semantic"),
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> pd.DataFrame:
    """Correlate two scores over heads, such as the syntactic with the semantic one.

    Parameters
    ----------
    frame
        One row per head: its layer and the two scores, such as :func:`syntactic_semantic` returns.
    columns
        The names of the two scores.
    seed, resamples
        Of the bootstraps.

    Returns
    -------
    pandas.DataFrame
        Two rows, Pearson and Spearman, with 95 % intervals. ``low`` … ``high`` take heads for
        independent: Fisher's z for Pearson, a bootstrap over heads for Spearman. Heads of a layer
        are not independent, because they read the same input. ``layer low`` … ``layer high`` draw
        whole layers instead of heads (a clustered bootstrap) and are the ones to trust; with few
        layers they are rough.
    """
    known = frame.dropna(subset=list(columns))
    one, other = (known[name].to_numpy(np.float64) for name in columns)
    layers, place = np.unique(known["layer"].to_numpy(), return_inverse=True)
    rows = []
    for name in ("pearson", "spearman"):
        row: dict[str, object] = {
            "correlation": METRICS[name].title,
            **dict.fromkeys(("value", "low", "high", "layer low", "layer high"), np.nan),
            "heads": len(known),
        }
        if len(known) > 2 and np.ptp(one) > 0 and np.ptp(other) > 0:
            metric = METRICS[name].prepare(one[None, :, None], other)
            row["value"] = float(metric(np.ones((1, len(known))))[0, 0])
            if name == "pearson":
                ends = scipy.stats.pearsonr(one, other).confidence_interval(CONFIDENCE)
                row["low"], row["high"] = float(ends.low), float(ends.high)
            else:
                each = np.arange(len(known))
                row["low"], row["high"] = _interval(metric, each, resamples, seed)
            if len(layers) > 1:
                row["layer low"], row["layer high"] = _interval(metric, place, resamples, seed)
        rows.append(row)
    return pd.DataFrame(rows)


def _interval(
    metric: FromCounts, clusters: NDArray[np.int64], resamples: int, seed: int
) -> tuple[float, float]:
    """The percentile interval when whole clusters of heads are drawn."""
    drawn = draws(clusters, resamples, seed)
    low, high = percentiles(np.concatenate([metric(counts) for counts in drawn]))
    return float(low[0]), float(high[0])
