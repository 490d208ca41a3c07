"""Heads by a condition, and tables of heads.

Evaluates the query language of :mod:`headscope.results.query`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import UserError, first_few, unknown
from headscope.heads import Head, parse_heads
from headscope.labels import label_text, map_measure
from headscope.results import Atlas
from headscope.results.query import Tree, parse_query, split_value
from headscope.results.schema import contents, label_dims, of_heads, statistics
from headscope.stats.grid import SUMS
from headscope.stats.heads.excess import ORDER
from headscope.stats.heads.main_roles import has_main_roles, main_roles
from headscope.stats.tables.roles import role_tests

Mask = NDArray[np.bool_]
DEFAULTS = ("all", "every", "dependent to head", "mentions", "both")
"""The label that is meant where a query names none."""
POSITIONAL = "positional-"
"""``is:positional-nsubj``: heads that have the role by its test, but by positions alone."""
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}


def find_heads(atlas: Atlas, query: str) -> tuple[Head, ...]:
    """The heads for which a query holds, in the order of the model.

    A head whose value is not defined fulfils no comparison.

    Parameters
    ----------
    atlas
        The results.
    query
        E.g. ``"position:previous > 0.5 and entropy < 1.5"``, ``"is:nsubj"``, ``"layer 3-5"``.

    Returns
    -------
    tuple of Head
    """
    mask = _evaluate(atlas, parse_query(query))
    return _heads_at(atlas, np.argwhere(mask))


def head_list(
    atlas: Atlas, *, where: str = "", by: str = "", top: int | None = None, ascending: bool = False
) -> pd.DataFrame:
    """A table of heads, filtered, sorted and cut.

    Parameters
    ----------
    atlas
        The results.
    where
        A query; only heads for which it holds. Default: all heads.
    by
        The value to show and sort by, such as ``"position:previous"``. Default: the first value of
        the query, else the order of the model.
    top
        Only the first so many.
    ascending
        Smallest first.

    Returns
    -------
    pandas.DataFrame
        head (from 1), zero-based name and, with a value, its mean, interval and n, and the band of
        every null model.
    """
    if top is not None and top < 1:
        raise UserError(f"the number of heads must be 1 or more, got {top} instead")
    tree = parse_query(where) if where.strip() else None
    layers, heads = _shape(atlas)
    mask = np.ones((layers, heads), bool) if tree is None else _evaluate(atlas, tree)
    places = np.argwhere(mask)
    names = _heads_at(atlas, places)
    rows = pd.DataFrame(
        {"head": [str(head) for head in names], "zero-based": [head.zero_based for head in names]}
    )
    value = split_value(by) if by.strip() else _first_value(tree)
    if value is not None:
        dataset, words = head_values(atlas, value)
        columns = {"value": words, "low": "low", "high": "high", "count": "n"}
        if not contents(dataset).sampled:  # numbers of weights have no interval
            columns = {"value": words}
        for name, column in columns.items():
            rows[column] = [dataset[name].values[tuple(place)] for place in places]
        for null in _bands(atlas, value):
            rows[f"{null['null']} low"], rows[f"{null['null']} high"] = null["low"], null["high"]
        if by.strip():
            rows = rows.sort_values(words, ascending=ascending, kind="stable", na_position="last")
    return rows.head(top).reset_index(drop=True) if top else rows.reset_index(drop=True)


def _bands(atlas: Atlas, value: Sequence[str]) -> list[dict[str, Any]]:
    """The bands of null models for a value; none without null models."""
    from headscope.stats.tables.alike import bands_of

    return bands_of(atlas, value) if atlas.nulls else []


def head_values(atlas: Atlas, value: Sequence[str]) -> tuple[xr.Dataset, str]:
    """The statistics that a query's value stands for, by layer and head, and its name in words.

    Parameters
    ----------
    atlas
        The results.
    value
        Measure and labels, such as ``["position", "previous"]``; or one label that only one measure
        has, such as ``["induction"]``.
    """
    measure, labels = measure_of(atlas, value)
    dataset = atlas[measure]
    chosen = chosen_labels(measure, dataset, labels)
    picked = statistics(dataset).sel(
        {dim: dataset[dim].dtype.type(label) for dim, label in chosen.items()}
    )
    words = label_text(
        measure, chosen, {str(key): str(text) for key, text in dataset.attrs.items()}
    )
    return picked.transpose("layer", "head", ...), words


def chosen_labels(measure: str, dataset: xr.Dataset, labels: Sequence[str]) -> dict[str, str]:
    """The label of every dimension of a measure: those given, and the usual ones.

    Parameters
    ----------
    measure, dataset
        The measure.
    labels
        Those that a query names.
    """
    own = label_dims(dataset)
    chosen: dict[str, str] = {}
    for label in labels:
        names = {dim: [str(name) for name in dataset[dim].values] for dim in own}
        dim = next((dim for dim in own if dim not in chosen and label in names[dim]), None)
        if dim is None:
            left = [name for dim in own if dim not in chosen for name in names[dim]]
            raise unknown(f"label of {measure}", label, left or ["(none)"])
        chosen[dim] = label
    for dim in own:
        if dim not in chosen:
            chosen[dim] = _default(measure, dim, [str(name) for name in dataset[dim].values])
    return chosen


def measure_of(atlas: Atlas, value: Sequence[str]) -> tuple[str, list[str]]:
    """A value's measure and its labels; a bare label is looked up in all measures."""
    usable = [name for name in atlas if of_heads(atlas[name]) and map_measure(name) not in SUMS]
    if value[0] in usable:
        return value[0], list(value[1:])
    having = [
        name
        for name in usable
        if value[0] in _labels(atlas[name])
        # A bare label means attention maps, where results have both kinds.
        and (map_measure(name) == name or map_measure(name) not in usable)
    ]
    if len(value) == 1 and "role" in having:
        return "role", list(value)
    if len(value) == 1 and len(having) == 1:
        return having[0], list(value)
    if len(having) > 1:
        choices = ", ".join(f"{name}:{value[0]}" for name in having)
        raise UserError(f"{value[0]!r} may mean {choices}", hint="name the measure too")
    labels = {label for name in usable for label in _labels(atlas[name])}
    raise unknown(
        "value",
        value[0],
        {*usable, *labels, "layer"},
        hint="atlas.summary() lists what there is",
        command="headscope table RESULTS statistics lists what there is",
    )


