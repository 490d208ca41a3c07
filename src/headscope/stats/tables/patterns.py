"""Pattern classes (Kovaleva et al. 2019, section 4.1): their shares, and F1 against labelled maps.

The maps of one head resemble each other, so intervals of F1 resample heads, not maps.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.results.atlas import measure_data
from headscope.stats.grid import head_frame
from headscope.stats.inference.bootstrap import percentiles, resampled
from headscope.stats.inference.documents import interval

MEASURE = "pattern"
HETEROGENEOUS = {"MRPC": 0.32, "QQP": 0.61}
"""The smallest and the largest share of heterogeneous maps among the GLUE tasks, by the paper."""


def pattern_data(results: Atlas) -> xr.Dataset:
    """The measure ``pattern`` of results.

    Parameters
    ----------
    results
        Results of a survey.

    Raises
    ------
    ResultsError
        If the results have no pattern classes, or of no example.
    """
    there = ", ".join(results.measures) or "no measure at all"
    how = 'survey with patterns: hs.survey(model, corpus, measures="pattern")'
    data = measure_data(results, MEASURE, f"have no pattern classes; they have {there}", how)
    if not int(data["n"].max()):
        raise ResultsError(
            "these results have pattern classes of no example: all examples were skipped",
            hint="atlas.provenance says why; use another corpus",
            command="headscope ls RESULTS says why; use another corpus",
        )
    return data


def pattern_shares(results: Atlas) -> pd.DataFrame:
    """The share of each class among all maps: every head on every example.

    Parameters
    ----------
    results
        Results with the measure ``pattern``.

    Returns
    -------
    pandas.DataFrame
        One row per class, with the 95 % interval over documents.
    """
    return _shares(pattern_data(results), ("layer", "head"))


def pattern_layers(results: Atlas) -> pd.DataFrame:
    """The share of each class among the maps of each layer.

    Parameters
    ----------
    results
        Results with the measure ``pattern``.

    Returns
    -------
    pandas.DataFrame
        One row per layer and class, with the 95 % interval over documents.
    """
    return _shares(pattern_data(results), ("head",))


def pattern_heads(results: Atlas) -> pd.DataFrame:
    """The share of inputs on which the map of each head is of each class.

    Parameters
    ----------
    results
        Results with the measure ``pattern``.

    Returns
    -------
    pandas.DataFrame
        One row per head and class, with its 95 % interval over documents.
    """
    data = pattern_data(results)
    names = {"mean": "share", "n": "examples"}
    return head_frame(data[["mean", "low", "high", "n"]].rename(names))


def leading_patterns(results: Atlas) -> pd.DataFrame:
    """The class that the maps of each head are of most often.

    Parameters
    ----------
    results
        Results with the measure ``pattern``.

    Returns
    -------
    pandas.DataFrame
        One row per head, with share and interval; of equally frequent classes the first. Heads
        without any map are skipped.
    """
    known = pattern_heads(results).dropna(subset="share")
    best = known.groupby(["layer", "head"], sort=True)["share"].idxmax()
    return known.loc[best].reset_index(drop=True)


def shares_by_file(files: Mapping[str, Atlas]) -> pd.DataFrame:
    """The shares of several results, one task next to the other as in Figure 2.

    Parameters
    ----------
    files
        Results by name.

    Returns
    -------
    pandas.DataFrame
        One row per file and class.
    """
    tables = [pattern_shares(results).assign(file=name) for name, results in files.items()]
    columns = ["file", MEASURE, "share", "low", "high", "examples"]
    return pd.concat(tables, ignore_index=True)[columns]


def class_layers(results: Atlas) -> pd.DataFrame:
    """The share of each class among the maps of each layer, one column per class."""
    layers = pattern_layers(results)
    wide = layers.pivot(index="layer", columns=MEASURE, values="share")
    return wide[list(dict.fromkeys(layers[MEASURE]))].reset_index()


def class_heads(results: Atlas, *, most: int = 10) -> pd.DataFrame:
    """How many heads each class leads, and which: the surest first, as many as ``most``."""
    order = ["share", "layer", "head"]
    heads = leading_patterns(results).sort_values(order, ascending=[False, True, True])
    rows = [
        {
            "leading class": str(name),
            "heads": len(group),
            "which, the surest first": ", ".join(group["name"].head(most))
            + " …" * (len(group) > most),
        }
        for name, group in heads.groupby(MEASURE, sort=False)
    ]
    return pd.DataFrame(rows)


def _shares(data: xr.Dataset, over: tuple[str, ...]) -> pd.DataFrame:
    sums, counts = data["sum"].sum(over), data["count"].sum(over)
    share = sums.sum("bucket") / counts.sum("bucket").where(counts.sum("bucket") > 0)
    low, high = interval(sums, counts, "share")
    examples = data["n"].max(over)
    shares = xr.Dataset({"share": share, "low": low, "high": high, "examples": examples})
    return shares.reset_coords(drop=True).to_dataframe().reset_index()


LENGTHS = (32, 64, 96, 112, 128)
"""The last length of each bin."""
RESAMPLES = 4000
HEAD = ("model", "layer", "head")


def length_bin(length: int) -> str:
    """The bin of a number of tokens.

    >>> length_bin(8), length_bin(64), length_bin(65), length_bin(300)
    ('1–32', '33–64', '65–96', 'over 128')
    """
    for before, last in itertools.pairwise((0, *LENGTHS)):
        if length <= last:
            return f"{before + 1}–{last}"
    return f"over {LENGTHS[-1]}"


def _place(group: str) -> tuple[float, str]:
    """Ranges by their first number, names after them."""
    first = group.split("–")[0]
    return (float(first) if first.isdigit() else np.inf, group)


def class_f1(confusion: NDArray[Any]) -> NDArray[np.float64]:
    """The F1 of each class from confusion matrices.

    Parameters
    ----------
    confusion
        (..., label, prediction): how many maps, or how often they were drawn.

    Returns
    -------
    numpy.ndarray
        (..., class); NaN where a class is neither a label nor a prediction.

    Examples
    --------
    >>> class_f1(np.array([[3, 1, 0], [1, 5, 0], [0, 0, 0]])).round(3).tolist()
    [0.75, 0.833, nan]
    """
    counts = np.asarray(confusion, np.float64)
    right = np.diagonal(counts, axis1=-2, axis2=-1)
    both = counts.sum(-1) + counts.sum(-2)
    scores: NDArray[np.float64] = np.full(both.shape, np.nan)
    np.divide(2 * right, both, out=scores, where=both > 0)
    return scores


def macro_f1(confusion: NDArray[Any]) -> NDArray[np.float64]:
    """F1 averaged over the classes that occur among the labels.

    A class that is predicted but never a label counts against the classes that it was predicted
    for, not as a class of its own.

    Parameters
    ----------
    confusion
        (..., label, prediction).

    Examples
    --------
    >>> float(macro_f1(np.array([[3, 1, 0], [1, 5, 0], [0, 0, 0]])).round(3))
    0.792
    """
    counts = np.asarray(confusion, np.float64)
    present = counts.sum(-1) > 0
    scores = np.where(present, np.nan_to_num(class_f1(counts)), 0.0).sum(-1)
    number = present.sum(-1)
    mean: NDArray[np.float64] = np.full(number.shape, np.nan)
    np.divide(scores, number, out=mean, where=number > 0)
    return mean


def head_confusions(
    gold: Sequence[str], predicted: Sequence[str], heads: Sequence[object], classes: Sequence[str]
) -> NDArray[np.float64]:
    """One confusion matrix per head, (head, label, prediction).

    Parameters
    ----------
    gold, predicted
        The label and the prediction of each map.
    heads
        Which head each map is of.
    classes
        The names of the classes, in order.

    Examples
    --------
    >>> head_confusions(["a", "b", "a"], ["a", "a", "a"], [1, 1, 2], ["a", "b"]).tolist()
    [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]]
    """
    rows = {head: number for number, head in enumerate(dict.fromkeys(heads))}
    places = {name: number for number, name in enumerate(classes)}
    counts = np.zeros((len(rows), len(classes), len(classes)))
    for label, guess, head in zip(gold, predicted, heads, strict=True):
        counts[rows[head], places[label], places[guess]] += 1
    return counts


def class_scores(
    confusions: NDArray[np.float64],
    classes: Sequence[str],
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> pd.DataFrame:
    """The F1 of each class and their mean, with 95 % intervals over heads.

    Parameters
    ----------
    confusions
        From :func:`head_confusions`.
    classes
        The names of the classes.
    seed, resamples
        Of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        One row per class and a last one, ``mean``: f1, low, high, maps.

    Examples
    --------
    >>> confusions = head_confusions(["a", "b"] * 20, ["a", "b"] * 20, range(40), ["a", "b"])
    >>> class_scores(confusions, ["a", "b"], seed=0, resamples=50)["low"].tolist()
    [1.0, 1.0, 1.0]
    """
    total = confusions.sum(0)

    def drawn_with(counts: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.einsum("rh,hij->rij", counts, confusions))

    drawn = resampled(drawn_with, len(confusions), resamples, seed)
    scores = np.concatenate([class_f1(drawn), macro_f1(drawn)[:, None]], axis=1)
    low, high = percentiles(scores)
    return pd.DataFrame(
        {
            "class": [*classes, "mean"],
            "f1": [*class_f1(total), float(macro_f1(total))],
            "low": low,
            "high": high,
            "maps": [*total.sum(1).astype(int), int(total.sum())],
        }
    )


def scores_by(
    gold: Sequence[str],
    predicted: Sequence[str],
    known: Sequence[Mapping[str, str]],
    groups: Sequence[str],
    classes: Sequence[str],
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> pd.DataFrame:
    """Macro-F1 and accuracy of the maps of each group, with intervals over heads.

    Parameters
    ----------
    gold, predicted
        The label and the prediction of each map.
    known
        Model, layer and head of each map.
    groups
        The group of each map, for example its length.
    classes
        The names of the classes. Those without a map in a group do not enter its mean.
    seed, resamples
        Of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        One row per group, ranges of lengths first: group, f1, low, high, accuracy, maps, heads and
        classes.

    Examples
    --------
    >>> known = [{"model": "m", "layer": "1", "head": str(head)} for head in range(4)]
    >>> found = scores_by("abab", "abbb", known, ["x", "x", "y", "y"], "ab", seed=0, resamples=9)
    >>> found[["group", "accuracy", "maps"]].values.tolist()
    [['x', 1.0, 2], ['y', 0.5, 2]]
    """
    heads = [tuple(row.get(key, "") for key in HEAD) for row in known]
    rows = []
    for name in sorted(set(groups), key=_place):
        chosen = [index for index, group in enumerate(groups) if group == name]
        confusions = head_confusions(
            [gold[index] for index in chosen],
            [predicted[index] for index in chosen],
            [heads[index] for index in chosen],
            classes,
        )
        mean = class_scores(confusions, classes, seed=seed, resamples=resamples).iloc[-1]
        total = confusions.sum(0)
        rows.append(
            {
                "group": name,
                "f1": mean["f1"],
                "low": mean["low"],
                "high": mean["high"],
                "accuracy": float(np.trace(total) / total.sum()),
                "maps": int(total.sum()),
                "heads": len(confusions),
                "classes": int((total.sum(1) > 0).sum()),
            }
        )
    return pd.DataFrame(rows)
