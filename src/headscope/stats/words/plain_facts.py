"""Facts about heads without main roles: shares over one half, sieve bias, even attention."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import xarray as xr

from headscope.labels import CHANGE, label_text
from headscope.numbers import number
from headscope.results import Atlas
from headscope.results.schema import GRID
from headscope.stats.grid import grid_heads
from headscope.stats.heads.findings import ALPHA, Analysis
from headscope.stats.words.phrases import capital, p_words, with_interval

HALF, NEARLY = 0.5, 0.9
SHARES = {"position": {}, "special": {"row": "all"}}
"""Measures whose values are shares of attention, and which of their labels count."""
SINKS = ("cls", "sep", "delimiter", "first token")
"""Roles of resting: they come after others."""


@dataclass(frozen=True)
class PlainFact:
    """A tested statement about one head.

    Parameters
    ----------
    head
        Which head.
    text
        A sentence without its full stop.
    strength
        By which facts of one head are ordered.
    """

    head: str
    text: str
    strength: float


def plain_facts(analysis: Analysis) -> dict[str, list[PlainFact]]:
    """What can be said of each head, the strongest statement first.

    Parameters
    ----------
    analysis
        The tests of all heads.
    """
    found: dict[str, list[PlainFact]] = {}
    results = analysis.results
    facts = [*_shares(results), *_sieves(analysis.sieves), *_even(results), *_changes(results)]
    for fact in sorted(facts, key=lambda one: -one.strength):
        found.setdefault(fact.head, []).append(fact)
    return found


def _shares(results: Atlas) -> list[PlainFact]:
    """Shares of attention whose whole interval is over one half."""
    found = []
    for measure, labels in SHARES.items():
        if measure not in results or "low" not in results[measure]:
            continue
        data = results[measure].sel(labels).transpose("layer", "head", ...)
        heads, own = grid_heads(data), str(data["mean"].dims[-1])
        names = ("mean", "low", "high")
        mean, low, high = (data[name].values.reshape(len(heads), -1) for name in names)
        for place, at in zip(*np.nonzero(low > HALF), strict=True):
            chosen = {own: str(data[own].values[at]), **labels}
            what = label_text(measure, chosen).removeprefix("attention to ")
            share = with_interval(mean[place, at], low[place, at], high[place, at])
            text = f"Puts {share} of its attention on {what}"
            found.append(PlainFact(str(heads[place]), text, 10 + float(mean[place, at])))
    return found


def _sieves(tests: xr.Dataset | None) -> list[PlainFact]:
    """Roles of sieve bias, tested against three times even attention."""
    if tests is None:
        return []
    data = tests.transpose("layer", "head", "role")
    heads, titles = grid_heads(data), [str(name) for name in data["role"].values]
    has, mean, p, effect, position = (
        data[name].values.reshape(len(heads), -1)
        for name in ("has", "mean", "p_corrected", "effect", "position")
    )
    found = []
    for place, at in zip(*np.nonzero(has), strict=True):
        times = float(position[place, at])
        beyond = "" if np.isnan(times) else f", {times:.1f} times what its positions alone give"
        text = (
            f"Has the role “{titles[at]}”: {number(mean[place, at])} times even attention{beyond} "
            f"({p_words(float(p[place, at]))})"
        )
        size = float(np.nan_to_num(np.tanh(effect[place, at] / 10), nan=1.0))
        found.append(PlainFact(str(heads[place]), text, size if titles[at] in SINKS else 2 + size))
    return found


def _even(results: Atlas) -> list[PlainFact]:
    """Entropy close to that of uniform attention."""
    if "entropy" not in results or "low" not in results["entropy"]:
        return []
    data = results["entropy"].transpose("layer", "head", ...)
    rows = data["row"].values
    if "uniform" not in rows or "all" not in rows:
        return []
    ratio = (data["low"].sel(row="all") / data["mean"].sel(row="uniform")).values.ravel()
    return [
        PlainFact(str(head), "Attends almost uniformly", 5 + float(value))
        for head, value in zip(grid_heads(data), ratio, strict=True)
        if value > NEARLY
    ]


def _changes(results: Atlas) -> list[PlainFact]:
    """Changes between two results that pass their corrected test, the largest of each measure."""
    found = []
    for measure in results:
        data = results[measure]
        if not measure.endswith(CHANGE) or "p_corrected" not in data:
            continue
        own = [str(dim) for dim in data["mean"].dims if dim not in GRID]
        ordered = data[["mean", "p_corrected"]].transpose(*GRID, *own)
        heads = grid_heads(ordered)
        mean, p = (ordered[name].values.reshape(len(heads), -1) for name in ordered)
        labels = list(itertools.product(*(ordered[dim].values for dim in own)))
        attributes = {str(key): str(text) for key, text in data.attrs.items()}
        differs = np.ptp(np.nan_to_num(mean), axis=0) > 0  # else it is a reference line
        sizes = np.where((p < ALPHA) & differs, np.abs(mean), -1.0)
        for place in np.flatnonzero((sizes > 0).any(1)):
            at = int(sizes[place].argmax())
            names = {dim: str(label) for dim, label in zip(own, labels[at], strict=True)}
            words = capital(label_text(measure, names, attributes))
            change = number(mean[place, at], signed=True)
            text = f"{words}: {change} ({p_words(float(p[place, at]))})"
            found.append(PlainFact(str(heads[place]), text, 3.0 - float(p[place, at])))
    return found
