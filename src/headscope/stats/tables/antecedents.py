"""Antecedent accuracy of the best head against three baselines (Clark et al. 2019, Table 2).

Mentions of one document are alike, so intervals and tests are by documents. The head is chosen by
its score, so it is also scored on mentions that it was not chosen on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import unknown
from headscope.results import Atlas
from headscope.results.moments import left_out
from headscope.stats.grid import check_same_heads, labelled_head
from headscope.stats.inference.correction import (
    best_choice,
    correct,
    cross_fit,
    fit_apart,
    paired_test,
)
from headscope.stats.inference.documents import interval

RIGHT = " right"
"""How the labels end that stand for the mentions a baseline gets right."""
UNKNOWN = "unknown"
"""The kind of mentions whose type is not known."""
MENTIONS = "mentions"
HELD_OUT = "held out: "
"""How the name of the head begins that was chosen on other mentions."""
BETWEEN = " | "
HEADS = ("layer", "head")


def antecedent_scores(
    results: Atlas,
    *,
    candidates: str = "mentions",
    correction: str = "holm",
    train: Atlas | None = None,
) -> pd.DataFrame:
    """Score the baselines and the best head at finding antecedents, by kind of mention.

    Parameters
    ----------
    results
        Results with the measure ``coreference``.
    candidates
        Where a head may look for an antecedent: ``mentions`` (the head words of earlier mentions)
        or ``words`` (all other words).
    correction
        How p-values of the best head are corrected over all heads: holm, bh or none.
    train
        Results of the same model on other documents: the head is chosen there and scored here.
        Default: it is chosen on each half of the documents and scored on the other half.

    Returns
    -------
    pandas.DataFrame
        One row per system and kind of mention. Systems are the baselines; the head that is right
        most often over all mentions (``head 3-10``); and the head that was chosen on other mentions
        (``held out: head 3-10``, or both heads if the halves chose differently). Columns:
        ``mentions``, ``accuracy`` with its interval ``low`` … ``high``, and for heads the p of a
        one-sided, paired test against each baseline (``p over rules``). Intervals and tests are by
        documents; p is never below that of the exact test on single mentions, and corrected over
        all heads only for the head that was chosen on the same mentions. Mentions of no known type
        are counted as ``unknown``, if there are any.

    Raises
    ------
    UserError
        If ``train`` is of another model.
    """
    answers = AntecedentAnswers(results["coreference"].sel(candidates=candidates))
    chooser = None
    if train is not None:
        chooser = AntecedentAnswers(train["coreference"].sel(candidates=candidates))
        check_same_heads(answers.data, chooser.data)
    rows = [
        {"system": name.removesuffix(RIGHT), **row}
        for name in answers.baselines
        for row in answers.rows(answers.count.sel(mentions=name))
    ]
    best = best_choice(*answers.by_head())
    if best is not None:
        right = answers.right.isel(place=best)
        p = answers.tests(answers.right, correction).isel(place=best)
        named = f"head {answers.name(best)}"
        rows += [{"system": named, **row} for row in answers.rows(right.sel(mentions="every"), p)]
        rows += _held_out_rows(answers, chooser)
    return pd.DataFrame(rows)


def antecedent_table(
    results: Atlas,
    *,
    candidates: str = "mentions",
    correction: str = "holm",
    train: Atlas | None = None,
) -> pd.DataFrame:
    """Compare the best head at finding antecedents with the baselines.

    Parameters
    ----------
    results, candidates, correction, train
        As in :func:`antecedent_scores`, which has an interval for each kind of mention.

    Returns
    -------
    pandas.DataFrame
        One row per baseline, one for the head that is right most often over all mentions, one for
        the head that was chosen on other mentions, and one with the number of mentions; one column
        per kind of mention. Over all mentions, each has its interval and each head the p of a test
        against each baseline.
    """
    return table_of_scores(
        antecedent_scores(results, candidates=candidates, correction=correction, train=train)
    )


def table_of_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """What :func:`antecedent_table` returns, from what :func:`antecedent_scores` returns."""
    kinds = list(dict.fromkeys(scores["kind"]))
    tests = [name for name in scores.columns if name.startswith("p over ")]
    rows: list[dict[str, object]] = []
    for system, part in scores.groupby("system", sort=False):
        by_kind = part.set_index("kind")
        accuracy = {kind: by_kind.loc[kind, "accuracy"] for kind in kinds}
        every = {name: by_kind.loc["all", name] for name in ("low", "high", *tests)}
        rows.append({"system": system, **accuracy, **every})
    first = scores.drop_duplicates("kind").set_index("kind")["mentions"]
    counts = {kind: int(first[kind]) for kind in kinds}
    return pd.DataFrame([*rows, {"system": MENTIONS, **counts}])


@dataclass
class AntecedentAnswers:
    """Right and all answers by bucket, place (layer and head), kind and mentions."""

    data: xr.Dataset

    def __post_init__(self) -> None:
        data = _with_unknown(self.data[["sum", "count"]])
        self.right = data["sum"].stack(place=HEADS)
        self.count = data["count"].isel(layer=0, head=0, drop=True)  # the same for all heads
        self.kinds = [str(kind) for kind in data["kind"].values]
        self.baselines = [str(name) for name in data["mentions"].values if name != "every"]

    @cached_property
    def every(self) -> xr.DataArray:
        """All mentions, by bucket and kind."""
        return self.count.sel(mentions="every")

    def by_bucket(self) -> tuple[np.ndarray, np.ndarray]:
        """Right answers over all mentions, and their number, (bucket, place)."""
        right = self.right.sel(kind="all", mentions="every").transpose("bucket", "place").values
        count = self.every.sel(kind="all").values[:, None]
        return right, np.broadcast_to(count, right.shape)

    def by_head(self) -> tuple[np.ndarray, np.ndarray]:
        """Right answers over all mentions, and their number, (place,)."""
        right, count = self.by_bucket()
        return right.sum(0), count.sum(0)

    def name(self, place: int) -> str:
        """The name of a head."""
        return str(labelled_head(*self.right["place"].values[place]))

    def chosen_apart(
        self, train: AntecedentAnswers | None = None
    ) -> tuple[str, xr.DataArray] | None:
        """The head that was chosen on other mentions, and its right answers.

        Parameters
        ----------
        train
            The answers to choose on. Default: each half of these is chosen on the other half.

        Returns
        -------
        tuple of str and xarray.DataArray
            The head, or both if the halves chose differently, and the right answers by bucket, kind
            and mentions; None if there are too few documents to choose on.
        """
        right, count = self.by_bucket()
        if train is None:
            fit = cross_fit(right, count)
        else:
            fit = fit_apart(*train.by_head(), right, count)
        if fit.chosen is None:
            return None
        first, second = fit.chosen  # each is scored where the other half's documents are
        in_first = xr.DataArray(np.arange(len(right)) % 2 == 0, dims="bucket")
        scored = self.right.isel(place=second, drop=True)
        mine = scored.where(in_first, self.right.isel(place=first, drop=True))
        return BETWEEN.join(dict.fromkeys((self.name(first), self.name(second)))), mine

    def tests(self, right: xr.DataArray, correction: str = "none") -> xr.DataArray:
        """p of heads against each baseline: (…, kind, mentions).

        Parameters
        ----------
        right
            Right answers by bucket, kind and mentions, and by place where there are several heads.
        correction
            Over places.
        """
        mine, its = right.sel(mentions="every", drop=True), self.count.sel(mentions=self.baselines)
        p = paired_test(mine, its, self.every)
        if "place" not in p.dims:
            return p
        return p.copy(data=correct(p.values, correction, axis=p.get_axis_num("place")))

    def rows(self, right: xr.DataArray, p: xr.DataArray | None = None) -> list[dict[str, object]]:
        """One row per kind: accuracy and interval of a system with these right answers."""
        order = ("bucket", "kind")
        right, every = right.transpose(*order), self.every.transpose(*order)
        low, high = (bound.values for bound in interval(right, every, "share"))
        totals, counts = right.values.sum(0), every.values.sum(0)
        tests = None if p is None else p.sel(mentions=self.baselines).transpose("kind", "mentions")
        rows = []
        for place, kind in enumerate(self.kinds):
            count = int(counts[place])
            row: dict[str, object] = {
                "kind": kind,
                "mentions": count,
                "accuracy": float(totals[place]) / count if count else np.nan,
                "low": float(low[place]),
                "high": float(high[place]),
            }
            if tests is not None:
                names = (f"p over {name.removesuffix(RIGHT)}" for name in self.baselines)
                row |= zip(names, tests.values[place].tolist(), strict=True)
            rows.append(row)
        return rows


def _held_out_rows(
    answers: AntecedentAnswers, train: AntecedentAnswers | None
) -> list[dict[str, object]]:
    """The rows of a head that was chosen on other mentions; NaN if it cannot be chosen."""
    chosen = answers.chosen_apart(train)
    if chosen is None:
        none = answers.rows(answers.every * np.nan)
        return [{"system": f"{HELD_OUT}too few documents to choose on", **row} for row in none]
    names, mine = chosen
    rows = answers.rows(mine.sel(mentions="every"), answers.tests(mine))
    return [{"system": f"{HELD_OUT}head {names}", **row} for row in rows]


def _with_unknown(data: xr.Dataset) -> xr.Dataset:
    """The same with mentions of no known type as a kind of their own, if there are any."""
    known = data.sel(kind=[kind for kind in data["kind"].values if kind != "all"]).sum("kind")
    rest = data.sel(kind="all", drop=True) - known
    if not bool((rest["count"].sum("bucket") > 0).any()):
        return data
    return xr.concat([data, rest.expand_dims(kind=[UNKNOWN])], dim="kind")


def antecedent_gains(results: Atlas, *, baseline: str) -> pd.DataFrame:
    """The gain of the head that was chosen apart over a baseline, by kind of mention.

    Parameters
    ----------
    results
        Results with the measure ``coreference``.
    baseline
        The baseline: ``nearest``, ``same head word`` or ``rules``.

    Returns
    -------
    pandas.DataFrame
        One row per kind of mention: ``gain``, the difference of the two shares of right answers,
        with its 95 % interval ``low`` … ``high``. Empty if there are too few documents to choose a
        head on.

    Raises
    ------
    UserError
        If there is no such baseline.
    """
    compared = _differences(results, baseline)
    if compared is None:
        return pd.DataFrame(columns=["gain", "low", "high"])
    difference, count = compared
    total = count.sum("bucket")
    gain = difference.sum("bucket") / total.where(total > 0)
    low, high = interval(difference, count)
    columns = {"gain": gain, "low": low, "high": high}
    kinds = pd.Index(gain["kind"].values, name="kind")
    return pd.DataFrame({name: values.values for name, values in columns.items()}, index=kinds)


def gain_differences(results: Atlas, *, baseline: str, kind: str) -> pd.DataFrame:
    """How much more is gained over a baseline for one kind of mention than for the others.

    Parameters
    ----------
    results, baseline
        As in :func:`antecedent_gains`.
    kind
        The kind of mention: ``pronoun``, ``proper`` or ``nominal``.

    Returns
    -------
    pandas.DataFrame
        One row per other kind: the ``difference`` of the two gains with its 95 % interval ``low`` …
        ``high``, by leaving out one bucket of documents after the other.
    """
    compared = _differences(results, baseline)
    if compared is None:
        return pd.DataFrame(columns=["difference", "low", "high"])
    difference, count = compared
    others = [name for name in difference["kind"].values if name not in (kind, "all")]
    contrast = _contrast(difference.sum("bucket"), count.sum("bucket"), kind, others)
    sums, counts = difference.sum("bucket") - difference, count.sum("bucket") - count
    moved = _contrast(sums, counts, kind, others) - contrast
    documents = count.sel(kind="all").values
    gained = left_out(contrast.values, moved.transpose(..., "bucket").values, documents)
    low, high = gained.interval()
    columns = {"difference": gained.value, "low": low, "high": high}
    return pd.DataFrame(columns, index=pd.Index(others, name="kind"))


def _differences(results: Atlas, baseline: str) -> tuple[xr.DataArray, xr.DataArray] | None:
    """By bucket and kind: right answers of the head minus the baseline's, and all mentions."""
    answers = AntecedentAnswers(results["coreference"].sel(candidates="mentions"))
    known = [name.removesuffix(RIGHT) for name in answers.baselines]
    if baseline not in known:
        raise unknown("baseline", baseline, known)
    chosen = answers.chosen_apart()
    if chosen is None:
        return None
    _, mine = chosen
    its = answers.count.sel(mentions=f"{baseline}{RIGHT}", drop=True)
    return mine.sel(mentions="every", drop=True) - its, answers.every.drop_vars("mentions")


def _contrast(
    sums: xr.DataArray, counts: xr.DataArray, kind: str, others: list[str]
) -> xr.DataArray:
    """The gain of a kind minus that of each other kind."""
    gains = sums / counts.where(counts > 0)
    contrast: xr.DataArray = gains.sel(kind=kind, drop=True) - gains.sel(kind=others)
    return contrast
