"""Which heads are better than the majority class, corrected for the number of heads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from headscope.results import Atlas
from headscope.stats.probing import probing_of, task_titles
from headscope.stats.tests import binomial_tail, correct

LEVEL = 0.05
SMALL = 100
"""Tests with fewer examples are small: an accuracy of 0.75 has an interval of ± 0.085 or more."""


def better_heads(results: Atlas, *, level: float = LEVEL) -> pd.DataFrame:
    """Count the heads whose test accuracy is above the share of the majority class.

    Parameters
    ----------
    results
        Results of probing heads.
    level
        The level of the tests.

    Returns
    -------
    pandas.DataFrame
        One row per task with classes: heads; how many are better by an exact one-sided binomial
        test, alone (``uncorrected``), with Holm's correction over the heads of the task (``holm``),
        and with that of Benjamini and Hochberg (``bh``); and the number of test examples.
    """
    data, rows = probing_of(results), []
    for name, title in task_titles(results).items():
        mine = data.sel(task=name)
        majority, size = float(mine["majority"]), float(mine["test_size"])
        if not np.isfinite(majority) or not size > 0:
            continue
        scores = mine["test"].values.ravel()
        right = np.round(np.nan_to_num(scores) * size)
        p = np.where(np.isnan(scores), np.nan, binomial_tail(right, size, majority))
        corrected = {name: correct(p, name) for name in ("holm", "bh")}
        rows.append(
            {
                "task": title,
                "heads": int(np.isfinite(p).sum()),
                "uncorrected": int((p < level).sum()),
                **{name: int((values < level).sum()) for name, values in corrected.items()},
                "test size": int(size),
            }
        )
    return pd.DataFrame(rows, columns=["task", "heads", "uncorrected", "holm", "bh", "test size"])


def small_tests(results: Atlas, *, least: int = SMALL) -> dict[str, int]:
    """List the tasks with too few test examples to trust a difference of a few points.

    Parameters
    ----------
    results
        Results of probing heads.
    least
        The fewest examples of a test that is not small.

    Returns
    -------
    dict
        The number of test examples, by the task's title.
    """
    data = probing_of(results)
    if "test_size" not in data:  # numbers that others have published
        return {}
    sizes = {
        title: float(data["test_size"].sel(task=name))
        for name, title in task_titles(results).items()
    }
    return {title: int(size) for title, size in sizes.items() if size < least}


def small_test_text(small: Mapping[str, int]) -> str:
    """Warn of gains that rest on few test sentences.

    Parameters
    ----------
    small
        What :func:`small_tests` returned.

    Returns
    -------
    str
        Two sentences; empty if there are no small tests.

    Examples
    --------
    >>> small_test_text({"Tense": 48})
    'Small tests: Tense (48 sentences). A gain of a few points there is one or two sentences.'
    """
    if not small:
        return ""
    sizes = [
        f"{title} ({size}{' sentences' if not place else ''})"
        for place, (title, size) in enumerate(small.items())
    ]
    return f"Small tests: {', '.join(sizes)}. A gain of a few points there is one or two sentences."
