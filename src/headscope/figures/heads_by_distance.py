"""Heads that attend alike, close together, and what each mainly does (Clark 2019, Figure 6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from headscope.figures.points import head_points
from headscope.figures.style import subject
from headscope.heads import Head, all_heads
from headscope.results import Atlas
from headscope.stats import scale
from headscope.stats.grid import heads_over, labelled_head
from headscope.stats.tables.relations import LEAST, best_heads

OTHER = "none of these"
"""The behaviour of a head that none of the thresholds fits."""
TOKENS = {"cls": "[CLS]", "sep": "[SEP]", "punctuation": "full stop or comma"}
LOWEST, HIGHEST = 0.2, 0.5
"""Between these ends, thresholds on shares of attention are taken from the data.

The paper calls heads with over half of their attention on a token specialised.
"""


def heads_by_layer(results: Atlas) -> Any:
    """Draw the heads in the plane, coloured by layer."""
    points, line = _scaled(results)
    layers = points["name"].str.split("-").str[0].astype(int)
    return head_points(
        points.assign(layer=layers),
        title="Heads by distance: layers",
        subtitle=line,
        colour="layer",
    )


def heads_by_behaviour(results: Atlas) -> Any:
    """Draw the heads in the plane, coloured by what each of them mostly does."""
    points, line = _scaled(results)
    table = behaviours(results)
    numbers = table["behaviour"].value_counts()
    order = [*sorted(set(numbers.index) - {OTHER}), OTHER]
    limits = table.attrs["thresholds"]
    named = {
        what: f"{what}{_over(what, limits.get(what))} ({numbers.get(what, 0)})" for what in order
    }
    merged = points.merge(table.replace({"behaviour": named}), on="name")
    return head_points(
        merged,
        title="Heads by distance: behaviours",
        subtitle=line,
        colour="behaviour",
        categories=list(named.values()),
    )


def _over(what: str, limit: float | None) -> str:
    """Write a behaviour's threshold, if it has one."""
    if limit is None:
        return ""
    return f", over {limit:.2f}{' of uniform' if what == 'broad' else ''}"


def _scaled(results: Atlas) -> tuple[pd.DataFrame, str]:
    """Return the points, and two lines: the subject, and how well the plane fits."""
    seed = int(results.provenance["settings"]["seed"])
    points, stress = scale(results.mean("distance"), seed=seed)
    return points, f"{subject(results.provenance)}\nstress {stress:.2f} (0 = a perfect fit)"


@dataclass(frozen=True)
class BehaviourThresholds:
    """From which value on a head is said to do something.

    Parameters
    ----------
    position
        Share of attention on the previous, current or next token. None: from the data.
    token
        Share of attention on [CLS], on [SEP], or on full stops and commas. None: from the data.
    broad
        Share of the entropy that uniform attention has.
    p
        Corrected p of the best head of a relation against its best fixed offset.

    Notes
    -----
    A threshold from the data is where the model's heads fall apart into two groups
    (:func:`two_groups`), but at least 0.2 and at most 0.5: one threshold for each kind of token.
    """

    position: float | None = None
    token: float | None = None
    broad: float = 0.9
    p: float = 0.05


def two_groups(values: ArrayLike) -> float:
    """Find the cut that leaves the least variance within the two groups (Otsu 1979).

    Parameters
    ----------
    values
        One number per head; those that are not defined do not count.

    Returns
    -------
    float
        The middle between the largest value of the lower group and the smallest of the upper one;
        NaN with fewer than two different values.

    Examples
    --------
    >>> two_groups([0.02, 0.04, 0.06, 0.36, 0.44])
    0.21
    """
    numbers = np.sort(np.asarray(values, float).ravel())
    numbers = numbers[~np.isnan(numbers)]
    if numbers.size < 2 or numbers[0] == numbers[-1]:
        return float("nan")
    below = np.arange(1, numbers.size)  # how many heads are in the lower group
    above = numbers.size - below
    lower, upper = np.cumsum(numbers)[:-1], numbers.sum() - np.cumsum(numbers)[:-1]
    # The least variance within is the most between. Equal values cannot be parted.
    between = below * above * (lower / below - upper / above) ** 2
    between = np.where(numbers[1:] > numbers[:-1], between, -1.0)
    cut = int(np.argmax(between))
    return float((numbers[cut] + numbers[cut + 1]) / 2)


