"""What stands out in a survey: the strongest head of each statistic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from headscope.heads import Head
from headscope.labels import label_text, map_measure
from headscope.results.schema import label_dims, of_heads, statistics

if TYPE_CHECKING:
    from headscope.results.atlas import Atlas

MOST = 0.5


def head_name(layer: int, head: int) -> str:
    """A head as people write it, both from 1.

    >>> head_name(8, 10)
    '8-10'
    """
    return str(Head(layer - 1, head - 1))


def heads_over(values: xr.DataArray, threshold: float) -> list[str]:
    """The heads whose value is over a threshold, largest first; equal ones in the model's order."""
    stacked = values.stack(place=("layer", "head"))
    order = stacked.where(stacked > threshold, drop=True).sortby(-stacked)
    return [head_name(int(layer), int(head)) for layer, head in order["place"].values]


def summary(results: Atlas, *, threshold: float = MOST) -> pd.DataFrame:
    """One row per statistic.

    Parameters
    ----------
    results
        The results of a survey.
    threshold
        Heads whose share is over it are counted (statistics that are shares only).

    Returns
    -------
    pandas.DataFrame
        measure, label, statistic (in words), the number of heads, their mean, the strongest head
        with its value and interval, how many heads are over the threshold, and n. Statistics that
        are defined for no head are left out.
    """
    rows, tokens = [], _tokens(results)
    for name in results.listed:
        dataset = results[name]
        if not of_heads(dataset):
            continue
        values, own = statistics(dataset), label_dims(dataset)
        places = values["value"].stack(label=own)["label"].values if own else [()]
        for place in places:
            labels = dict(zip(own, place, strict=True))
            if says_the_same(name, values["value"], labels):
                continue
            rows.append(_row(name, values.sel(labels), labels, threshold, tokens))
    return pd.DataFrame([row for row in rows if row is not None])


def says_the_same(measure: str, values: xr.DataArray, labels: Mapping[str, object]) -> bool:
    """Whether a statistic repeats another, so that tables leave it out.

    In a model without [SEP], attention "from tokens other than [SEP]" is attention from all.

    Parameters
    ----------
    measure, labels
        What the statistic is.
    values
        All values of the measure.

    Examples
    --------
    >>> values = xr.DataArray([0.2, np.nan, 0.2], {"row": ["all", "sep", "other"]}, ("row",))
    >>> says_the_same("special", values, {"row": "other"})
    True
    """
    if map_measure(measure) != "special" or labels.get("row") != "other":
        return False
    return bool(values.sel(row="sep").isnull().all())


def _tokens(results: Atlas) -> dict[str, str]:
    """What the model calls its start token and its separator, as labels name them."""
    names = results.provenance.get("model", {}).get("tokens", {})
    if not isinstance(names, dict):  # two models
        return {}
    known = {"cls": names.get("start"), "sep": names.get("separator")}
    return {label: str(name) for label, name in known.items() if name}


def _row(
    measure: str,
    dataset: xr.Dataset,
    labels: dict[str, object],
    threshold: float,
    tokens: dict[str, str],
) -> dict[str, object] | None:
    means = dataset["value"].transpose("layer", "head").values
    if np.isnan(means).all():
        return None
    layer, head = np.unravel_index(int(np.nanargmax(means)), means.shape)
    best = dataset.isel(layer=int(layer), head=int(head))
    strongest = head_name(int(best["layer"]), int(best["head"]))
    names = {dim: str(label) for dim, label in labels.items()}
    attributes = {str(key): str(text) for key, text in dataset.attrs.items()}
    share = attributes.get("unit", "").startswith("share")
    return {
        "measure": measure,
        "label": ", ".join(names.values()),
        "statistic": label_text(measure, names, attributes, tokens=tokens),
        "heads": means.size,
        "mean": float(np.nanmean(means)),
        "strongest": strongest,
        "value": float(best["value"]),
        "low": float(best["low"]),
        "high": float(best["high"]),
        "over": int((means > threshold).sum()) if share else None,
        "n": int(dataset["count"].max()),
    }
