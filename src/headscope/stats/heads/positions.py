"""Whether a head knows a dependency relation, or only where its words usually stand.

A head that always looks two tokens back finds the noun of many adjectives. How much attention it
would give a relation by such a habit alone is known: its mean attention at every offset, times how
many of the relation's pairs stand at that offset. What the head gives beyond that it cannot have
from positions. The test is over documents, and the mean attention at each offset is computed anew
without each group of documents that is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError, unknown
from headscope.labels import family_of
from headscope.results import Atlas
from headscope.results.moments import Ratio, left_out
from headscope.stats.heads.thresholds import DEFAULT
from headscope.stats.inference.correction import correct

Array = NDArray[np.float64]
Kind = Literal["roles", "families", "relations"]
KINDS = ("roles", "families", "relations")
NEEDED = ("arc", "profile", "arc_offset")
"""The measures it needs; a survey with dependency roles has them."""
UP, DOWN = "dependent to head", "head to dependent"
WAYS = {"to head": (UP,), "from head": (DOWN,), "both": (UP, DOWN)}
"""The directions of arcs that dependency roles follow, by the option of the measure ``role``."""
Cells = Sequence[tuple[str, str]]
"""Relations with a direction."""


@dataclass(frozen=True)
class PositionAlone:
    """What positions alone would give some relations, against what heads give them.

    Attributes
    ----------
    observed, alone
        The sum of attention along the arcs, and what the head's offsets would give them, (head,
        relation).
    times
        Their ratio with its error: "× position alone".
    gain
        Their difference per pair of tokens, with its error.
    """

    observed: Array
    alone: Array
    times: Ratio
    gain: Ratio


def position_alone(attention: Array, profile: Array, tokens: Array, arcs: Array) -> PositionAlone:
    """Compare attention along arcs with what offsets alone would give, from sums by document.

    Parameters
    ----------
    attention
        The sum of attention along the arcs, (group of documents, head, relation).
    profile
        The sum of attention at every offset, (group, head, offset).
    tokens
        How many pairs of tokens there are at every offset, (group, offset).
    arcs
        How many of them are pairs of the relation, (group, relation, offset).

    Examples
    --------
    One head, one relation whose words stand side by side; half of all neighbours are its pairs.

    >>> attention = np.array([4.0, 5.0, 4.0]).reshape(3, 1, 1)
    >>> profile = np.array([5.0, 6.0, 5.0]).reshape(3, 1, 1)
    >>> tokens, arcs = np.full((3, 1), 10.0), np.full((3, 1, 1), 5.0)
    >>> found = position_alone(attention, profile, tokens, arcs)
    >>> found.observed.item(), found.alone.item(), found.times.value.item()
    (13.0, 8.0, 1.625)
    """
    sums = attention, profile, tokens, arcs
    whole = [part.sum(0) for part in sums]
    observed, alone, pairs = _compared(*whole)
    without = [
        _compared(*(total - part[group] for total, part in zip(whole, sums, strict=True)))
        for group in range(len(tokens))
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        times, gain = observed / alone, (observed - alone) / pairs
        moved = [(a / b - times, (a - b) / n - gain) for a, b, n in without]
    counts = np.broadcast_to(arcs.sum(2)[:, None], attention.shape)
    by_group = np.moveaxis(counts, 0, -1)
    return PositionAlone(
        observed,
        alone,
        *(
            left_out(value, np.stack([step[which] for step in moved], -1), by_group)
            for which, value in enumerate((times, gain))
        ),
    )


def _compared(
    attention: Array, profile: Array, tokens: Array, arcs: Array
) -> tuple[Array, Array, Array]:
    """What heads give the relations, what their offsets alone would give, and how many pairs."""
    mean = np.where(tokens > 0, profile / np.maximum(tokens, 1), 0.0)
    pairs = arcs.sum(-1)
    return attention, mean @ arcs.T, np.where(pairs > 0, pairs, np.nan)


def has_positions(results: Atlas) -> bool:
    """Whether results have what the comparison with positions needs."""
    return all(name in results for name in NEEDED)


def beyond_position(results: Atlas, of: Kind = "roles", *, correction: str = "holm") -> xr.Dataset:
    """What every head gives dependency relations, against what its positions alone would give.

    ``alone`` is the head's mean attention at each offset, times how many pairs the relation has
    there. A head that only follows positions has a ratio near 1, however far it is above uniform
    attention.

    Parameters
    ----------
    results
        Results with the measures ``arc``, ``profile`` and ``arc_offset``, which a survey computes
        wherever it measures dependency roles.
    of
        ``roles``: the dependency roles of the measure ``role``; ``families``: the main roles along
        arcs (modifier to noun …); ``relations``: every relation, in both directions.
    correction
        Of the p-values, over all heads and all that is compared: holm, bh or none.

    Returns
    -------
    xarray.Dataset
        By layer, head and role: ``observed`` and ``alone`` (sums of attention), ``times`` (their
        ratio, "× position alone") with its 95 % interval ``low`` … ``high``, ``times_uniform``
        where the results have it, ``gain`` (their difference per pair) with its standard
        ``error``, ``pairs``, ``documents`` (effective), ``p`` of "no more than positions give",
        ``p_corrected`` and ``beats``: the corrected p is below 0.05, and ``low`` at least 1.2.
        Of relations, a role is ``RELATION: DIRECTION``.

    Raises
    ------
    ResultsError
        If the results lack a measure.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", measures="role", limit=30)
    >>> found = beyond_position(atlas, "relations")
    >>> det = found.sel(role="det: dependent to head")
    >>> bool(det["beats"].sel(layer=3, head=9)), bool(det["beats"].sel(layer=1, head=3))
    (True, False)
    """
    if of not in KINDS:
        raise unknown("kind of relations", of, KINDS)
    if not has_positions(results):
        raise ResultsError(
            "these results cannot tell relations from positions: they lack "
            f"{', '.join(name for name in NEEDED if name not in results)}",
            hint='survey a treebank with roles: hs.survey(model, corpus, measures="role")',
        )
    cells = _cells(results, of)
    attention, arcs = _along(results, cells)
    profile, tokens = _profile(results)
    compared = position_alone(attention, profile, tokens, arcs[..., : tokens.shape[1]])
    grid = results["arc"]["mean"]
    shape = (grid.sizes["layer"], grid.sizes["head"], len(cells))
    low, high = compared.times.interval("positive")
    p = compared.gain.p_above()
    corrected = correct(p, correction)
    parts = {
        "observed": compared.observed,
        "alone": compared.alone,
        "times": compared.times.value,
        "low": low,
        "high": high,
        "gain": compared.gain.value,
        "error": compared.gain.error,
        "documents": compared.gain.effective,
        "p": p,
        "p_corrected": corrected,
        "beats": (corrected < DEFAULT.alpha) & (low >= DEFAULT.relation),
    }
    dims = ("layer", "head", "role")
    data = xr.Dataset(
        {name: (dims, part.reshape(shape)) for name, part in parts.items()},
        {
            "layer": grid["layer"].values,
            "head": grid["head"].values,
            "role": np.array(list(cells), dtype=object),
        },
        {"correction": correction, "alpha": DEFAULT.alpha, "least": DEFAULT.relation, "of": of},
    )
    data["pairs"] = ("role", arcs[..., : tokens.shape[1]].sum((0, 2)).astype(np.int64))
    uniform = _times_uniform(results, of)
    return data if uniform is None else data.assign(times_uniform=uniform.sel(role=data["role"]))


def times_position(results: Atlas, names: Sequence[str]) -> NDArray[np.float64]:
    """How surely main roles along arcs are more than habits of position.

    Parameters
    ----------
    results
        Results with the measures that tell relations from positions.
    names
        The main roles.

    Returns
    -------
    numpy.ndarray
        (head, role), heads layer by layer: the lower end of "× position alone" where the test finds
        more than positions give, else 0; infinite for roles that do not follow arcs.
    """
    layers, heads = results.shape
    times = np.full((layers * heads, len(names)), np.inf)
    tests = beyond_position(results, "families")
    for at, name in enumerate(names):
        if name in _families():
            test = tests.sel(role=name)
            times[:, at] = np.where(test["beats"], np.nan_to_num(test["low"]), 0.0).ravel()
    return times


def with_positions(results: Atlas, tests: xr.Dataset) -> xr.Dataset:
    """Tests of roles, with what dependency roles have beyond positions.

    Parameters
    ----------
    results
        Results of a survey.
    tests
        What :func:`headscope.stats.role_tests` finds.

    Returns
    -------
    xarray.Dataset
        Also ``position`` (times what positions alone would give), ``position_low`` and
        ``position_high``, ``p_position`` (Holm over heads and dependency roles) and
        ``positional``: the head has the role by its test, but by positions alone. NaN and False for
        other roles, and where it was not measured or there are too few documents.
    """
    names = {"position": "times", "position_low": "low", "position_high": "high"}
    names["p_position"] = "p_corrected"
    known = has_positions(results) and _cells(results, "roles")
    beyond = beyond_position(results).reindex(role=tests["role"].values) if known else None
    for name, source in names.items():
        tests[name] = xr.full_like(tests["mean"], np.nan)
        if beyond is not None:
            tests[name] = beyond[source].transpose(*tests["mean"].dims)
    short = (tests["p_position"] >= DEFAULT.alpha) | (tests["position_low"] < DEFAULT.relation)
    tests["positional"] = tests["has"] & short & tests["p_position"].notnull()
    return tests


def _families() -> dict[str, tuple[str, str]]:
    """The main roles along arcs: the family of their relations, and the direction."""
    from headscope.stats.heads.excess import DIRECTION, FAMILIES

    return {name: (FAMILIES[name], way) for name, way in DIRECTION.items()}


def _cells(results: Atlas, of: Kind) -> Mapping[str, Cells]:
    """The relations and directions that belong to each role."""
    relations = [str(name) for name in results["arc"]["relation"].values]
    if of == "relations":
        return {f"{name}: {way}": [(name, way)] for name in relations for way in (UP, DOWN)}
    if of == "families":
        return {
            role: [(name, way) for name in relations if family_of(name) == family]
            for role, (family, way) in _families().items()
        }
    if "role" not in results:
        return {}
    about = results["role"].attrs
    wanted: dict[str, list[str]] = json.loads(about.get("arcs", "{}"))
    fold = about.get("subtypes") == "fold"
    return {
        role: [
            (name, way)
            for name in relations
            if (name.split(":")[0] if fold else name) in labels
            for way in WAYS[str(about["direction"])]
        ]
        for role, labels in wanted.items()
    }


def _along(results: Atlas, cells: Mapping[str, Cells]) -> tuple[Array, Array]:
    """The attention along the arcs of each role, (bucket, head, role), and how many pairs it has
    at each offset, (bucket, role, offset).
    """
    relations = [str(name) for name in results["arc"]["relation"].values]
    belongs = np.zeros((len(cells), len(relations), 2))
    for row, mine in enumerate(cells.values()):
        for name, way in mine:
            belongs[row, relations.index(name), (UP, DOWN).index(way)] = 1.0
    data = results["arc"]["sum"].transpose("bucket", "layer", "head", "relation", "direction")
    sums = data.sel(direction=[UP, DOWN]).values.astype(np.float64)
    attention = sums.reshape(len(sums), -1, belongs[0].size) @ belongs.reshape(len(cells), -1).T
    up = results["arc_offset"]["sum"].transpose("bucket", "relation", "offset").values
    both = np.stack([up, up[..., ::-1]], 2)  # the other way, offsets have the other sign
    return attention, np.einsum("brwo,crw->bco", both, belongs)


def _profile(results: Atlas) -> tuple[Array, Array]:
    """Attention by offset, (bucket, head, offset), and pairs of tokens, (bucket, offset)."""
    data = results["profile"][["sum", "count"]].transpose("bucket", "layer", "head", "offset")
    sums, counts = (
        data[name].values.astype(np.float64).reshape(data.sizes["bucket"], -1, data.sizes["offset"])
        for name in ("sum", "count")
    )
    return sums, counts[:, 0]


def _times_uniform(results: Atlas, of: Kind) -> xr.DataArray | None:
    """How much more than uniform attention heads give, where the results have it."""
    if of == "roles":
        return results["role"]["mean"]
    if of == "relations" or "work" not in results:
        return None
    sums = results["work"]["sum"].sum("bucket")
    even = sums.sel(part="uniform", drop=True)
    return (sums.sel(part="attention", drop=True) / even.where(even > 0)).reindex(
        role=list(_families())
    )
