"""Heads that attend alike, close together (Clark et al. 2019, Figure 6)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from headscope.figures.points import head_points
from headscope.figures.style import subject
from headscope.results import Atlas
from headscope.stats import behaviours, scale
from headscope.stats.behaviour import OTHER


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
