"""Gradient importance against disabling: does the estimate rank heads as disabling them does?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.ablation import ablation_of
from headscope.stats.bootstrap import CONFIDENCE, draws, percentiles
from headscope.stats.clusters import example_documents
from headscope.tasks.metrics import METRICS, example_losses

Array = NDArray[Any]


def agreement(
    results: Atlas, *, resamples: int = 2000, confidence: float = CONFIDENCE
) -> pd.DataFrame:
    """Rank correlation of gradient importance (Michel et al. 2019) with what disabling heads does.

    Parameters
    ----------
    results
        Results of an ablation with gradient importance.
    resamples
        How many bootstrap resamples of the documents to draw.
    confidence
        Of the percentile intervals.

    Returns
    -------
    pandas.DataFrame
        Two rows with Spearman's correlation over all heads and its interval over documents: with
        the drop in score, and with the mean size of the change in an example's loss, which
        importance estimates to first order if disabled heads give zero.

    Raises
    ------
    ResultsError
        If the results have no importance, or no single heads that were disabled.
    """
    raw = ablation_of(results)
    if "importance" not in results.measures:
        raise ResultsError(
            "these results have no gradient importance",
            hint="ask for it: hs.ablate(model, importance=True)",
        )
    heads = np.flatnonzero(raw["kind"].values == "head")
    if not len(heads):
        raise ResultsError(
            "no single head was disabled, so there is nothing to compare importance with",
            hint="disable heads: hs.ablate(model, heads=True)",
        )
    metric, seed = str(raw.attrs["metric"]), int(results.provenance["settings"]["seed"])
    outputs, gold = raw["outputs"].values.astype(np.float64), raw["gold"].values
    examples, documents = raw.sizes["example"], example_documents(raw)
    values = results["importance"]["values"].values.reshape(examples, -1).astype(np.float64)
    losses = example_losses(metric, outputs, gold)
    sizes = np.abs(losses[heads] - losses[:1]).T
    sign, prepared = METRICS[metric].sign, METRICS[metric].prepare(outputs, gold)

    def correlations(counts: Array) -> Array:
        scores = prepared(counts)
        drop = sign * (scores[:, :1] - scores[:, heads])
        mine = counts @ values
        return np.stack([row_spearman(mine, drop), row_spearman(mine, counts @ sizes)], axis=1)

    whole = correlations(np.ones((1, examples)))[0]
    low, high = percentiles(
        np.concatenate([correlations(counts) for counts in draws(documents, resamples, seed)]),
        confidence,
    )
    drop = "rise in loss" if metric == "loss" else f"drop in {metric}"
    return pd.DataFrame(
        {
            "importance against": [drop, "size of the change in loss"],
            "Spearman": whole,
            "low": low,
            "high": high,
            "heads": len(heads),
        }
    )


def row_spearman(one: Array, other: Array) -> Array:
    """Spearman's correlation of two arrays, row by row; NaN where a row is constant.

    >>> row_spearman(np.array([[1, 2, 3], [1, 1, 1]]), np.array([[2, 4, 9], [1, 2, 3]])).tolist()
    [1.0, nan]
    """
    ranks = [scipy.stats.rankdata(values, axis=1) for values in (one, other)]
    first, second = (values - values.mean(1, keepdims=True) for values in ranks)
    scale = np.sqrt((first**2).sum(1) * (second**2).sum(1))
    empty = np.full(len(one), np.nan)
    return np.asarray(np.divide((first * second).sum(1), scale, out=empty, where=scale > 0))
