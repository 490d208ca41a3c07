"""Heads in labelled arrays, and the statistics that results hold of them.

Results count layers and heads from 1, :class:`~headscope.heads.Head` from 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.heads import Head
from headscope.labels import label_text, map_measure
from headscope.results import Atlas
from headscope.results.schema import GRID, label_dims, of_heads, statistics
from headscope.results.summary import says_the_same

Array = NDArray[np.float64]
SUMS = ("work", "spread")
"""Measures that keep sums for main roles: nothing to show or to compare by themselves."""
NOT_SHOWN = (*SUMS, "sink_places", "arc", "profile")
"""Measures whose values mean nothing by themselves."""
OWN_TABLES = ("role", "dependency")
"""Measures that have tables of their own, where norm-weighted values stand beside the others."""


def labelled_head(layer: Any, head: Any) -> Head:
    """The head that two labels of a results array stand for.

    >>> str(labelled_head(3, 9)), labelled_head(3, 9).zero_based
    ('3-9', 'L2H8')
    """
    return Head(int(layer) - 1, int(head) - 1)


def check_same_heads(data: xr.Dataset, train: xr.Dataset) -> None:
    """Raise an error unless heads that are chosen on training results are those of the others.

    Parameters
    ----------
    data, train
        The same measure of two results.

    Raises
    ------
    UserError
        If one has other layers or heads.
    """
    if any(data[dim].values.tolist() != train[dim].values.tolist() for dim in ("layer", "head")):
        raise UserError(
            "heads can only be chosen on results of the same model: the training results have "
            f"{train.sizes['layer']} × {train.sizes['head']} heads, the others "
            f"{data.sizes['layer']} × {data.sizes['head']}",
            hint="survey the training corpus with the same model",
        )


def grid_heads(values: xr.DataArray | xr.Dataset) -> list[Head]:
    """All heads of an array with dims layer and head, layer by layer.

    >>> grid = xr.DataArray([[0.1, 0.9]], {"layer": [1], "head": [1, 2]}, ("layer", "head"))
    >>> [str(head) for head in grid_heads(grid)]
    ['1-1', '1-2']
    """
    places = itertools.product(values["layer"].values, values["head"].values)
    return [labelled_head(*place) for place in places]


def by_head(data: xr.Dataset, *names: str) -> list[tuple[str, list[float]]]:
    """Some values of every head, with its name, in the order of the model.

    >>> mean = xr.DataArray([[0.1, 0.6]], {"layer": [1], "head": [1, 2]}, ("layer", "head"))
    >>> by_head(xr.Dataset({"mean": mean}), "mean")
    [('1-1', [0.1]), ('1-2', [0.6])]
    """
    values = [data[name].transpose(*GRID).values.ravel() for name in names]
    rows = np.stack(values, 1).astype(np.float64).tolist()
    return list(zip(map(str, grid_heads(data)), rows, strict=True))


def head_frame(data: xr.Dataset) -> pd.DataFrame:
    """A table with one row per head and label, and the names of the heads in ``name``.

    >>> mean = xr.DataArray([[0.1, 0.6]], {"layer": [1], "head": [1, 2]}, ("layer", "head"))
    >>> head_frame(xr.Dataset({"mean": mean}))[["name", "mean"]].values.tolist()
    [['1-1', 0.1], ['1-2', 0.6]]
    """
    frame = data.reset_coords(drop=True).to_dataframe().reset_index()
    places = zip(frame["layer"], frame["head"], strict=True)
    frame.insert(0, "name", [str(labelled_head(*place)) for place in places])
    return frame


def strongest_head(values: xr.DataArray) -> Head | None:
    """The head with the largest value, the first of equals; None where no value is defined.

    >>> grid = xr.DataArray([[0.1, 0.6, 0.9]], {"layer": [1], "head": [1, 2, 3]}, ("layer", "head"))
    >>> str(strongest_head(grid))
    '1-3'
    """
    flat = values.transpose("layer", "head").values.ravel()
    return grid_heads(values)[int(np.nanargmax(flat))] if np.isfinite(flat).any() else None


def heads_over(values: xr.DataArray, threshold: float) -> list[Head]:
    """The heads whose value is over a threshold, the largest first, equal ones in model order.

    >>> grid = xr.DataArray([[0.1, 0.6, 0.9]], {"layer": [1], "head": [1, 2, 3]}, ("layer", "head"))
    >>> [str(head) for head in heads_over(grid, 0.5)]
    ['1-3', '1-2']
    """
    flat = values.transpose("layer", "head").values.ravel()
    heads = grid_heads(values)
    over = [place for place in range(len(flat)) if flat[place] > threshold]
    return [heads[place] for place in sorted(over, key=lambda place: -flat[place])]


@dataclass(frozen=True)
class Column:
    """One statistic of all heads.

    Parameters
    ----------
    measure, labels, statistic, unit
        The measure's name, the labels of its dimensions, the statistic in words, and its unit.
    value, low, high, count
        (head,), in the order of the model.
    """

    measure: str
    labels: tuple[str, ...]
    statistic: str
    unit: str
    value: Array
    low: Array
    high: Array
    count: Array

    @property
    def label(self) -> str:
        """The labels in one word."""
        return ", ".join(self.labels)

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


def measure_columns(name: str, dataset: xr.Dataset) -> Iterator[Column]:
    """The statistics of one measure, but for those that repeat another or are kept for a test.

    Parameters
    ----------
    name, dataset
        A measure with values of single heads.
    """
    own = label_dims(dataset)
    values = statistics(dataset).transpose(*own, *GRID)
    parts = [values[part].values.astype(np.float64) for part in ("value", "low", "high", "count")]
    attributes = {str(key): str(text) for key, text in dataset.attrs.items()}
    for place in itertools.product(*(range(values.sizes[dim]) for dim in own)):
        labels = {dim: str(dataset[dim].values[at]) for dim, at in zip(own, place, strict=True)}
        for_test = attributes.get("kind") == "share" and "every" not in labels.values()
        if not for_test and not says_the_same(name, values["value"], labels):
            words, unit = label_text(name, labels, attributes), attributes.get("unit", "")
            mine = (part[place].ravel() for part in parts)
            yield Column(name, tuple(labels.values()), words, unit, *mine)


def columns_of(results: Atlas) -> list[Column]:
    """All statistics of single heads that differ between heads.

    Parameters
    ----------
    results
        Any results. Sums, roles and relations, which have tables of their own, are left out, and
        so are counts of a baseline's right answers.
    """
    columns = list[Column]()
    for name in results:
        plain = map_measure(name)
        elsewhere = plain in NOT_SHOWN or (plain in OWN_TABLES and plain in results)
        if of_heads(results[name]) and not elsewhere:
            columns += measure_columns(name, results[name])
    return [column for column in columns if _varies(column.value)]


def _varies(values: Array) -> bool:
    """Whether heads differ; else it is a reference line."""
    known = values[~np.isnan(values)]
    return bool(len(known)) and bool(np.ptp(known) > 0)
