"""Two results side by side: how much each statistic differs, and in which heads beyond chance.

Results keep sums by bucket of documents. Two runs over the same texts are paired bucket by bucket;
otherwise the two are independent samples. What only one of the two has is said in words. Comparing
the models themselves also compares their maps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.optimize import linear_sum_assignment

from headscope.errors import ResultsError
from headscope.identity import same_corpus
from headscope.labels import CHANGE, label_text
from headscope.results import Atlas
from headscope.results.atlas import measure_data
from headscope.results.merge import check_same_intervals
from headscope.results.moments import Ratio, left_out, moves, ratio
from headscope.results.schema import GRID, contents, label_dims, of_heads
from headscope.stats.grid import grid_heads, labelled_head
from headscope.stats.inference.correction import ALPHA, correct

MATCH = "match"
"""The group with the cosines of every two heads of two models."""
ENDS = ("low", "high")


@dataclass
class Only:
    """What one of two results has and the other has not.

    Parameters
    ----------
    measures
        Whole measures.
    layers, heads
        Layers, and heads within a layer, counted from 1.
    labels
        Labels of shared measures, by measure and dimension.
    """

    measures: list[str] = field(default_factory=list)
    layers: list[int] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    labels: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def add(self, measure: str, dim: str, labels: Sequence[Any]) -> None:
        """Note that the other one lacks some labels of a measure it has."""
        if not labels:
            return
        if dim in GRID:
            numbers = self.layers if dim == "layer" else self.heads
            numbers += [int(label) for label in labels if int(label) not in numbers]
        else:
            self.labels.setdefault(measure, {})[dim] = [str(label) for label in labels]

    def sentences(self, name: str) -> list[str]:
        """Say in plain words what only this one has; ``name`` is what it is called.

        >>> Only(["frame"], [3, 4, 5], labels={"dependency": {"relation": ["det"]}}).sentences("A")
        ['Only A has the measure frame.', 'Only A has layers 3–5.', \
'Only A has the relation det (measure dependency).']
        """
        said = []
        if self.measures:
            said.append(f"Only {name} has the {_plural('measure', self.measures)}.")
        for what, numbers in (("layer", self.layers), ("head", self.heads)):
            if numbers:
                where = " of each layer" if what == "head" else ""
                said.append(f"Only {name} has {_plural(what, ranges(numbers))}{where}.")
        for measure, dims in self.labels.items():
            for dim, labels in dims.items():
                said.append(f"Only {name} has the {_plural(dim, labels)} (measure {measure}).")
        return said


@dataclass(frozen=True)
class Shared:
    """Two results, cut down to what both have.

    Parameters
    ----------
    pairs
        By measure: the datasets of the first and the second, with the same labels in one order.
    only_first, only_second
        What only one of them has.
    skipped
        Measures that both have but that cannot be compared head by head, and why.
    """

    pairs: Mapping[str, tuple[xr.Dataset, xr.Dataset]]
    only_first: Only
    only_second: Only
    skipped: Mapping[str, str]

    def sentences(self, first: str = "the first", second: str = "the second") -> list[str]:
        """Say in plain sentences what the two do not share.

        Parameters
        ----------
        first, second
            What the two results are called, e.g. the names of their files.
        """
        said = [*self.only_first.sentences(first), *self.only_second.sentences(second)]
        return said + [
            f"The measure {name} was not compared: {why}." for name, why in self.skipped.items()
        ]


def share_labels(first: Atlas, second: Atlas) -> Shared:
    """Cut two results down to the measures, layers, heads and labels that both have.

    Parameters
    ----------
    first, second
        Results of any two runs; the models may differ in shape and the corpora in labels.

    Raises
    ------
    ResultsError
        If nothing can be compared. The message says what each of the two has.
    """
    check_same_intervals([first, second])
    only_first = Only([name for name in first if name not in second.measures])
    only_second = Only([name for name in second if name not in first.measures])
    pairs, skipped = {}, {}
    for name in (name for name in first if name in second.measures):
        left, right = first[name], second[name]
        why = _not_comparable(left, right)
        if why:
            skipped[name] = why
            continue
        common = {}
        for dim in (str(dim) for dim in left["mean"].dims):
            mine, theirs = left[dim].values.tolist(), right[dim].values.tolist()
            common[dim] = [label for label in mine if label in set(theirs)]
            only_first.add(name, dim, [label for label in mine if label not in set(theirs)])
            only_second.add(name, dim, [label for label in theirs if label not in set(mine)])
        if all(common.values()):
            pairs[name] = (left.sel(common), right.sel(common))
        else:
            empty = ", ".join(dim for dim, labels in common.items() if not labels)
            skipped[name] = f"the two have no {empty} in common"
    if not pairs:
        raise _nothing_shared(first, second, skipped)
    return Shared(pairs, only_first, only_second, skipped)


def not_compared(
    attributes: Mapping[Any, Any], *, first: str = "the first", second: str = "the second"
) -> list[str]:
    """Say in plain sentences what a comparison of two results does not cover.

    Parameters
    ----------
    attributes
        The attributes of a table by :func:`~headscope.stats.tables.change.difference_table`.
    first, second
        What the two results are called, e.g. the names of their files.

    Returns
    -------
    list of str
        Sentences; none if the two have the same measures, layers, heads and labels.

    Examples
    --------
    >>> about = {"only_first": {"measures": ["frame"]}, "skipped": {"distance": "it has no heads"}}
    >>> not_compared(about, first="a.nc")
    ['Only a.nc has the measure frame.', 'The measure distance was not compared: it has no heads.']
    """
    mine, theirs = (Only(**attributes.get(key, {})) for key in ("only_first", "only_second"))
    return Shared({}, mine, theirs, attributes.get("skipped", {})).sentences(first, second)


def ranges(numbers: Sequence[int]) -> list[str]:
    """Numbers in order, neighbours as a range.

    >>> ranges([7, 8, 9, 12, 3])
    ['3', '7–9', '12']
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]


