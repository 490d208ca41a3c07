"""Two results side by side: how much each statistic differs, and in which heads beyond chance.

Results keep sums by bucket of documents. Two runs over the same texts are paired bucket by bucket;
otherwise the two are independent samples. Comparing the models themselves also compares their maps:
:mod:`headscope.stats.comparison`.
"""

from __future__ import annotations

from dataclasses import asdict
from itertools import product

import numpy as np
import pandas as pd
import xarray as xr

from headscope.identity import same_corpus
from headscope.labels import CHANGE, label_text
from headscope.results import Atlas
from headscope.results.moments import Ratio, left_out, moves, ratio
from headscope.results.schema import contents, label_dims
from headscope.stats.grid import grid_heads
from headscope.stats.shared import Shared, share_labels
from headscope.stats.tests import correct

ALPHA = 0.05
LEAST = 0.001
"""Smaller changes are not counted, however certain: paired tests even see the rounding of weights
that were stored in half precision."""
COPIED = ("source", "listed", "titles", "words", "metric", "better")
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
        A head counts as changed where a test over documents, corrected (Holm) over the heads of the
        statistic, gives a p below this. Runs over the same texts are paired.
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
    for name, data in _differences(shared, paired=same_examples(first, second)).items():
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
        first), ``low`` and ``high`` (95 % interval over documents), ``deviation`` and ``n`` (the
        deviation divided by √n is the standard error of the change; n is the smaller of the two
        numbers of examples), ``p`` (by documents, paired where both are of the same texts),
        ``p_corrected`` (Holm over the heads of each label),
        ``first`` and ``second`` (the two means).

    Raises
    ------
    ResultsError
        If the two have nothing in common.
    """
    return _differences(share_labels(first, second), paired=same_examples(first, second))


def _differences(shared: Shared, *, paired: bool) -> dict[str, xr.Dataset]:
    return {
        f"{name}{CHANGE}": mean_change(one, other, paired=paired)
        for name, (one, other) in shared.pairs.items()
    }


def mean_change(one: xr.Dataset, other: xr.Dataset, *, paired: bool = False) -> xr.Dataset:
    """The change of a measure between two datasets with the same labels, tested by documents.

    Parameters
    ----------
    one, other
        Datasets with sums by bucket of documents; or with ``mean``, ``deviation`` and ``n``, where
        the attribute ``kind`` says that the deviation is the standard error of the mean
        (:class:`headscope.results.schema.Contents`).
    paired
        Whether both are of the same texts: each document is then left out of both at once, which
        takes out what is hard or easy for both. Otherwise the two are independent (Welch).

    Returns
    -------
    xarray.Dataset
        As in :func:`difference_atlas`. Interval and p are NaN with too few documents.

    References
    ----------
    Welch 1947, "The generalization of 'Student's' problem when several different population
    variances are involved", Biometrika 34.
    """
    dims = ("layer", "head", *label_dims(one))
    means = [data["mean"].transpose(*dims).values for data in (one, other)]
    n = np.minimum(*(data["n"].transpose(*dims).values for data in (one, other)))
    change = means[1] - means[0]
    if all("bucket" in data.dims for data in (one, other)):
        found = _by_documents(one, other, dims, paired=paired)
    else:
        squares = np.zeros(change.shape)
        for data in (one, other):
            square = data["deviation"].transpose(*dims).values ** 2
            many = data["n"].transpose(*dims).values
            squares += square if contents(data).spread == "error" else square / many
        found = Ratio(change, np.sqrt(squares), np.full(change.shape, np.inf))
    low, high = found.interval()
    p = found.p_differs()
    arrays = {
        "mean": change,
        "low": low,
        "high": high,
        "deviation": found.error * np.sqrt(n),
        "n": n.astype(np.int64),
        "p": p,
        "p_corrected": correct(p, "holm", axis=(0, 1)),
        "first": means[0],
        "second": means[1],
    }
    attributes = {key: one.attrs[key] for key in COPIED if key in one.attrs}
    attributes["title"] = f"{one.attrs.get('title', 'Mean')}: change"
    attributes["unit"] = f"change in {one.attrs.get('unit', 'the mean')}"
    attributes["kind"] = "change"
    coordinates = {dim: one[dim].values for dim in dims}
    return xr.Dataset(
        {key: (dims, values) for key, values in arrays.items()}, coordinates, attributes
    )


def _by_documents(
    one: xr.Dataset, other: xr.Dataset, dims: tuple[str, ...], *, paired: bool
) -> Ratio:
    """The change with its error over documents."""
    parts = [
        [data[name].transpose(*dims, "bucket").values for name in ("sum", "count")]
        for data in (one, other)
    ]
    if paired and one.sizes["bucket"] == other.sizes["bucket"]:
        (first, less), (second, more) = (moves(*part) for part in parts)
        return left_out(second - first, more - less, parts[0][1])
    ratios = [ratio(*part) for part in parts]
    squares = np.stack([found.error**2 for found in ratios])
    degrees = np.stack([found.degrees for found in ratios])
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = squares.sum(0) ** 2 / (squares**2 / degrees).sum(0)
    return Ratio(ratios[1].value - ratios[0].value, np.sqrt(squares.sum(0)), whole + 1.0)


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
        {key: about.get("settings", {}).get(key) for key in ("max_length", "long", "limit")}
        for about in (one, other)
    ]
    return same_corpus(one, other) and settings[0] == settings[1]
