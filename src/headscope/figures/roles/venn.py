"""A Venn diagram of the heads of up to four roles (Pande et al. 2021, Figure 4).

It is drawn with ellipses, in which every combination of four sets has a region.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd
import scipy  # its parts are loaded when they are used
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.figures.roles.common import (
    NOTHING,
    heads_text,
    role_colours,
    shown_roles,
)
from headscope.figures.style import note, styled, subject
from headscope.results import Atlas
from headscope.stats.tables.role_tables import RoleSets, regions, role_sets
from headscope.stats.tables.roles import COARSE, describe_test, role_tests

TITLE = "Overlap of roles"
FINE_GRID = 400
"""Points along each side of the grid on which places for numbers are searched."""
PIXELS, HIGH = 470, 0.94
"""The width of the drawing, and its height as a share of it."""
DASHES: list[list[int]] = [[1, 0], [9, 3], [2, 2], [9, 3, 2, 3]]


class Ellipse(NamedTuple):
    """An ellipse in the unit square: centre, half axes, angle in degrees, place of its name."""

    x: float
    y: float
    long: float
    short: float
    angle: float
    name_x: float
    name_y: float

    def holds(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which points lie inside.

        Examples
        --------
        >>> circle = Ellipse(0.5, 0.5, 0.3, 0.3, 0, 0.5, 0.85)
        >>> circle.holds(np.array([0.5, 0.9]), np.array([0.5, 0.9])).tolist()
        [True, False]
        """
        turn = np.deg2rad(self.angle)
        right, up = x - self.x, y - self.y
        along = right * np.cos(turn) + up * np.sin(turn)
        across = up * np.cos(turn) - right * np.sin(turn)
        return np.asarray((along / self.long) ** 2 + (across / self.short) ** 2 < 1)

    def outline(self, points: int = 73) -> pd.DataFrame:
        """Return points along it, in order."""
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
"""The ellipses of diagrams of one to four sets."""


def venn(tests: xr.Dataset, *, roles: Sequence[str] = COARSE, subtitle: str = "") -> Any:
    """Draw how many heads have exactly each combination of roles.

    Areas are not proportional: with four sets, ellipses cannot be made so.

    Parameters
    ----------
    tests : Dataset
        From :func:`headscope.stats.role_tests`.
    roles : sequence of str
        One to four roles; by default the paper's four.
    subtitle : str
        Under the title.

    Returns
    -------
    altair chart

    Raises
    ------
    UserError
        If there are more than four roles.

    See Also
    --------
    headscope.figures.roles.upset.upset : The same numbers as bars, for any number of roles.
    """
    names = shown_roles(tests, roles)
    if not names:
        return note(NOTHING, TITLE, subtitle)
    if len(names) > max(LAYOUTS):
        raise UserError(
            f"a Venn diagram takes 1 to {max(LAYOUTS)} roles, got {len(names)} instead",
            hint="choose four of them, or draw the UpSet plot",
        )
    ellipses, sets = LAYOUTS[len(names)], role_sets(tests, names)
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, HIGH]))
    total = tests.sizes["layer"] * tests.sizes["head"]
    rest = total - len(set().union(*sets.values()))
    words = pd.DataFrame(
        {"x": [0.5], "y": [0.02], "what": [f"none of these roles: {rest} of {total} heads"]}
    )
    none = alt.Chart(words).mark_text(fontSize=11, color="#444")
    marks = [
        *_outlines(ellipses, names, x, y),
        *_numbers(venn_numbers(sets, ellipses), x, y),
        *_labels(sets, ellipses, x, y),
        none.encode(x=x, y=y, text="what:N"),
    ]
    drawing = alt.layer(*marks).properties(width=PIXELS, height=PIXELS * HIGH)
    return styled(drawing, TITLE, subtitle, describe_test(tests))


def _outlines(ellipses: Sequence[Ellipse], names: list[str], x: alt.X, y: alt.Y) -> list[Any]:
    """Draw the ellipses; they differ in dashes as well as in colour."""
    marks = []
    for ellipse, colour, dash in zip(ellipses, role_colours(names), DASHES, strict=False):
        line = alt.Chart(ellipse.outline()).mark_line(
            fill=colour, fillOpacity=0.17, stroke=colour, strokeWidth=2.2, strokeDash=dash
        )
        marks.append(line.encode(x=x, y=y, order="step:Q", tooltip=alt.value(None)))
    return marks


def _numbers(numbers: pd.DataFrame, x: alt.X, y: alt.Y) -> list[Any]:
    """Draw how many heads there are in each region; noughts are pale."""
    shown = [alt.Tooltip("roles:N"), alt.Tooltip("heads:Q"), alt.Tooltip("which:N", title="which")]
    counted = alt.Chart(numbers).encode(x=x, y=y, text="heads:Q", tooltip=shown)
    return [
        counted.transform_filter("datum.heads > 0").mark_text(fontSize=14, fontWeight="bold"),
        counted.transform_filter("datum.heads == 0").mark_text(fontSize=11, color="#777"),
    ]


def _labels(sets: RoleSets, ellipses: Sequence[Ellipse], x: alt.X, y: alt.Y) -> list[Any]:
    """Draw the name and the size of each set beside its ellipse."""
    rows = [
        {"x": one.name_x, "y": one.name_y, "name": name, "size": heads_text(len(heads))}
        for (name, heads), one in zip(sets.items(), ellipses, strict=True)
    ]
    base = alt.Chart(pd.DataFrame(rows)).encode(x=x, y=y)
    return [
        base.mark_text(fontSize=13, fontWeight="bold").encode(text="name:N"),
        base.mark_text(fontSize=11, dy=14, color="#444").encode(text="size:N"),
    ]


def places(ellipses: Sequence[Ellipse]) -> dict[tuple[bool, ...], tuple[float, float]]:
    """Find where the number of each combination stands.

    Parameters
    ----------
    ellipses : sequence of Ellipse
        The sets.

    Returns
    -------
    dict
        By combination (inside each ellipse or not): the point of its region that is farthest from
        any line.
    """
    axis = (np.arange(FINE_GRID) + 0.5) / FINE_GRID
    x, y = np.meshgrid(axis, axis)
    inside = np.stack([ellipse.holds(x, y) for ellipse in ellipses])
    points = {}
    for combination in product((False, True), repeat=len(ellipses)):
        if any(combination):
            region = (inside == np.array(combination)[:, None, None]).all(0)
            farthest = int(np.argmax(scipy.ndimage.distance_transform_edt(region)))
            row, column = np.unravel_index(farthest, region.shape)
            points[combination] = (float(x[row, column]), float(y[row, column]))
    return points


def venn_numbers(sets: RoleSets, ellipses: Sequence[Ellipse]) -> pd.DataFrame:
    """Return one row per combination: its place, and which heads have exactly these roles."""
    exact = {str(row["roles"]): row for row in regions(sets).to_dict("records")}
    nobody = {"heads": 0, "which": ""}
    rows = []
    for combination, (x, y) in places(ellipses).items():
        label = " & ".join(name for name, inside in zip(sets, combination, strict=True) if inside)
        row = exact.get(label, nobody)
        rows.append({"x": x, "y": y, "roles": label, "heads": row["heads"], "which": row["which"]})
    return pd.DataFrame(rows)


def role_venn(results: Atlas) -> Any:
    """Draw the overlap of the paper's four roles."""
    tests = role_tests(results)
    chosen = shown_roles(tests)[: max(LAYOUTS)]
    return venn(tests, roles=chosen, subtitle=subject(results.provenance))
