"""Two results side by side: how much each statistic differs, and in which heads beyond chance.

Results keep sums, not examples. So two runs over the same corpus cannot be paired here, and the
test is Welch's of two independent samples, which is cautious. Comparing the models themselves pairs
the examples: :mod:`headscope.stats.comparison`.
"""

from __future__ import annotations

from dataclasses import asdict
from itertools import product

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from headscope.identity import same_corpus
from headscope.labels import CHANGE, label_text
from headscope.results import Atlas
from headscope.results.schema import contents, label_dims
from headscope.stats.grid import grid_heads
from headscope.stats.shared import Shared, share_labels
from headscope.stats.tests import correct

ALPHA = 0.05
CONFIDENCE = 0.95
LEAST = 0.001
"""Smaller changes are not counted, however certain: paired tests even see the rounding of weights
that were stored in half precision."""
COPIED = ("source", "listed", "titles", "metric", "better")
"""Attributes of a measure that its change keeps."""


def difference_table(
    first: Atlas, second: Atlas, *, alpha: float = ALPHA, least: float = LEAST
) -> pd.DataFrame:
    """Compare the means of two results, one row per statistic.

    Parameters
    ----------
    first, second
        Results of two runs. They are compared on the measures, labels, layers and heads that both
        have. Changes are the second minus the first.
    alpha
        A head counts as changed where Welch's t test of its two means, corrected (Holm) over the
        heads of the statistic, gives a p below this.
    least
        Smaller changes do not count.

    Returns
    -------
    pandas.DataFrame
        Columns measure, of (in plain words), mean change, the heads with the largest rise and fall,
        heads changed (missing where no head could be tested) and heads. ``attrs`` holds
        ``only_first``, ``only_second`` and ``skipped``: what was not compared.

    Raises
    ------
    ResultsError
        If the two have nothing in common.

    See Also
    --------
    headscope.stats.shared.not_compared : Says in sentences what was not compared.
    difference_atlas : The same differences for every single head.
    """
    shared = share_labels(first, second)
    rows: list[dict[str, object]] = []
    for name, data in _differences(shared).items():
        rows += change_rows(name, data, alpha=alpha, least=least)
    table = pd.DataFrame(rows)
    table.attrs["only_first"] = asdict(shared.only_first)
    table.attrs["only_second"] = asdict(shared.only_second)
    table.attrs["skipped"] = dict(shared.skipped)
    return table


def difference_atlas(first: Atlas, second: Atlas) -> dict[str, xr.Dataset]:
    """Compare the means of two results, head by head.

    Parameters
    ----------
    first, second
        Results of two runs, compared on what both have.

    Returns
    -------
    dict of str to xarray.Dataset
        For every shared measure a dataset named ``MEASURE-change``, as in a comparison of two
        models, with dims layer, head and the measure's own. Variables: ``mean`` (second minus
        first), ``low`` and ``high`` (95 % interval by Welch), ``deviation`` and ``n`` (the
        deviation divided by √n is the standard error of the change; n is the smaller of the two
        numbers of examples), ``p`` (Welch), ``p_corrected`` (Holm over the heads of each label),
        ``first`` and ``second`` (the two means).

    Raises
    ------
    ResultsError
        If the two have nothing in common.
    """
    return _differences(share_labels(first, second))


def _differences(shared: Shared) -> dict[str, xr.Dataset]:
    return {f"{name}{CHANGE}": welch(one, other) for name, (one, other) in shared.pairs.items()}