def value_labels(atlas: Atlas) -> dict[str, dict[str, list[str]]]:
    """The labels of every measure that a query can compare, by dimension.

    Parameters
    ----------
    atlas
        The results.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", measures=["position"], limit=2)
    >>> value_labels(atlas)
    {'position': {'offset': ['previous', 'current', 'next']}}
    """
    return {
        name: {
            dim: [str(label) for label in atlas[name][dim].values]
            for dim in label_dims(atlas[name])
        }
        for name in atlas
        if of_heads(atlas[name]) and map_measure(name) not in SUMS
    }


def _labels(dataset: xr.Dataset) -> set[str]:
    return {str(label) for dim in label_dims(dataset) for label in dataset[dim].values}


def _default(measure: str, dim: str, labels: Sequence[str]) -> str:
    chosen = next((label for label in DEFAULTS if label in labels), None)
    if chosen is None and len(labels) == 1:
        chosen = labels[0]
    if chosen is None:
        shown = first_few([f"{measure}:{label}" for label in labels], 6)
        raise UserError(
            f"{measure} has several values by {dim}: {shown}",
            hint=f"e.g. {measure}:{labels[0]}",
        )
    return chosen


def _shape(atlas: Atlas) -> tuple[int, int]:
    layers, heads = atlas.shape
    if not layers or not heads:
        raise UserError("these results are not of single heads", hint="use the results of a survey")
    return layers, heads


def _heads_at(atlas: Atlas, places: NDArray[np.int64]) -> tuple[Head, ...]:
    """The heads at some places of the grid, (place, 2)."""
    return tuple(Head(atlas.layers[layer] - 1, head) for layer, head in places.tolist())


def _evaluate(atlas: Atlas, tree: Tree) -> Mask:
    """Where a parsed query holds, (layer, head)."""
    layers, heads = _shape(atlas)
    kind, *rest = tree
    if kind == "and":
        return _evaluate(atlas, rest[0]) & _evaluate(atlas, rest[1])
    if kind == "or":
        return _evaluate(atlas, rest[0]) | _evaluate(atlas, rest[1])
    if kind == "not":
        return ~_evaluate(atlas, rest[0])
    if kind == "layer":
        numbers = np.array(atlas.layers)
        chosen = (numbers >= rest[0]) & (numbers <= rest[1])
        return np.broadcast_to(chosen[:, None], (layers, heads)).copy()
    if kind == "heads":
        mask = np.zeros((layers, heads), bool)
        known = [number - 1 for number in atlas.layers]
        for head in parse_heads(rest[0], layers=known, heads=heads):
            mask[known.index(head.layer), head.head] = True
        return mask
    if kind == "is":
        return _has_role(atlas, rest[0])
    if kind == "top":
        return _largest(_values(atlas, rest[1]), rest[0])
    value, sign, number = rest
    values = _values(atlas, value)
    return np.asarray(_COMPARE[sign](values, number) & ~np.isnan(values), bool)


def _values(atlas: Atlas, value: Sequence[str]) -> NDArray[Any]:
    """A value of every head, (layer, head)."""
    if list(value) == ["layer"]:
        return np.broadcast_to(np.array(atlas.layers, float)[:, None], _shape(atlas))
    return np.asarray(head_values(atlas, value)[0]["value"].values)


