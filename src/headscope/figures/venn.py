"""A Venn diagram of the heads of up to four roles (Pande et al. 2021, Figure 4), drawn as ellipses in which every combination has a region."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import ndimage

from headscope.errors import UserError
from headscope.figures.gallery import figure
from headscope.figures.roles import (
    NOTHING,
    heads_text,
    how,
    note,
    role_colours,
    shown_roles,
    titled,
)
from headscope.figures.style import subject
from headscope.results import Results
from headscope.stats.overlap import regions, role_sets
from headscope.stats.roles import COARSE, role_tests

TITLE = "Overlap of roles"
FINE_GRID = 400
PIXELS, HIGH = 470, 0.94
"""The width of the drawing, and its height as a share of it."""
DASHES: list[list[int]] = [[1, 0], [9, 3], [2, 2], [9, 3, 2, 3]]


class Ellipse(NamedTuple):
    """An ellipse in the unit square: centre, half axes, angle in degrees, and where its name stands."""

    x: float
    y: float
    long: float
    short: float
    angle: float
    name_x: float
    name_y: float

    def holds(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether points lie inside."""
        turn = np.deg2rad(self.angle)
        along, across = (
            (x - self.x) * np.cos(turn) + (y - self.y) * np.sin(turn),
            (y - self.y) * np.cos(turn) - (x - self.x) * np.sin(turn),
        )
        return np.asarray((along / self.long) ** 2 + (across / self.short) ** 2 < 1)

    def outline(self, points: int = 73) -> pd.DataFrame:
        """Points along it, in order."""
        turn, angle = np.deg2rad(self.angle), np.linspace(0, 2 * np.pi, points)
        along, across = self.long * np.cos(angle), self.short * np.sin(angle)
        return pd.DataFrame(
            {
                "x": self.x + along * np.cos(turn) - across * np.sin(turn),
                "y": self.y + along * np.sin(turn) + across * np.cos(turn),
                "step": range(points),
            }
        )


LAYOUTS: dict[int, tuple[Ellipse, ...]] = {
    1: (Ellipse(0.5, 0.5, 0.3, 0.3, 0, 0.5, 0.85),),
    2: (
        Ellipse(0.36, 0.5, 0.26, 0.26, 0, 0.22, 0.81),
        Ellipse(0.64, 0.5, 0.26, 0.26, 0, 0.78, 0.81),
    ),
    3: (
        Ellipse(0.37, 0.64, 0.25, 0.25, 0, 0.14, 0.9),
        Ellipse(0.63, 0.64, 0.25, 0.25, 0, 0.86, 0.9),
        Ellipse(0.5, 0.42, 0.25, 0.25, 0, 0.5, 0.13),
    ),
    4: (
        Ellipse(0.353, 0.42, 0.37, 0.235, 140, 0.12, 0.12),
        Ellipse(0.453, 0.52, 0.37, 0.235, 140, 0.2, 0.88),
        Ellipse(0.547, 0.52, 0.37, 0.235, 40, 0.8, 0.88),
        Ellipse(0.647, 0.42, 0.37, 0.235, 40, 0.88, 0.12),
    ),
}


def places(ellipses: Sequence[Ellipse]) -> dict[tuple[bool, ...], tuple[float, float]]:
    """Where the number of every combination stands: at the point of its region that is farthest from any line."""
    axis = (np.arange(FINE_GRID) + 0.5) / FINE_GRID
    x, y = np.meshgrid(axis, axis)
    inside = np.stack([ellipse.holds(x, y) for ellipse in ellipses])
    found = {}
    for combination in product((False, True), repeat=len(ellipses)):
        if any(combination):
            region = (inside == np.array(combination)[:, None, None]).all(0)
            row, column = np.unravel_index(
                int(np.argmax(ndimage.distance_transform_edt(region))), region.shape
            )
            found[combination] = (float(x[row, column]), float(y[row, column]))
    return found