def behaviours(results: Atlas, thresholds: BehaviourThresholds | None = None) -> pd.DataFrame:
    """Name the main behaviour of every head.

    Parameters
    ----------
    results
        Results of a survey. Only the measures they have are looked at.
    thresholds
        From which value on a head is said to do something. By default from the data.

    Returns
    -------
    pandas.DataFrame
        One row per head: name, layer, head and behaviour. The first that fits is taken, in the
        order over half of its attention on a position or a special token, dependency, coreference,
        attention over the threshold on a position or a special token, broad attention. The
        thresholds that were used are in ``attrs["thresholds"]``, by behaviour.
    """
    limits = thresholds or BehaviourThresholds()
    behaviour: dict[Head, str] = {}
    surface = [
        (values, what, _from_data(values) if limit is None else limit)
        for values, what, limit in _surface(results, limits)
    ]
    steps = [
        *((heads_over(values, max(limit, HIGHEST)), what) for values, what, limit in surface),
        *_linguistic(results, limits),
        *((heads_over(values, limit), what) for values, what, limit in surface),
    ]
    used = {what: limit for _, what, limit in surface}
    if "entropy" in results.measures:
        means = results.mean("entropy")
        used["broad"] = limits.broad
        ratio = means.sel(row="all") / means.sel(row="uniform")
        steps.append((heads_over(ratio, limits.broad), "broad"))
    for heads, what in steps:
        for head in heads:
            behaviour.setdefault(head, what)
    layers = [number - 1 for number in results.layers]
    rows = [
        {
            "name": str(head),
            "layer": head.layer + 1,
            "head": head.head + 1,
            "behaviour": behaviour.get(head, OTHER),
        }
        for head in all_heads(layers, results.shape[1])
    ]
    table = pd.DataFrame(rows)
    table.attrs["thresholds"] = used
    return table


def _from_data(values: xr.DataArray) -> float:
    """The cut between two groups of heads, kept between the ends; the higher one if all agree."""
    cut = two_groups(values.values)
    return HIGHEST if np.isnan(cut) else float(np.clip(cut, LOWEST, HIGHEST))


def _surface(
    results: Atlas, limits: BehaviourThresholds
) -> Iterator[tuple[xr.DataArray, str, float | None]]:
    """Attention to positions and to special tokens, with what it is called and its threshold."""
    if "position" in results.measures:
        means = results.mean("position")
        for offset in ("previous", "next", "current"):
            yield means.sel(offset=offset), f"{offset} token", limits.position
    if "special" in results.measures:
        means = results.mean("special").sel(row="all")
        for token, words in TOKENS.items():
            yield means.sel(token=token), words, limits.token


def _linguistic(results: Atlas, limits: BehaviourThresholds) -> Iterator[tuple[list[Head], str]]:
    """The best heads of relations that beat the offset, and the best head at antecedents."""
    if "dependency" in results.measures and int(results["dependency"]["n"].max()) >= LEAST:
        table = best_heads(results)
        single = ~table["relation"].str.startswith("all")
        good = table[(table["p_corrected"] < limits.p) & single]
        yield [Head.parse(name) for name in good["head"]], "dependency"
    if "coreference" in results.measures:
        data = results["coreference"]["mean"]
        means = data.sel(candidates="mentions", kind="all", mentions="every")
        if bool(means.notnull().any()):
            layer, head = means.stack(place=("layer", "head")).idxmax().item()
            yield [labelled_head(layer, head)], "coreference"
