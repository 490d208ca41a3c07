"""Scores of probes over splits that were drawn again, for tasks with few sentences."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from headscope.errors import ResultsError
from headscope.results import Atlas

HEADS, TOP = "probe_splits", "probe_splits_top"
"""The groups of results: scores of heads, and of layers and top heads."""
APART = ("past_present", "subj_number", "obj_number")
"""Tasks in whose own splits no target word is both in training and in test sentences."""
Array = NDArray[np.float64]


def split_interval(
    scores: Array, train: int, test: int, *, confidence: float = 0.95
) -> tuple[Array, Array, Array]:
    """The mean over random splits, and its interval.

    The splits share sentences, so their scores are not independent, and the usual interval of a
    mean is too narrow. Nadeau and Bengio (2003) replace the variance s²/k of the mean of k splits
    by s² (1/k + test/train). The interval is that of the expected score of a classifier that is
    trained and tested on random splits of this size.

    Parameters
    ----------
    scores
        (..., split)
    train, test
        How many sentences each split trains and tests on.
    confidence
        Level of the interval.

    Returns
    -------
    mean, low, high
        (...); low and high are NaN for a single split.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the Generalization Error, Machine Learning 52.

    Examples
    --------
    >>> mean, low, high = split_interval(np.array([0.6, 0.7, 0.8]), train=80, test=20)
    >>> [round(float(end), 3) for end in (mean, low, high)]
    [0.7, 0.371, 1.029]
    """
    count, mean = scores.shape[-1], scores.mean(-1)
    if count < 2:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    error = scores.std(-1, ddof=1) * np.sqrt(1 / count + test / train)
    half = special.stdtrit(count - 1, (1 + confidence) / 2) * error
    return mean, mean - half, mean + half


def split_table(results: Atlas) -> pd.DataFrame:
    """Layers and top heads over splits that were drawn again, one row per task.

    Parameters
    ----------
    results
        Results of probing with repeated splits.

    Returns
    -------
    pandas.DataFrame
        Mean test scores in percent of the last layer (``last``), of the layer that is best in a
        split's own validation part (``best``) and of the ``n`` heads that are (``top``), with
        their intervals; and the differences ``top - last`` and ``top - best`` in points, paired by
        split. See :func:`split_interval` for the intervals.

    Raises
    ------
    ResultsError
        If no splits were drawn again.
    """
    if TOP not in results.measures:
        raise ResultsError(
            "these results have no repeated splits",
            hint="make some with hs.probe(model, tasks, repeats=5)",
        )
    data, rows = results[TOP], []
    for name in data["task"].values:
        mine = data.sel(task=name)
        each = {way: mine["each"].sel(way=way).values for way in ("last", "best", "top")}
        sizes = int(mine["train"]), int(mine["test_size"])
        row: dict[str, object] = {
            "task": str(mine["title"].values),
            "splits": mine.sizes["split"],
            "test size": sizes[1],
            "n": mine.sizes["place"],
        }
        for way, scores in each.items():
            row |= _ends(way, scores, sizes, bounds=(0.0 if int(mine["classes"]) else -1.0, 1.0))
        for way in ("last", "best"):
            row |= _ends(f"top - {way}", each["top"] - each[way], sizes)
        rows.append(row)
    return pd.DataFrame(rows)


def _ends(
    name: str, scores: Array, sizes: tuple[int, int], bounds: tuple[float, float] | None = None
) -> dict[str, object]:
    ends = [100 * part for part in split_interval(scores, *sizes)]
    if bounds:
        ends = [np.clip(part, 100 * bounds[0], 100 * bounds[1]) for part in ends]
    return dict(zip((name, f"{name} low", f"{name} high"), map(float, ends), strict=True))


def split_text(results: Atlas) -> str:
    """What repeated splits are, and what they do not keep, in plain sentences.

    Parameters
    ----------
    results
        Results of probing; without repeated splits the text is empty.
    """
    if TOP not in results.measures:
        return ""
    data = results[TOP]
    text = (
        f"Means over {data.sizes['split']} splits: all sentences of a task are divided again at "
        "random, with the same sizes and the same share of each class. Layer, heads and L2 are "
        "chosen on each split's validation part and scored on its test part. The 95 % intervals "
        "are of the score to expect after training on as many sentences, corrected because the "
        "splits share sentences (Nadeau and Bengio 2003)."
    )
    named = zip(data["task"].values, data["title"].values, strict=True)
    apart = [str(title) for name, title in named if name in APART]
    if apart:
        text += (
            f" In the new splits of {', '.join(apart)}, a target word may be in training and in "
            "test sentences, which the task's own split excludes, so scores may be higher."
        )
    return text