def venn(tests: xr.Dataset, *, roles: Sequence[str] = COARSE, subtitle: str = "") -> Any:
    """How many heads have each combination of roles exactly. Areas are not proportional: with four sets no drawing of ellipses can make them so."""
    names = shown_roles(tests, roles)
    if not names:
        return note(NOTHING, TITLE, subtitle)
    if len(names) > max(LAYOUTS):
        raise UserError(
            f"a Venn diagram takes 1 to {max(LAYOUTS)} roles, got {len(names)} instead",
            hint="choose four of them, or draw the UpSet plot",
        )
    ellipses = LAYOUTS[len(names)]
    sets = role_sets(tests, names)
    numbers = venn_numbers(sets, ellipses)
    total = tests.sizes["layer"] * tests.sizes["head"]
    layers = []
    x, y = (
        alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 1])),
        alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, HIGH])),
    )
    for ellipse, colour, dash in zip(ellipses, role_colours(names), DASHES, strict=False):
        mark = {
            "fill": colour,
            "fillOpacity": 0.17,
            "stroke": colour,
            "strokeWidth": 2.2,
            "strokeDash": dash,
        }
        layers.append(
            alt.Chart(ellipse.outline())
            .mark_line(**mark)
            .encode(x=x, y=y, order="step:Q", tooltip=alt.value(None))
        )
    shown = [alt.Tooltip("roles:N"), alt.Tooltip("heads:Q"), alt.Tooltip("which:N", title="which")]
    counted = alt.Chart(numbers).encode(x=x, y=y, text="heads:Q", tooltip=shown)
    layers.append(
        counted.transform_filter("datum.heads > 0").mark_text(fontSize=14, fontWeight="bold")
    )
    layers.append(counted.transform_filter("datum.heads == 0").mark_text(fontSize=11, color="#777"))
    labels = pd.DataFrame(
        [
            {
                "x": ellipse.name_x,
                "y": ellipse.name_y,
                "name": name,
                "size": heads_text(len(sets[name])),
            }
            for name, ellipse in zip(names, ellipses, strict=True)
        ]
    )
    base = alt.Chart(labels).encode(x=x, y=y)
    layers += [
        base.mark_text(fontSize=13, fontWeight="bold").encode(text="name:N"),
        base.mark_text(fontSize=11, dy=14, color="#444").encode(text="size:N"),
    ]
    none = pd.DataFrame(
        {
            "x": [0.5],
            "y": [0.02],
            "what": [
                f"none of these roles: {total - len(set().union(*sets.values()))} of {total} heads"
            ],
        }
    )
    layers.append(
        alt.Chart(none).mark_text(fontSize=11, color="#444").encode(x=x, y=y, text="what:N")
    )
    return titled(
        alt.layer(*layers).properties(width=PIXELS, height=PIXELS * HIGH),
        TITLE,
        subtitle,
        how(tests),
    )


def venn_numbers(sets: dict[str, set[str]], ellipses: Sequence[Ellipse]) -> pd.DataFrame:
    """One row a combination of roles: its place, how many heads have exactly these, and which."""
    found = {str(row["roles"]): row for row in regions(sets).to_dict("records")}
    rows = []
    for combination, (x, y) in places(ellipses).items():
        label = " & ".join(name for name, inside in zip(sets, combination, strict=True) if inside)
        exact = found.get(label, {"heads": 0, "which": ""})
        rows.append(
            {"x": x, "y": y, "roles": label, "heads": exact["heads"], "which": exact["which"]}
        )
    return pd.DataFrame(rows)


@figure(
    "role-venn",
    title="Overlap of the four roles",
    caption="As Pande et al. 2021, Figure 4: how many heads have each combination of roles exactly, at τ = 3. Areas are not proportional to the numbers.",
    needs=("role",),
)
def _role_venn(results: Results) -> Any:
    tests = role_tests(results)
    return venn(
        tests, roles=shown_roles(tests)[: max(LAYOUTS)], subtitle=subject(results.provenance)
    )
