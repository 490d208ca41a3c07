"""The best head of each relation against the best fixed offset (Clark et al. 2019, Table 1).

Both are chosen by their score, so both are also scored on words that they were not chosen on. Also:
the heads that attend most along frame links (Kovaleva et al. 2019, section 4.2).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import ResultsError, UserError, unknown
from headscope.heads import Head
from headscope.labels import STANFORD
from headscope.results import Atlas
from headscope.stats.grid import by_head, check_same_heads, heads_over, labelled_head
from headscope.stats.inference.correction import (
    FIRST,
    SECOND,
    Array,
    CrossFit,
    correct,
    cross_fit,
    fit_apart,
    paired_test,
)
from headscope.stats.inference.documents import interval

DEFAULT_DIRECTIONS = ("dependent to head", "head to dependent")
PLACE = ("direction", "layer", "head")
ALL = "all"
"""How the names of groups of relations begin."""
HELD_OUT = "held-out offset right"
"""Labels the words at which the offset that the other half of the corpus chose is right."""
BETWEEN = " | "
"""Stands between what the two halves have chosen, where they differ."""
Counts = tuple[Array, Array]
"""Right answers, and all answers, by bucket."""
LEAST = 20
"""Relations with fewer words are skipped unless they are named."""


def relation_tests(
    results: Atlas, *, directions: Sequence[str] = DEFAULT_DIRECTIONS, correction: str = "holm"
) -> xr.Dataset:
    """Test every head at every relation against the best fixed offset.

    Parameters
    ----------
    results
        Results with the measure ``dependency``.
    directions
        Which way arcs are followed.
    correction
        How p-values are corrected over all heads, directions and relations: holm, bh or none.

    Returns
    -------
    xarray.Dataset
        With dims layer, head, direction and relation: ``accuracy``, ``right`` (how many words),
        ``n``, ``baseline`` (the accuracy of the offset), ``p`` (paired, one-sided, by documents;
        see :func:`headscope.stats.inference.correction.paired_test`) and ``p_corrected``.
    """
    data = results["dependency"].sel(direction=list(directions))
    mine = data["sum"].sel(words="every", drop=True)
    every, offset_right = (
        data["count"].sel(words=words, drop=True) for words in ("every", "offset right")
    )
    p = paired_test(mine, offset_right, every)
    total, n = mine.sum("bucket"), every.sum("bucket")
    return xr.Dataset(
        {
            "accuracy": total / n.where(n > 0),
            "right": total,
            "n": n,
            "baseline": offset_right.sum("bucket") / n.where(n > 0),
            "p": p,
            "p_corrected": (p.dims, correct(p.values, correction)),
        }
    )


def best_heads(
    results: Atlas,
    *,
    relations: Iterable[str] | None = None,
    directions: Sequence[str] = DEFAULT_DIRECTIONS,
    correction: str = "holm",
    least: int | None = None,
    train: Atlas | None = None,
    tests: xr.Dataset | None = None,
) -> pd.DataFrame:
    """The best head and direction of each relation.

    Parameters
    ----------
    results
        Results with the measure ``dependency``.
    relations
        Which relations, by default all of the treebank with enough words, the most frequent first.
    directions, correction
        As in :func:`relation_tests`. The best head is chosen on the same words, so its p is
        corrected over all heads, directions and relations, not over the rows shown.
    least
        Relations with fewer words are skipped unless they are named: by default 20, or in a
        treebank where none has as many, what the most frequent one has.
    train
        Results of the same model on another treebank: heads and offsets are chosen there and
        scored here. Default: they are chosen on each half of the documents of ``results`` and
        scored on the other half.
    tests
        What :func:`relation_tests` returns, if it is known.

    Returns
    -------
    pandas.DataFrame
        One row per relation: words, head, direction, accuracy with its interval (``low`` …
        ``high``, by documents), the accuracy of the best fixed offset (``baseline``) and the
        offset, p and p_corrected. These are of the head that is best on the words it is scored on.
        Beside them, chosen and scored apart: ``held_out`` with its interval, ``held_out_head``,
        ``held_out_baseline`` and ``held_out_offset``. Where the two halves chose differently, both
        are named, separated by " | ", and the number rates the procedure. It is NaN where a half
        has no words of the relation.

    Raises
    ------
    UserError
        If there is no such relation, none has enough words, or ``train`` is of another model.
    """
    if tests is None:
        tests = relation_tests(results, directions=directions, correction=correction)
    directions = list(tests["direction"].values)
    data = results["dependency"].sel(direction=directions)
    _check_held_out(data)
    chooser = None
    if train is not None:
        chooser = train["dependency"].sel(direction=directions)
        check_same_heads(data, chooser)
    offsets: dict[str, int] = json.loads(data.attrs["offsets"])
    answers, trained = Answers.of(data), None if chooser is None else Answers.of(chooser)
    stacked = tests.stack(place=PLACE).transpose("relation", "place")
    columns = {name: stacked[name].values for name in tests.data_vars}
    every, offset_right = _offset_answers(data)
    rows, best, held_out = [], list[Counts](), list[Counts]()
    for name in _chosen(tests, relations, least):
        row = answers.relations[name]
        accuracy = columns["accuracy"][row]
        if np.isnan(accuracy).all():
            continue
        winner = int(np.nanargmax(accuracy))
        direction, layer, head = answers.places[winner]
        right, count = answers.at(name)
        fit = _fit_held_out(answers, trained, name)
        best.append((right[:, winner], count[:, winner]))
        held_out.append((fit.total, fit.count))
        rows.append(
            {
                "relation": name,
                "words": int(columns["n"][row, winner]),
                "head": str(labelled_head(layer, head)),
                "direction": direction,
                "accuracy": float(accuracy[winner]),
                "low": np.nan,
                "high": np.nan,
                "held_out": fit.score,
                "held_out_low": np.nan,
                "held_out_high": np.nan,
                "held_out_head": answers.names(fit.chosen or (), direction),
                "baseline": float(columns["baseline"][row, winner]),
                "offset": offsets.get(name, 0),
                **_held_out_baseline(data, chooser, name, (every[row], offset_right[row])),
                "p": float(columns["p"][row, winner]),
                "p_corrected": float(columns["p_corrected"][row, winner]),
            }
        )
    table = pd.DataFrame(rows)
    for prefix, counts in (("", best), ("held_out_", held_out)):
        if counts:  # all relations at once
            table[f"{prefix}low"], table[f"{prefix}high"] = _intervals(counts)
    return table


@dataclass(frozen=True)
class Answers:
    """Right and all answers of every head at every relation, (bucket, relation, place).

    A place is a direction, a layer and a head.
    """

    right: Array
    count: Array
    relations: dict[str, int]
    places: list[tuple[str, int, int]]

    @classmethod
    def of(cls, data: xr.Dataset) -> Answers:
        """The answers in a survey's results, or in the part of some directions."""
        part = data[["sum", "count"]].sel(words="every").stack(place=PLACE)
        part = part.transpose("bucket", "relation", "place")
        return cls(
            part["sum"].values,
            part["count"].values,
            {str(name): row for row, name in enumerate(part["relation"].values)},
            list(part["place"].values),
        )

    def at(self, relation: str) -> Counts:
        """Those at one relation, (bucket, place)."""
        row = self.relations[relation]
        return self.right[:, row], self.count[:, row]

    def names(self, chosen: Iterable[int], direction: str) -> str:
        """Names of heads, with their direction where it is not the given one."""
        names = []
        for place in chosen:
            way, layer, head = self.places[place]
            names.append(f"{labelled_head(layer, head)}{'' if way == direction else f' ({way})'}")
        return BETWEEN.join(dict.fromkeys(names))


