"""Every statistic of single heads as a column, so that one head's values and ranks are quick."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.labels import label_text, map_measure
from headscope.results import Atlas
from headscope.results.schema import GRID, label_dims, of_heads, statistics
from headscope.results.summary import says_the_same

Array = NDArray[np.float64]
OWN_TABLES = ("role", "dependency")
"""Measures that have tables of their own, where norm-weighted values stand beside the others."""
NOT_SHOWN = ("work", "spread", "sink_places", "arc", "profile")
"""Measures whose values mean nothing by themselves."""


@dataclass(frozen=True)
class Column:
    """One statistic of all heads.

    Parameters
    ----------
    measure, statistic, unit
        The measure's name, the statistic in words, and its unit.
    value, low, high, count
        (head,), in the order of the model.
    """

    measure: str
    statistic: str
    unit: str
    value: Array
    low: Array
    high: Array
    count: Array

    def row(self, place: int) -> dict[str, object]:
        """A head's value, with its interval and its rank (1 is the largest)."""
        known = self.value[~np.isnan(self.value)]
        return {
            "measure": self.measure,
            "statistic": self.statistic,
            "unit": self.unit,
            "mean": float(self.value[place]),
            "low": float(self.low[place]),
            "high": float(self.high[place]),
            "n": int(self.count[place]),
            "rank": int((known > self.value[place]).sum()) + 1,
            "of": len(known),
        }


def columns_of(results: Atlas) -> list[Column]:
    """All statistics of single heads that differ between heads.

    Parameters
    ----------
    results
        Any results. Sums, roles and relations, which have tables of their own, are left out, and
        so are counts of a baseline's right answers.
    """
    found = []
    for name in results:
        dataset = results[name]
        if of_heads(dataset) and not _is_elsewhere(name, results):
            found += _of_measure(name, dataset)
    return found


def _is_elsewhere(name: str, results: Atlas) -> bool:
    """Whether a measure is shown in a table of its own, or not at all."""
    plain = map_measure(name)
    return plain in NOT_SHOWN or (plain in OWN_TABLES and plain in results)


def _of_measure(name: str, dataset: xr.Dataset) -> list[Column]:
    """The columns of one measure."""
    own = label_dims(dataset)
    values = statistics(dataset).transpose(*own, *GRID)
    parts = [values[part].values.astype(np.float64) for part in ("value", "low", "high", "count")]
    attributes = {str(key): str(text) for key, text in dataset.attrs.items()}
    found = []
    places = itertools.product(*(range(values.sizes[dim]) for dim in own))
    for place in places:
        labels = {dim: str(dataset[dim].values[at]) for dim, at in zip(own, place, strict=True)}
        if attributes.get("kind") == "share" and "every" not in labels.values():
            continue  # kept for a paired test
        if says_the_same(name, values["value"], labels):
            continue
        mine = [part[place].ravel() for part in parts]
        known = mine[0][~np.isnan(mine[0])]
        if not len(known) or np.ptp(known) == 0:  # the same for all heads: a reference line
            continue
        words = label_text(name, labels, attributes)
        found.append(Column(name, words, attributes.get("unit", ""), *mine))
    return found
