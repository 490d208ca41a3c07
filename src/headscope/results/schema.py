"""The shape of a results file: one group per measure, and what every group has.

A group's attributes say what it is (``title``, ``unit``, ``source``), whether tables of all heads
list it (``listed``), and what it holds (``kind``, one of :data:`KINDS`). Readers ask
:func:`contents` which variables have the values, their intervals and numbers of examples; they
never guess from the names of variables.

A group of a survey holds ``sum``, ``square`` and ``count`` by ``bucket`` (a fixed number of groups
of documents), and what follows from them: ``mean`` with its interval ``low`` … ``high``,
``deviation`` and ``n``.

The group ``examples``, whose kind is "examples", is not a measure: it holds texts, and maps of
every head on some of them (:mod:`headscope.results.kept`). Nor are ``null`` and ``track``: they
hold the same survey of null models, and the values of all checkpoints
(:mod:`headscope.results.nested`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError

SCHEMA = 4
"""The version of this layout."""
SUMS = ("sum", "square", "count")
EXACT = "_exact"
"""Ends the names of the exact sums that shards carry until they are merged."""
KEPT = "value"
"""The values of single examples, where a measure keeps them."""
COMPOSITION = "composition"
"""The kind of a group with a value for every pair of heads; see :func:`headscope.circuits`."""
EXAMPLES = "examples"
"""The group that holds examples of every head, and its kind: it is not a measure."""
NULL, TRACK = "null", "track"
"""The groups with the same survey of null models, and with the values of all checkpoints of a
training; both hold groups of their own (:mod:`headscope.results.nested`) and are not measures."""
BESIDE = (EXAMPLES, NULL, TRACK)
"""Groups that are not measures, which is also their kind."""
GRID = ("layer", "head")

Spread = Literal["examples", "error", ""]


@dataclass(frozen=True)
class Contents:
    """What a group holds, and in which variables.

    Parameters
    ----------
    value
        The variable with the values.
    count
        The variable with the numbers of examples (of heads, for a correlation).
    spread
        What ``deviation`` is: the standard deviation of ``"examples"``, or already the standard
        ``"error"`` of the value. Empty where there is none.
    tested
        Whether it has ``p`` and ``p_corrected``.
    sampled
        Whether it was found on examples. Numbers of weights are exact: their intervals are NaN.
    """

    value: str = "mean"
    count: str = "n"
    spread: Spread = "examples"
    tested: bool = False
    sampled: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The variables that a table shows: value, interval, deviation and number."""
        if not self.sampled:
            return (self.value,)
        return (self.value, "low", "high", *(["deviation"] if self.spread else []), self.count)


KINDS: Mapping[str, Contents] = {
    "mean": Contents(),
    "share": Contents(),
    "change": Contents(tested=True),
    "score": Contents(spread="error", tested=True),
    "curve": Contents(spread="error"),
    "correlation": Contents(spread=""),
    "probe": Contents("test", "test_size", spread=""),
    "weights": Contents(spread="", sampled=False),
    COMPOSITION: Contents("excess", spread="", sampled=False),
}
"""What a group can hold: means over examples; shares of right answers; changes of means, tested
without pairs; scores with heads disabled; a pruning curve's scores; correlations over heads; test
scores of probes; numbers that follow from weights alone, of heads and of pairs of heads."""


def is_measure(data: xr.Dataset | xr.DataTree) -> bool:
    """Whether a group holds a measure, and not examples, null models or checkpoints.

    >>> is_measure(xr.Dataset(attrs={"kind": "examples"}))
    False
    """
    return data.attrs.get("kind") not in BESIDE


def contents(data: xr.Dataset) -> Contents:
    """What a group holds, by its attribute ``kind``; means over examples, if it has none.

    Parameters
    ----------
    data
        One group of some results.

    Raises
    ------
    ResultsError
        If the kind is unknown.

    Examples
    --------
    >>> contents(xr.Dataset(attrs={"kind": "probe"})).columns
    ('test', 'low', 'high', 'test_size')
    """
    kind = str(data.attrs.get("kind", "mean"))
    if kind not in KINDS:
        raise ResultsError(
            f"these results hold {kind!r}, which this version of Headscope does not know; "
            f"it knows {', '.join(KINDS)}",
            hint="open them with the version of Headscope that wrote them",
        )
    return KINDS[kind]


def values_of(data: xr.Dataset) -> xr.DataArray:
    """The values of a group, whatever its variable is called.

    Examples
    --------
    >>> probe = xr.Dataset({"test": ("task", [0.9])}, attrs={"kind": "probe"})
    >>> values_of(probe).values.tolist()
    [0.9]
    """
    return data[contents(data).value]


def label_dims(data: xr.Dataset) -> list[str]:
    """The dimensions of a group's values besides layer and head.

    Examples
    --------
    >>> cells = (("layer", "head", "offset"), [[[0.1, 0.2]]])
    >>> label_dims(xr.Dataset({"mean": cells}))
    ['offset']
    """
    return [str(dim) for dim in values_of(data).dims if dim not in GRID]


def of_heads(data: xr.Dataset) -> bool:
    """Whether a group has values of single heads."""
    return data.attrs.get("kind") != COMPOSITION and set(GRID) <= set(values_of(data).dims)


def statistics(data: xr.Dataset) -> xr.Dataset:
    """The statistics of a group under the names that readers of any group can use.

    Parameters
    ----------
    data
        One group of some results.

    Returns
    -------
    xarray.Dataset
        ``value``, ``low``, ``high`` and ``count``, all with the dimensions of the values.

    Examples
    --------
    >>> cells = {name: ("task", [0.9]) for name in ("test", "low", "high")}
    >>> probe = xr.Dataset(cells | {"test_size": 50}, attrs={"kind": "probe"})
    >>> statistics(probe)["count"].values.tolist()
    [50]
    """
    held = contents(data)
    value = data[held.value]
    names = {"value": held.value, "low": "low", "high": "high", "count": held.count}

    def laid_out(variable: str) -> NDArray[Any]:
        given = data[variable]
        if given.dims != value.dims:  # rare, and slow
            given = given.broadcast_like(value).transpose(*value.dims)
        return np.asarray(given.values)

    arrays = {name: (value.dims, laid_out(variable)) for name, variable in names.items()}
    return xr.Dataset(arrays, {dim: data[dim].values for dim in value.dims}, data.attrs)