def _check_held_out(data: xr.Dataset) -> None:
    if HELD_OUT not in data["words"].values:
        raise ResultsError(
            "these results do not say which offset each half of the corpus would choose: they were "
            "made by an earlier version of Headscope",
            hint="survey again",
        )


def _fit_held_out(answers: Answers, train: Answers | None, relation: str) -> CrossFit:
    """A head that was chosen on other words."""
    right, count = answers.at(relation)
    if train is None:
        return cross_fit(right, count)
    if relation not in train.relations:
        return CrossFit.nothing(len(right))
    given_right, given_count = train.at(relation)
    return fit_apart(given_right.sum(0), given_count.sum(0), right, count)


def _intervals(counts: Sequence[Counts]) -> tuple[Array, Array]:
    """The ends of the intervals of several shares, each given by its answers by bucket."""
    right, number = (
        xr.DataArray(np.stack(values, 1), dims=("bucket", "row"))
        for values in zip(*counts, strict=True)
    )
    low, high = interval(right, number, "share")
    return low.values, high.values


def _offset_answers(data: xr.Dataset) -> tuple[Array, Array]:
    """All words, and those where an offset chosen on the other half is right: (relation, bucket).

    They are the same for all heads and both directions.
    """
    part = data["count"].isel(layer=0, head=0, direction=0).transpose("words", "relation", "bucket")
    every, right = part.sel(words=["every", HELD_OUT]).values
    return every, right


