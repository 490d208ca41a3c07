"""Scores of roles at equal lengths: the sieve bias grows with the length of the sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.tables.roles import COARSE, kept_scores, role_data, roles_with_scores

WIDTH = 4
"""Sequences whose lengths are in one bin of so many tokens count as equally long."""


def matched_scores(
    results: Mapping[str, Atlas], *, tau: float, roles: Sequence[str] = COARSE, width: int = WIDTH
) -> pd.DataFrame:
    """Compare the scores of several corpora at equal lengths.

    Lengths are cut into bins. In each bin every corpus counts as much as the corpus with the fewest
    sequences there, so that all have the same distribution of lengths.

    Parameters
    ----------
    results
        Results with the measure ``role`` of the same model, by the name of the corpus.
    tau
        The threshold.
    roles
        Which roles; a role is compared among the corpora that have it.
    width
        The width of a bin in tokens.

    Returns
    -------
    pandas.DataFrame
        One row per role and corpus: ``length`` and ``mean`` over all sequences and heads, ``over``
        (heads whose mean is over tau), ``matched length``, ``matched mean`` and ``matched over``
        at equal lengths, and ``matched``, how many sequences that is; NaN where lengths have no bin
        in common.

    Raises
    ------
    ResultsError
        If some results do not keep the scores and lengths of single sequences.
    """
    rows = []
    for role in roles:
        there = {
            name: _scores(atlas, role)
            for name, atlas in results.items()
            if role in roles_with_scores(role_data(atlas), roles)
        }
        if len(there) < 2:
            continue
        counts = _common({name: lengths for name, (_, lengths) in there.items()}, width)
        for name, (scores, lengths) in there.items():
            weights = _weights(lengths, counts, width)
            rows.append(
                {"role": role, "corpus": name, **_row(scores, lengths, weights, tau)}
                | {"matched": sum(counts.values())}
            )
    return pd.DataFrame(rows)


def _scores(results: Atlas, role: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The scores of the sequences that have a role, (sequence, head), and their lengths."""
    values: xr.DataArray = kept_scores(role_data(results)).sel(role=role)
    if "tokens" not in values.coords:
        raise ResultsError(
            "these results do not say how long the sequences are",
            hint="survey again with this version",
        )
    scores = values.values.reshape(len(values), -1).astype(np.float64)
    known = ~np.isnan(scores).any(1)
    return scores[known], values["tokens"].values[known]


def _common(lengths: Mapping[str, NDArray[np.int64]], width: int) -> dict[int, int]:
    """The number of sequences that every corpus has in each bin of lengths, at least."""
    binned = [
        dict(zip(*np.unique(own // width, return_counts=True), strict=True))
        for own in lengths.values()
    ]
    shared = set.intersection(*(set(counts) for counts in binned))
    return {int(place): int(min(counts[place] for counts in binned)) for place in sorted(shared)}


def _weights(
    lengths: NDArray[np.int64], counts: Mapping[int, int], width: int
) -> NDArray[np.float64]:
    """How much each sequence counts, so that the bins have the common numbers."""
    places = lengths // width
    weights = np.zeros(len(lengths))
    for place, count in counts.items():
        inside = places == place
        weights[inside] = count / inside.sum()
    return weights


def _row(
    scores: NDArray[np.float64],
    lengths: NDArray[np.int64],
    weights: NDArray[np.float64],
    tau: float,
) -> dict[str, float]:
    means = scores.mean(0)
    row = {
        "length": float(lengths.mean()),
        "mean": float(means.mean()),
        "over": float((means > tau).sum()),
    }
    names = ("matched length", "matched mean", "matched over")
    if not weights.any():
        return row | dict.fromkeys(names, np.nan)
    matched = np.average(scores, axis=0, weights=weights)
    values = (np.average(lengths, weights=weights), matched.mean(), (matched > tau).sum())
    return row | {name: float(value) for name, value in zip(names, values, strict=True)}
