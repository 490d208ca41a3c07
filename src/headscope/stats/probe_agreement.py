"""Do two runs of probing agree on which heads know most about a task?"""

from __future__ import annotations

import pandas as pd
import xarray as xr

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.probing import probing_of, task_titles
from headscope.stats.syntax_semantics import RESAMPLES, correlation

SCORES = ("here", "published")


def paired_scores(results: Atlas, published: Atlas) -> pd.DataFrame:
    """Put the test scores of two runs of probing beside each other, head by head.

    Parameters
    ----------
    results, published
        Results of probing heads of models of one shape.

    Returns
    -------
    pandas.DataFrame
        One row per head and task that both have: task (its title), layer, head, here, published.

    Raises
    ------
    ResultsError
        The models differ in layers or heads, or have no task in common.

    Examples
    --------
    >>> def run(scores):
    ...     places = {"task": ["mine"], "layer": [1], "head": [1, 2]}
    ...     test = xr.DataArray([[scores]], places, tuple(places), "test").to_dataset()
    ...     return Atlas.build({"probe": test.assign(title=("task", ["Mine"]))}, {})
    >>> one, other = run([0.5, 0.9]), run([0.4, 0.8])
    >>> paired_scores(one, other)[["head", "here", "published"]].values.tolist()
    [[1.0, 0.5, 0.4], [2.0, 0.9, 0.8]]
    """
    ours, theirs = probing_of(results), probing_of(published)
    shapes = [(data.sizes["layer"], data.sizes["head"]) for data in (ours, theirs)]
    if shapes[0] != shapes[1]:
        given = " and ".join(f"{layers} × {heads}" for layers, heads in shapes)
        raise ResultsError(f"heads can only be compared between models of one shape, got {given}")
    titles, there = task_titles(results), set(task_titles(published))
    tasks = [name for name in titles if name in there]
    if not tasks:
        raise ResultsError(
            "the two runs have no task in common", hint="probe one of the published tasks"
        )
    both = xr.Dataset(
        {
            name: data["test"].sel(task=tasks)
            for name, data in zip(SCORES, (ours, theirs), strict=True)
        }
    )
    frame = both.reset_coords(drop=True).to_dataframe().reset_index()
    return frame.assign(task=frame["task"].map(titles))[["task", "layer", "head", *SCORES]]


def probe_agreement(
    frame: pd.DataFrame, *, seed: int = 0, resamples: int = RESAMPLES
) -> pd.DataFrame:
    """Correlate the scores of two runs over heads, task by task.

    Parameters
    ----------
    frame
        What :func:`paired_scores` returns.
    seed, resamples
        Of the bootstraps.

    Returns
    -------
    pandas.DataFrame
        Two rows per task, Pearson and Spearman, with intervals over heads and over layers; see
        :func:`headscope.stats.syntax_semantics.correlation`.
    """
    parts = []
    for task, rows in frame.groupby("task", sort=False):
        found = correlation(rows, SCORES, seed=seed, resamples=resamples)
        parts.append(found.assign(task=task))
    return pd.concat(parts, ignore_index=True)