def _largest(values: NDArray[Any], count: int) -> Mask:
    """Where the largest values are; among equal ones the first heads of the model.

    The page holds float32 numbers. Sorting the same numbers here gives the same heads.
    """
    flat = values.astype(np.float32).ravel()
    order = np.argsort(-flat, kind="stable")[:count]  # NaN comes last
    mask = np.zeros(flat.size, bool)
    mask[order] = True
    return (mask & ~np.isnan(flat)).reshape(values.shape)


def _has_role(atlas: Atlas, role: str) -> Mask:
    """Heads that have a tested role, by more than positions where that is known; those that have it
    by positions alone; or heads whose main role is of a family of this name.
    """
    named: list[str] = []
    if "role" in atlas:
        tests = role_tests(atlas)
        named += [str(name) for name in tests["role"].values]
        name = role if role in named else role.removeprefix(POSITIONAL)
        if name in named:
            mine = tests.sel(role=name).transpose("layer", "head")
            by_position = mine["positional"].values
            mask = by_position if role != name else mine["has"].values & ~by_position
            return np.asarray(mask, bool)
    if has_main_roles(atlas):
        named += [family for family in ORDER if family not in named]
        if role in ORDER:
            return (main_roles(atlas)["family"] == role).to_numpy(bool).reshape(_shape(atlas))
    if not named:
        raise UserError(
            "these results have no roles, which is: asks for", hint="survey with the measure role"
        )
    raise unknown("role", role, named)


def _first_value(tree: Tree | None) -> list[str] | None:
    """The first value that a query compares, which a table then shows."""
    if tree is None:
        return None
    if tree[0] == "compare":
        return None if tree[1] == ["layer"] else list(tree[1])
    if tree[0] in ("and", "or", "not"):
        return next((value for part in tree[1:] if (value := _first_value(part))), None)
    if tree[0] == "top":
        return None if tree[2] == ["layer"] else list(tree[2])
    return None


def kv_head_counts(atlas: Atlas) -> tuple[int, ...]:
    """The number of KV heads in each layer: that of query heads, unless the model groups them.

    Parameters
    ----------
    atlas
        The results.

    Raises
    ------
    UserError
        If the results do not say it: they are of two models, or have no values of single heads.

    Examples
    --------
    >>> about = {"model": {"layers": 2, "heads": 4, "kv_heads": 2}}
    >>> kv_head_counts(Atlas.build({}, about))
    (2, 2)
    """
    layers, heads = _shape(atlas)
    kv_heads = atlas.provenance["model"].get("kv_heads", heads)
    counts = tuple(kv_heads) if isinstance(kv_heads, list) else (kv_heads,) * layers
    numbers = all(isinstance(count, int) and count > 0 for count in counts)
    if len(counts) != layers or not numbers or any(heads % count for count in counts):
        raise UserError(
            f"these results do not say which of the {heads} heads of a layer share keys and "
            f"values: kv_heads is {kv_heads!r}",
            hint="use the results of one model",
        )
    return counts


def kv_head_table(atlas: Atlas, by: str) -> pd.DataFrame:
    """A statistic per KV head: its mean and maximum over the query heads that share it.

    Parameters
    ----------
    atlas
        The results.
    by
        The statistic, such as ``"streaming:distant"``.

    Returns
    -------
    pandas.DataFrame
        ``layer`` and ``kv_head`` (both from 1), ``mean``, ``max`` and the query ``heads``, in the
        order of the model. Both are NaN where the statistic of any of the heads is not defined.
    """
    rows = []
    values = values_by(atlas, by)
    for layer, own, count in zip(atlas.layers, values, kv_head_counts(atlas), strict=True):
        edges = range(0, len(own) + 1, len(own) // count)
        for number, (first, end) in enumerate(pairwise(edges), start=1):
            group = own[first:end]
            names = ", ".join(str(Head(layer - 1, head)) for head in range(first, end))
            rows.append((layer, number, group.mean(), group.max(), names))
    return pd.DataFrame(rows, columns=["layer", "kv_head", "mean", "max", "heads"])


def values_by(atlas: Atlas, by: str) -> NDArray[np.float64]:
    """The statistic of every head, (layer, head).

    Parameters
    ----------
    atlas
        The results.
    by
        The statistic, such as ``"streaming:distant"``.
    """
    if not by.strip():
        raise UserError(
            "name the value to show per KV head",
            hint='e.g. atlas.kv_heads("position:previous")',
            command="e.g. headscope heads FILE --kv --by position:previous",
        )
    dataset, _ = head_values(atlas, split_value(by))
    return np.asarray(dataset["value"].values, np.float64)
