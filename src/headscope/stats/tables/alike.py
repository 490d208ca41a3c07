"""How alike things are: heads and those of null models, two kinds of maps, heads of one layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when they are used
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError, UserError
from headscope.heads import Head
from headscope.labels import NORM, map_measure
from headscope.results import Atlas
from headscope.results.query import split_value
from headscope.results.schema import of_heads
from headscope.stats.grid import NOT_SHOWN, Column, grid_heads, measure_columns
from headscope.stats.heads.query import head_values

BAND = (0.025, 0.975)
"""The band of a null model: from this to that quantile of its heads."""
SKIPPED = (*NOT_SHOWN, "dependency")
"""Measures without a value that could be compared head by head."""
COLUMNS = ("measure", "label", "statistic", "null", "heads", "mean", "null_mean", "low", "high",
           "above", "below", "beyond")  # fmt: skip
Array = NDArray[np.float64]


def null_table(results: Atlas) -> pd.DataFrame:
    """Every statistic beside the same statistic of the null models.

    Parameters
    ----------
    results
        Results of a survey with null models: ``hs.survey(..., null=["random-weights"])``.

    Returns
    -------
    pandas.DataFrame
        One row per statistic and null model: ``mean`` over the heads of the model and
        ``null_mean`` over those of the null model; the band ``low`` … ``high`` that holds the
        middle 95 % of the null model's heads; how many of the model's ``heads`` are ``above`` and
        ``below`` it; and ``beyond``, the share of either. By definition about 5 % of the null
        model's own heads are beyond it. Statistics that are the same for all heads of both are
        left out.

    Raises
    ------
    ResultsError
        If the results have no null models.

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks.", "A cat sleeps."]
    >>> atlas = hs.survey("demo", texts, measures="position", null="random-weights")
    >>> table = null_table(atlas)
    >>> table["label"].tolist(), bool(table.loc[0, "beyond"] > 0.5)
    (['previous', 'current', 'next'], True)
    """
    check_has_nulls(results)
    rows = []
    for null, other in results.nulls.items():
        for name in results:
            if name in other and map_measure(name) not in SKIPPED and of_heads(results[name]):
                theirs = {column.labels: column for column in measure_columns(name, other[name])}
                for column in measure_columns(name, results[name]):
                    if column.labels in theirs:
                        row = _compared(column.value, theirs[column.labels].value)
                        rows += [_about(column) | {"null": null} | row] if row else []
    return pd.DataFrame(rows, columns=list(COLUMNS))


def null_bands(results: Atlas, value: str) -> pd.DataFrame:
    """The bands of the null models for one value of a query.

    Parameters
    ----------
    results
        Results of a survey with null models.
    value
        Such as ``"position:previous"``.

    Returns
    -------
    pandas.DataFrame
        One row per null model that has the value: ``null``, ``low`` and ``high``.

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks.", "A cat sleeps."]
    >>> atlas = hs.survey("demo", texts, measures="position", null="random-weights")
    >>> bands = null_bands(atlas, "position:previous")
    >>> bool((bands["low"] < bands["high"]).all())
    True
    """
    check_has_nulls(results)
    head_values(results, split_value(value))  # what is wrong with the value is said here
    rows = bands_of(results, split_value(value))
    return pd.DataFrame(rows, columns=["null", "low", "high"])


def bands_of(results: Atlas, value: Sequence[str]) -> list[dict[str, Any]]:
    """The bands of null models for a value, given as measure and labels."""
    rows = []
    for null, other in results.nulls.items():
        try:
            values = head_values(other, value)[0]["value"].values
        except UserError:  # a label that only the real survey has
            continue
        low, high = band(values)
        rows.append({"null": null, "low": low, "high": high})
    return rows


def band(values: NDArray[np.floating]) -> tuple[float, float]:
    """The quantiles of the heads of a null model between which the middle 95 % of them are.

    Examples
    --------
    >>> band(np.arange(101.0))
    (2.5, 97.5)
    """
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    if not len(known):
        return np.nan, np.nan
    low, high = np.quantile(known, BAND)
    return float(low), float(high)


def check_has_nulls(results: Atlas) -> None:
    """Refuse results without null models."""
    if not results.nulls:
        raise ResultsError(
            "these results have no null models to compare with",
            hint="survey again: hs.survey(model, corpus, null='random-weights')",
        )


def _compared(values: Array, null: Array) -> dict[str, object] | None:
    """The heads of a model beside those of a null model; None where nothing can be said."""
    mine, theirs = values[np.isfinite(values)], null[np.isfinite(null)]
    if not len(mine) or not len(theirs) or np.ptp(np.concatenate([mine, theirs])) == 0:
        return None
    low, high = band(theirs)
    above, below = int((mine > high).sum()), int((mine < low).sum())
    return {
        "heads": len(mine),
        "mean": float(mine.mean()),
        "null_mean": float(theirs.mean()),
        "low": low,
        "high": high,
        "above": above,
        "below": below,
        "beyond": (above + below) / len(mine),
    }


LEAST = 3
"""Fewer heads have no rank correlation."""


def both_maps(atlas: Atlas) -> list[str]:
    """The measures that results have on attention and on norm-weighted maps.

    Parameters
    ----------
    atlas
        Any results.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks."], measures=["position"], maps="both")
    >>> both_maps(atlas)
    ['position']
    """
    return [
        name
        for name in atlas
        if f"{NORM}{name}" in atlas and of_heads(atlas[name]) and map_measure(name) not in NOT_SHOWN
    ]


def map_agreement(atlas: Atlas) -> pd.DataFrame:
    """Rank correlation over heads between attention and norm-weighted maps, for every statistic.

    Parameters
    ----------
    atlas
        Results of a survey with ``maps="both"``.

    Returns
    -------
    pandas.DataFrame
        One row per statistic: measure, label, statistic in words, ``heads``, ``spearman``, the mean
        over heads on ``attention`` and on ``norm`` maps, and the strongest head on each. Statistics
        that are the same for all heads are left out.

    Raises
    ------
    UserError
        If the results have no measure on both kinds of maps.

    References
    ----------
    Kobayashi et al. 2020, "Attention is Not Only a Weight".

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", measures=["position"], maps="both", limit=4)
    >>> map_agreement(atlas)[["label", "heads", "strongest"]].values.tolist()[0]
    ['previous', 72, '1-3']
    """
    names = both_maps(atlas)
    if not names:
        raise UserError(
            "these results have no measure on both attention and norm-weighted maps",
            hint="survey with hs.survey(model, corpus, maps='both')",
        )
    rows = [row for name in names for row in _agreeing(atlas, name)]
    columns = ["measure", "label", "statistic", "heads", "spearman"]
    columns += ["attention", "norm", "strongest", "strongest norm"]
    return pd.DataFrame(rows, columns=columns)


def _agreeing(atlas: Atlas, name: str) -> list[dict[str, object]]:
    """The statistics of one measure."""
    heads = [str(head) for head in grid_heads(atlas[name])]
    weighted = {one.labels: one.value for one in measure_columns(name, atlas[f"{NORM}{name}"])}
    rows = []
    for column in measure_columns(name, atlas[name]):
        raw, norm = column.value, weighted[column.labels]
        known = ~np.isnan(raw) & ~np.isnan(norm)
        if known.sum() < LEAST or not (np.ptp(raw[known]) and np.ptp(norm[known])):
            continue
        rows.append(
            _about(column)
            | {
                "heads": int(known.sum()),
                "spearman": float(scipy.stats.spearmanr(raw[known], norm[known])[0]),
                "attention": float(raw[known].mean()),
                "norm": float(norm[known].mean()),
                "strongest": heads[int(np.nanargmax(raw))],
                "strongest norm": heads[int(np.nanargmax(norm))],
            }
        )
    return rows


def _about(column: Column) -> dict[str, object]:
    return {"measure": column.measure, "label": column.label, "statistic": column.statistic}


def scale(distances: xr.DataArray, *, seed: int, tries: int = 4) -> tuple[pd.DataFrame, float]:
    """Place heads in a plane so that their distances are as close as possible to the given ones.

    Parameters
    ----------
    distances
        With dims one and other, which have the same names.
    seed
        Of the random starts.
    tries
        How many starts; the best is kept, turned so that its longest axis is x.

    Returns
    -------
    pandas.DataFrame
        Columns name, x and y.
    float
        The stress that remains (Kruskal's; 0 is perfect).

    Examples
    --------
    >>> names = ["1-1", "1-2", "1-3"]
    >>> lines = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> triangle = xr.DataArray(lines, {"one": names, "other": names}, ("one", "other"))
    >>> points, stress = scale(triangle, seed=0)
    >>> points["name"].tolist(), stress < 0.05
    (['1-1', '1-2', '1-3'], True)
    """
    values = np.asarray(distances.values, float)
    from sklearn.manifold import MDS  # slow to import

    model = MDS(
        n_components=2,
        metric="precomputed",
        metric_mds=True,
        n_init=tries,
        init="random",
        random_state=seed,
        normalized_stress=False,
    )
    points = model.fit_transform((values + values.T) / 2)
    centred = points - points.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned = centred @ axes.T
    upper = np.triu_indices(len(values), 1)
    fitted = np.linalg.norm(turned[upper[0]] - turned[upper[1]], axis=1)
    stress = float(np.sqrt(((fitted - values[upper]) ** 2).sum() / (values[upper] ** 2).sum()))
    names = [str(name) for name in distances["one"].values]
    return pd.DataFrame({"name": names, "x": turned[:, 0], "y": turned[:, 1]}), stress


RESAMPLES = 9999
"""Permutations; the smallest p is then 0.0001."""


@dataclass(frozen=True)
class LayerCloseness:
    """Distances within layers against distances between layers.

    Parameters
    ----------
    within, between
        The mean distance of two heads of one layer, and of two heads of different layers.
    p
        How often heads that are dealt out to layers at random are at most as far apart within
        layers; NaN with fewer than two layers, or with one head per layer.
    permutations
        How many random deals.
    """

    within: float
    between: float
    p: float
    permutations: int


def layer_closeness(
    distances: xr.DataArray, *, seed: int, permutations: int = RESAMPLES
) -> LayerCloseness:
    """Compare distances within layers with distances between layers by a permutation test.

    Heads are dealt out to layers at random, with as many heads per layer as there are. The
    statistic is the mean distance within layers: small where heads of a layer behave alike. The
    test is one-sided, and p is (1 + deals at least as small) / (1 + deals).

    Parameters
    ----------
    distances
        With dims one and other, both with the names of heads; symmetric.
    seed
        Of the random deals.
    permutations
        How many deals.

    Returns
    -------
    LayerCloseness
        Both means and p.

    Examples
    --------
    >>> names = ["1-1", "1-2", "2-1", "2-2"]
    >>> rows = [[0, 1, 5, 5], [1, 0, 5, 5], [5, 5, 0, 1], [5, 5, 1, 0]]
    >>> labels = {"one": names, "other": names}
    >>> apart = xr.DataArray(np.array(rows, float), labels, ("one", "other"))
    >>> found = layer_closeness(apart, seed=0, permutations=99)
    >>> found.within, found.between
    (1.0, 5.0)
    """
    values = np.asarray(distances.values, float)
    values = (values + values.T) / 2
    layers = np.array([Head.parse(str(name)).layer for name in distances["one"].values])
    pairs = np.triu_indices(len(layers), 1)
    same = (layers[:, None] == layers)[pairs]
    if same.all() or not same.any():
        return LayerCloseness(*_means(values[pairs], same), np.nan, 0)
    observed = float(values[pairs][same].mean())
    random = np.random.default_rng(seed)
    # Heads move with their rows and columns; the places of the layers stay where they are.
    first, second = pairs[0][same], pairs[1][same]
    smaller = 0
    for _ in range(permutations):
        deal = random.permutation(len(layers))
        # A deal that moves nothing between layers must count as equal despite rounding.
        smaller += values[deal[first], deal[second]].mean() <= observed * (1 + 1e-12)
    p = (1 + smaller) / (1 + permutations)
    return LayerCloseness(*_means(values[pairs], same), float(p), permutations)


def _means(distances: np.ndarray, same: np.ndarray) -> tuple[float, float]:
    """The means within and between; NaN where there is no such pair."""
    parts = (distances[same], distances[~same])
    within, between = (float(part.mean()) if part.size else np.nan for part in parts)
    return within, between
