"""The statistics of a survey as tables for readers: labels in plain words, numbers with units."""

from __future__ import annotations

from itertools import product
from typing import Any

import xarray as xr

from headscope.figures.tidy import is_share
from headscope.labels import label_text
from headscope.numbers import MISSING, clip_share, interval, number, share
from headscope.page.document import Row, missing, records
from headscope.results import Atlas, summary
from headscope.results.schema import label_dims
from headscope.stats import antecedent_table, best_heads


def statistic_names(measure: str, data: xr.Dataset) -> dict[str, str]:
    """Name every statistic of a measure in plain words.

    Parameters
    ----------
    measure : str
        The measure's name.
    data : Dataset
        Its dataset.

    Returns
    -------
    dict of str to str
        By the label that tables of results have ("cls, sep"): the words.

    Examples
    --------
    >>> labels = {"layer": [1], "head": [1], "offset": ["previous", "next"]}
    >>> data = xr.Dataset({"mean": (("layer", "head", "offset"), [[[0.1, 0.2]]])}, labels)
    >>> statistic_names("position", data)["previous"]
    'attention to the previous token'
    """
    dims = label_dims(data)
    values = [[str(value) for value in data[dim].values] for dim in dims]
    return {
        ", ".join(labels): label_text(measure, dict(zip(dims, labels, strict=True)), data.attrs)
        for labels in product(*values)
    }


def unit_in_brackets(unit: str) -> str:
    """Write a unit behind a statistic's name: the range of a share, or the unit itself.

    Examples
    --------
    >>> unit_in_brackets("share of attention"), unit_in_brackets("nats"), unit_in_brackets("")
    (' (0–1)', ' (nats)', '')
    >>> unit_in_brackets("times uniform attention")
    ' (times uniform)'
    """
    if is_share(unit):
        return " (0–1)"
    return f" ({unit.removesuffix(' attention')})" if unit else ""


def _unit(results: Atlas, measure: str) -> str:
    return str(results[measure].attrs.get("unit", ""))


def _names(results: Atlas) -> dict[tuple[str, str], str]:
    """Name every listed statistic, with its unit, by measure and label."""
    names = {}
    for measure in results.listed:
        unit = unit_in_brackets(_unit(results, measure))
        for label, words in statistic_names(measure, results[measure]).items():
            names[measure, label] = f"{words}{unit}"
    return names


def summary_rows(results: Atlas) -> list[Row]:
    """Return one row per statistic: its mean over heads, and the strongest head.

    Parameters
    ----------
    results : Atlas
        Results of a survey.

    Returns
    -------
    list of dict
        The interval of a share lies between 0 and 1.
    """
    rows = []
    for row in records(summary(results)):
        unit = _unit(results, row["measure"])
        shares = is_share(unit)
        form = share if shares else number
        low, high = clip_share(row["low"], row["high"]) if shares else (row["low"], row["high"])
        rows.append(
            {
                "statistic": f"{row['statistic']}{unit_in_brackets(unit)}",
                "mean over heads": form(row["mean"]),
                "strongest head": row["strongest"],
                "its mean": form(row["value"]),
                "95 % interval": interval(low, high, form=form),
                "heads above 0.5": None if missing(row["over"]) else int(row["over"]),
                "examples": int(row["n"]),
            }
        )
    return rows


def head_rows(results: Atlas) -> list[Row]:
    """Return one row per head and one column per statistic: the table to look up a head.

    Parameters
    ----------
    results : Atlas
        Results of a survey.

    Returns
    -------
    list of dict
        Means over examples.
    """
    names = _names(results)
    table = results.table()
    table = table[table["measure"].isin(results.listed)]
    pairs = zip(table["measure"], table["label"], strict=True)
    table = table.assign(column=[names[pair] for pair in pairs])
    columns = list(dict.fromkeys(table["column"]))
    wide = table.pivot(index=["layer", "head"], columns="column", values="mean")[columns]
    rows: list[Row] = []
    for (layer, head), values in zip(wide.index, wide.to_numpy(), strict=True):
        cells = dict(zip(columns, map(float, values), strict=True))
        rows.append({"head": f"{layer}-{head}", **cells})
    return rows


def dependency_rows(results: Atlas) -> list[Row]:
    """Return one row per dependency relation: its best head against the best fixed offset."""
    return [
        {
            "relation": row["relation"],
            "words": row["words"],
            "best head": row["head"],
            "direction": row["direction"],
            "accuracy (0–1)": share(row["accuracy"]),
            "95 % interval": interval(row["low"], row["high"], form=share),
            "held out": share(row["held_out"]),
            "held-out head": row["held_out_head"] or MISSING,
            "best offset": f"{row['offset']:+d}",
            "its accuracy": share(row["baseline"]),
            "its accuracy held out": share(row["held_out_baseline"]),
            "p": row["p"],
            "p corrected": row["p_corrected"],
        }
        for row in records(best_heads(results))
    ]


def antecedent_rows(results: Atlas) -> list[Row]:
    """Return the accuracy of the baselines and of the best head at finding antecedents.

    The last row counts mentions: its numbers are integers.
    """
    rows = []
    for row in records(antecedent_table(results)):
        shown: dict[str, Any] = {}
        for name, value in row.items():
            if name == "low":
                shown["95 % interval"] = interval(value, row["high"], form=share)
            elif name != "high":
                whole = row["system"] == "mentions" and isinstance(value, float) and value >= 0
                shown[name] = int(value) if whole else value
        rows.append(shown)
    return rows
