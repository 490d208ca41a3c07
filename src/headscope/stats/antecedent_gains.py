"""How much better than a baseline a head finds antecedents, with intervals by documents.

The head is chosen on other mentions than it is scored on (see
:func:`headscope.stats.antecedent_scores`).
"""

from __future__ import annotations

import pandas as pd
import xarray as xr

from headscope.errors import unknown
from headscope.results import Atlas
from headscope.results.moments import left_out
from headscope.stats.antecedents import RIGHT, AntecedentAnswers
from headscope.stats.inference import interval


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
    found = _differences(results, baseline)
    if found is None:
        return pd.DataFrame(columns=["gain", "low", "high"])
    difference, count = found
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
    found = _differences(results, baseline)
    if found is None:
        return pd.DataFrame(columns=["difference", "low", "high"])
    difference, count = found
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