def _held_out_baseline(
    data: xr.Dataset, train: xr.Dataset | None, relation: str, words: tuple[Array, Array]
) -> dict[str, object]:
    """The accuracy of an offset that was chosen on other words, and the offset.

    ``words`` are those of the relation, and those at which such an offset is right, by bucket.
    """
    if train is not None:
        offsets: dict[str, int] = json.loads(train.attrs["offsets"])
        counts: dict[str, int] = json.loads(data.attrs["offset_counts"]).get(relation, {})
        if relation not in offsets or not counts:
            return {"held_out_baseline": np.nan, "held_out_offset": ""}
        share = counts.get(str(offsets[relation]), 0) / sum(counts.values())
        return {"held_out_baseline": share, "held_out_offset": str(offsets[relation])}
    every, right = words
    if not (every[FIRST].sum() and every[SECOND].sum()):
        return {"held_out_baseline": np.nan, "held_out_offset": ""}
    halves: list[int] = json.loads(data.attrs["half_offsets"])[relation]
    return {
        "held_out_baseline": float(right.sum() / every.sum()),
        "held_out_offset": BETWEEN.join(dict.fromkeys(map(str, halves))),
    }


def _chosen(tests: xr.Dataset, relations: Iterable[str] | None, least: int | None) -> list[str]:
    """The relations to show: those that were named, or all with enough words."""
    known = [str(name) for name in tests["relation"].values]
    if relations is not None:
        chosen = list(relations)
        for name in chosen:
            if name not in known:
                raise unknown("relation", name, known)
    else:
        counts = tests["n"].isel(direction=0, layer=0, head=0).values
        words = {name: int(count) for name, count in zip(known, counts, strict=True)}
        fewest = least if least is not None else max(1, min(LEAST, max(words.values())))
        chosen = [name for name in known if words[name] >= fewest and not name.endswith(STANFORD)]
        chosen.sort(key=lambda name: (not name.startswith(ALL), -words[name], name))
    if not chosen:
        raise UserError(
            "no relation has enough words",
            hint="use a larger treebank, or accept fewer words per relation: least=5",
        )
    return chosen


PERCENTILE = 99.0
"""Of the means of all heads, as in the paper."""


def outstanding(values: xr.DataArray, percentile: float = PERCENTILE) -> tuple[float, list[Head]]:
    """The heads over a percentile of all heads.

    Parameters
    ----------
    values
        One value per head, with dims layer and head; NaN where it is not defined.
    percentile
        Between 0 and 100.

    Returns
    -------
    float
        The percentile of the values; NaN where none is defined.
    list of Head
        The heads over it, the largest first.

    Raises
    ------
    UserError
        If the percentile is not between 0 and 100.

    Examples
    --------
    >>> grid = xr.DataArray([[0.1, 0.2, 0.9]], {"layer": [1], "head": [1, 2, 3]}, ("layer", "head"))
    >>> threshold, heads = outstanding(grid, 50)
    >>> threshold, [str(head) for head in heads]
    (0.2, ['1-3'])
    """
    if not 0 <= percentile <= 100:
        raise UserError(
            f"the percentile must be between 0 and 100, got {percentile} instead",
            hint=f"the paper's is {PERCENTILE:g}",
        )
    known = values.values[np.isfinite(values.values)]
    threshold = float(np.percentile(known, percentile)) if known.size else float("nan")
    return threshold, heads_over(values, threshold)


def frame_table(
    results: Atlas, *, direction: str = "both", percentile: float = PERCENTILE, top: int = 10
) -> pd.DataFrame:
    """The heads that attend most along frame links.

    Parameters
    ----------
    results
        Results with the measure ``frame``.
    direction
        Which way of a link heads are sorted by: both, target to element, or element to target.
    percentile
        Heads over this percentile of all heads are marked.
    top
        How many heads to show.

    Returns
    -------
    pandas.DataFrame
        One row per head, the largest mean first: mean with interval, the means of the other
        directions, the percentile, whether the head is over it, and the number of sentences.

    Raises
    ------
    UserError
        If there is no such direction.
    """
    data = results["frame"]
    directions = [str(name) for name in data["direction"].values]
    if direction not in directions:
        raise unknown("direction", direction, directions)
    threshold, over = outstanding(data["mean"].sel(direction=direction), percentile)
    others = [name for name in directions if name != direction]
    mine = by_head(data.sel(direction=direction), "mean", "low", "high", "n")
    means = by_head(data["mean"].to_dataset("direction"), *others)
    rows = []
    for (head, (mean, low, high, n)), (_, rest) in zip(mine, means, strict=True):
        row = {"head": head, "mean": mean, "low": low, "high": high}
        row |= zip(others, rest, strict=True)
        row |= {"percentile": threshold, "over": Head.parse(head) in over, "sentences": int(n)}
        rows.append(row)
    table = pd.DataFrame(rows).dropna(subset="mean")
    ordered = table.sort_values("mean", ascending=False, kind="stable")
    shown = ordered.head(top).reset_index(drop=True)
    shown.attrs["percent"] = f"{percentile:g}"
    return shown