def welch(one: xr.Dataset, other: xr.Dataset, confidence: float = CONFIDENCE) -> xr.Dataset:
    """The change of a measure between two datasets with the same labels, with Welch's test.

    Parameters
    ----------
    one, other
        Datasets with ``mean``, ``deviation`` and ``n``. The attribute ``kind`` says whether the
        deviation is already the standard error of the mean
        (:class:`headscope.results.schema.Contents`).
    confidence
        Of the interval.

    Returns
    -------
    xarray.Dataset
        As in :func:`difference_atlas`. Interval and p are NaN below two examples, and where neither
        of the two spreads.

    References
    ----------
    Welch 1947, "The generalization of 'Student's' problem when several different population
    variances are involved", Biometrika 34.
    """
    dims = ("layer", "head", *label_dims(one))
    means = [data["mean"].transpose(*dims) for data in (one, other)]
    counts = [data["n"].transpose(*dims).values.astype(np.float64) for data in (one, other)]
    errors = [
        _squared_error(data, count, dims) for data, count in zip((one, other), counts, strict=True)
    ]
    change = means[1].values - means[0].values
    error = np.sqrt(sum(squared for squared, _ in errors))
    with np.errstate(all="ignore"):
        degrees = error**4 / sum(squared**2 / freedom for squared, freedom in errors)
        statistic = change / error
        p = 2 * special.stdtr(degrees, -np.abs(statistic))
        half = special.stdtrit(degrees, 0.5 + confidence / 2) * error
    n = np.minimum(*counts)
    arrays = {
        "mean": change,
        "low": change - half,
        "high": change + half,
        "deviation": error * np.sqrt(n),
        "n": n.astype(np.int64),
        "p": p,
        "p_corrected": correct(p, "holm", axis=(0, 1)),
        "first": means[0].values,
        "second": means[1].values,
    }
    attributes = {key: one.attrs[key] for key in COPIED if key in one.attrs}
    attributes["title"] = f"{one.attrs.get('title', 'Mean')}: change"
    attributes["unit"] = f"change in {one.attrs.get('unit', 'the mean')}"
    attributes["kind"] = "change"
    coordinates = {dim: one[dim].values for dim in dims}
    return xr.Dataset(
        {key: (dims, values) for key, values in arrays.items()}, coordinates, attributes
    )


def _squared_error(
    data: xr.Dataset, count: NDArray[np.float64], dims: tuple[object, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The squared standard error of each mean, and its degrees of freedom."""
    deviation = data["deviation"].transpose(*dims).values.astype(np.float64)
    if contents(data).spread == "error":
        return deviation**2, np.full(deviation.shape, np.inf)
    many = np.where(count > 1, count, np.nan)
    return deviation**2 / many, many - 1


def change_rows(
    measure: str, data: xr.Dataset, *, alpha: float = ALPHA, least: float = LEAST
) -> list[dict[str, object]]:
    """The rows of a table of changes, one per label of a measure.

    Parameters
    ----------
    measure
        The measure's name, which ends in ``-change``.
    data
        Dataset with ``mean`` (the change) and ``p_corrected``.
    alpha, least
        A head counts as changed with a corrected p below ``alpha`` and a change of ``least`` or
        more.
    """
    dims = label_dims(data)
    places = list(product(*(data[dim].values for dim in dims)))
    changes, chances = (
        data[name].transpose("layer", "head", *dims).values.reshape(-1, len(places))
        for name in ("mean", "p_corrected")
    )
    heads = grid_heads(data)
    rows = []
    for column, labels in enumerate(places):
        named = dict(zip(dims, map(str, labels), strict=True))
        values, p = changes[:, column], chances[:, column]
        known = np.flatnonzero(np.isfinite(values))
        row: dict[str, object] = {
            "measure": measure.removesuffix(CHANGE),
            "of": label_text(measure.removesuffix(CHANGE), named, data.attrs),
            "mean change": float(values[known].mean()) if known.size else np.nan,
        }
        for words, order in (("rise", -values[known]), ("fall", values[known])):
            place = known[order.argmin()] if known.size else None
            row[f"largest {words}"] = "" if place is None else str(heads[place])
            row[f"{words} by"] = np.nan if place is None else float(values[place])
        changed = int(((p < alpha) & (np.abs(values) >= least)).sum())
        row["heads changed"] = changed if np.isfinite(p).any() or not known.size else np.nan
        rows.append(row | {"heads": int(known.size)})
    return rows


def same_examples(first: Atlas, second: Atlas) -> bool:
    """Whether two runs saw the same examples, cut at the same length.

    Parameters
    ----------
    first, second
        Results of two runs.
    """
    one, other = first.provenance, second.provenance
    settings = [
        {key: about["settings"].get(key) for key in ("max_length", "long", "limit")}
        for about in (one, other)
    ]
    return same_corpus(one, other) and settings[0] == settings[1]