def _not_comparable(first: xr.Dataset, second: xr.Dataset) -> str:
    """Why a measure that both results have cannot be compared head by head, if it cannot."""
    if not (contents(first).spread and contents(second).spread):
        return "it has no means with deviations"
    if not of_heads(first):
        return "it has no value for each head"
    if set(first["mean"].dims) != set(second["mean"].dims):
        return "its labels have different dimensions in the two"
    units = [data.attrs.get("unit", "") for data in (first, second)]
    return "" if units[0] == units[1] else f"its units differ ({units[0]} and {units[1]})"


def _nothing_shared(first: Atlas, second: Atlas, skipped: Mapping[str, str]) -> ResultsError:
    if skipped:
        reasons = "; ".join(f"{name}: {why}" for name, why in skipped.items())
        return ResultsError(
            f"the two results share no value of a head that can be compared ({reasons})",
            hint="survey both models with the same measures, on corpora with the same labels",
        )
    have = [", ".join(results.measures) or "none" for results in (first, second)]
    return ResultsError(
        f"the two results have no measure in common: the first has {have[0]}, the second {have[1]}",
        hint="survey both models with the same measures",
    )


def _plural(what: str, names: Sequence[str]) -> str:
    """A noun with the names it stands for, e.g. "layers 3 and 5"."""
    several = len(names) > 1 or (bool(names) and "–" in names[0])
    shown = list(names)
    text = f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
    return f"{what}{'s' if several else ''} {text}"


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
    headscope.stats.tables.change.not_compared : Says in sentences what was not compared.
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
        moved = _by_documents(one, other, dims, paired=paired)
    else:
        squares = np.zeros(change.shape)
        for data in (one, other):
            square = data["deviation"].transpose(*dims).values ** 2
            many = data["n"].transpose(*dims).values
            squares += square if contents(data).spread == "error" else square / many
        moved = Ratio(change, np.sqrt(squares), np.full(change.shape, np.inf))
    low, high = moved.interval()
    p = moved.p_differs()
    arrays = {
        "mean": change,
        "low": low,
        "high": high,
        "deviation": moved.error * np.sqrt(n),
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
    before: xr.Dataset, after: xr.Dataset, dims: tuple[str, ...], *, paired: bool
) -> Ratio:
    """The change with its error over documents."""
    parts = [
        [data[name].transpose(*dims, "bucket").values for name in ("sum", "count")]
        for data in (before, after)
    ]
    if paired and before.sizes["bucket"] == after.sizes["bucket"]:
        (first, less), (second, more) = (moves(*part) for part in parts)
        return left_out(second - first, more - less, parts[0][1])
    ratios = [ratio(*part) for part in parts]
    squares = np.stack([side.error**2 for side in ratios])
    degrees = np.stack([side.degrees for side in ratios])
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
            most = known[order.argmin()] if known.size else None
            row[f"largest {words}"] = "" if most is None else str(heads[most])
            row[f"{words} by"] = np.nan if most is None else float(values[most])
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
    left, right = first.provenance, second.provenance
    settings = [
        {key: about.get("settings", {}).get(key) for key in ("max_length", "long", "limit")}
        for about in (left, right)
    ]
    return same_corpus(left, right) and settings[0] == settings[1]


def cosine_table(comparison: Atlas) -> pd.DataFrame:
    """Compare the maps of two models, one row per layer (Kovaleva et al. 2019, Figure 5).

    Parameters
    ----------
    comparison
        Results of comparing two models.

    Returns
    -------
    pandas.DataFrame
        The mean over the layer's heads of the cosine between the two models' maps, and the head
        that changed most, with its interval.
    """
    data = comparison["change"]
    rows = []
    for layer in data["layer"].values:
        of_layer = data.sel(layer=layer)
        known = of_layer["mean"].dropna("head")
        row: dict[str, object] = {
            "layer": int(layer),
            "cosine": float(known.mean()) if known.size else np.nan,
        }
        head = known["head"].values[int(known.values.argmin())] if known.size else None
        row["changed most"] = "" if head is None else str(labelled_head(layer, head))
        for words, key in (("its cosine", "mean"), ("low", "low"), ("high", "high")):
            row[words] = np.nan if head is None else float(of_layer[key].sel(head=head))
        rows.append(row | {"examples": int(of_layer["n"].max())})
    return pd.DataFrame(rows)


def matched_heads(comparison: Atlas) -> pd.DataFrame:
    """Pair the heads of two models, one to one, so that the sum of their cosines is largest.

    Parameters
    ----------
    comparison
        Results of :func:`headscope.compare` with ``match``.

    Returns
    -------
    pandas.DataFrame
        One row per head of the first model: its partner in the second, their mean cosine over
        examples with its interval, and the cosine of the head in the same place.

    References
    ----------
    Bali et al. 2026, "Quantifying LLM Attention-Head Stability: Implications for Circuit
    Universality". They take the largest cosine for each head; the pairing is ours.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.compare("demo", "demo", ["The dog barks.", "A cat sleeps."], match="all")
    >>> pairs = matched_heads(atlas)
    >>> bool((pairs["head"] == pairs["partner"]).all())
    True
    """
    how = "compare the two models with match='layer'"
    data = measure_data(comparison, MATCH, "have no cosines of every two heads", how)
    data = data.transpose(*GRID, "other", ...)
    heads, names = grid_heads(data), data["other"].values.tolist()
    width = data.sizes["head"]
    within = len(names) == width and str(heads[0]) not in names
    means, low, high = (data[name].values.reshape(-1, len(names)) for name in ("mean", *ENDS))
    same = comparison["change"]["mean"].transpose(*GRID).values.ravel()
    rows = []
    for first in range(0, len(heads), width if within else len(heads)):
        part = means[first : first + width] if within else means
        for at, to in zip(*linear_sum_assignment(np.nan_to_num(part, nan=-1), True), strict=True):
            pair = (first + at, to)
            partner = f"{heads[first].layer + 1}-{names[to]}" if within else names[to]
            values = (means[pair], low[pair], high[pair], same[first + at])
            rows.append((str(heads[first + at]), partner, *map(float, values)))
    return pd.DataFrame(rows, columns=["head", "partner", "cosine", *ENDS, "same place"])


def paired_table(comparison: Atlas, *, alpha: float = ALPHA, least: float = LEAST) -> pd.DataFrame:
    """Compare the measures of two models, one row per statistic.

    Parameters
    ----------
    comparison
        Results of comparing two models, or two results: measures ``NAME-change``.
    alpha
        A head counts as changed where the test, corrected (Holm) over the heads of the statistic,
        gives a p below this. It is over documents, and paired where both read the same texts.
    least
        Smaller changes do not count.

    Returns
    -------
    pandas.DataFrame
        The columns of :func:`~headscope.stats.tables.change.difference_table`.
    """
    rows: list[dict[str, object]] = []
    for name in comparison:
        if name.endswith(CHANGE):
            data = comparison[name]
            tested = data if contents(data).tested else paired_test(data)
            rows += change_rows(name, tested, alpha=alpha, least=least)
    return pd.DataFrame(rows)


def paired_test(data: xr.Dataset) -> xr.Dataset:
    """Add ``p`` and ``p_corrected`` (Holm over heads) of no change to paired differences.

    Parameters
    ----------
    data
        Dataset with the sums of differences by bucket of documents, dims layer, head, …
    """
    dims = ("layer", "head", *label_dims(data))
    sums, counts = (data[key].transpose(*dims, "bucket").values for key in ("sum", "count"))
    p = ratio(sums, counts).p_differs()
    return (
        data[["mean", "deviation", "n"]]
        .transpose(*dims)
        .assign(p=(dims, p), p_corrected=(dims, correct(p, "holm", axis=(0, 1))))
        .assign_attrs(data.attrs)
    )
