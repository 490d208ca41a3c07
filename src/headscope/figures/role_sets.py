"""Which heads have which roles together: Venn, UpSet, correlations, skills (Pande et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when they are used
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import UserError, unknown
from headscope.figures.builders import named, split_defined, squares, tips
from headscope.figures.gallery import figure
from headscope.figures.later import alt
from headscope.figures.roles import DASHES, NOTHING, PAPER, role_colours, shown_roles
from headscope.figures.sizes import fixed
from headscope.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    YELLOW,
    either_colour,
    note,
    styled,
    subject,
)
from headscope.heads import Head
from headscope.measures.roles import FAMILIES
from headscope.results import Atlas
from headscope.stats.heads.main_roles import main_roles
from headscope.stats.tables.role_tables import (
    RoleSets,
    layer_shares,
    present,
    regions,
    role_correlations,
    role_sets,
    skills,
)
from headscope.stats.tables.roles import COARSE, FINE, describe_test, role_tests


def heads_text(count: int) -> str:
    """Write a number of heads.

    Examples
    --------
    >>> heads_text(1), heads_text(2)
    ('1 head', '2 heads')
    """
    return f"{count} head{'' if count == 1 else 's'}"


# --- Venn: ellipses in which every combination of four sets has a region --------------------------

FINE_GRID = 400  # points along each side of the grid on which places for numbers are searched
PIXELS, HIGH = 470, 0.94  # the width of the drawing, and its height as a share of it


OVERLAP = "Overlap of roles"


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


# The ellipses of diagrams of one to four sets.
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
    upset : The same numbers as bars, for any number of roles.
    """
    names = shown_roles(tests, roles)
    if not names:
        return note(NOTHING, OVERLAP, subtitle)
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
    return fixed(styled(drawing, OVERLAP, subtitle, describe_test(tests)))


def _outlines(ellipses: Sequence[Ellipse], names: list[str], x: Any, y: Any) -> list[Any]:
    """Draw the ellipses; they differ in dashes as well as in colour."""
    marks = []
    for ellipse, colour, dash in zip(ellipses, role_colours(names), DASHES, strict=False):
        line = alt.Chart(ellipse.outline()).mark_line(
            fill=colour, fillOpacity=0.17, stroke=colour, strokeWidth=2.2, strokeDash=dash
        )
        marks.append(line.encode(x=x, y=y, order="step:Q", tooltip=alt.value(None)))
    return marks


def _numbers(numbers: pd.DataFrame, x: Any, y: Any) -> list[Any]:
    """Draw how many heads there are in each region; noughts are pale."""
    shown = tips("roles", "heads:Q", "which", which="which")
    counted = alt.Chart(numbers).encode(x=x, y=y, text="heads:Q", tooltip=shown)
    return [
        counted.transform_filter("datum.heads > 0").mark_text(fontSize=14, fontWeight="bold"),
        counted.transform_filter("datum.heads == 0").mark_text(fontSize=11, color="#777"),
    ]


def _labels(sets: RoleSets, ellipses: Sequence[Ellipse], x: Any, y: Any) -> list[Any]:
    """Draw the name and the size of each set beside its ellipse."""
    rows = [
        {"x": ellipse.name_x, "y": ellipse.name_y, "name": name, "size": heads_text(len(heads))}
        for (name, heads), ellipse in zip(sets.items(), ellipses, strict=True)
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


@figure("role-venn", title="Overlap of the four roles", needs=["role"])
def role_venn(results: Atlas) -> Any:
    """After Pande et al. 2021, Figure 4: how many heads have exactly each combination of roles.
    Areas are not proportional to the numbers.
    """
    tests = role_tests(results)
    chosen = shown_roles(tests)[: max(LAYOUTS)]
    return venn(tests, roles=chosen, subtitle=subject(results.provenance))


# --- UpSet: one bar per combination, above dots that say which roles it is ------------------------

EXACTLY = "Heads with exactly these roles"
NONE = "none of these roles"
# Pixels of a combination's width, of a role's height, of the bars' height and the sizes' width.
STEP, ROW, BARS, SIZES = 27, 24, 170, 130


def upset(
    tests: xr.Dataset, *, roles: Sequence[str] = COARSE, subtitle: str = "", most: int = 24
) -> Any:
    """Draw how many heads have exactly each combination of roles.

    Parameters
    ----------
    tests : Dataset
        From :func:`headscope.stats.role_tests`.
    roles : sequence of str
        The roles; by default the paper's four.
    subtitle : str
        Under the title.
    most : int
        So many combinations are drawn, the largest first.

    Returns
    -------
    altair chart
        Bars of combinations, dots of their roles, and on the right all heads of each role. Heads
        with none of the roles are a combination too.
    """
    names = shown_roles(tests, roles)
    if not names:
        return note(NOTHING, EXACTLY, subtitle)
    sets = role_sets(tests, names)
    every = combinations_of(sets, tests.sizes["layer"] * tests.sizes["head"])
    drawn = every.head(most)
    order = list(drawn["roles"])
    x = alt.X("roles:N", sort=order, axis=None, scale=alt.Scale(domain=order))
    width = max(150, STEP * len(order))
    parts = [_bars(drawn, x, width), _blank(), _dots(order, names, x, width), _sizes(sets)]
    largest = f"the {most} largest of {len(every)} combinations; " if len(every) > most else ""
    return styled(
        alt.concat(*parts, columns=2, spacing=8),
        EXACTLY,
        subtitle,
        f"{largest}{describe_test(tests)}",
        "a column without a black dot: heads with none of these roles",
    )


def _bars(drawn: pd.DataFrame, x: Any, width: int) -> Any:
    """Draw one bar per combination with its number."""
    bars = alt.Chart(drawn, width=width, height=BARS).encode(
        x=x,
        y=alt.Y(
            "heads:Q",
            title="heads",
            axis=alt.Axis(tickMinStep=1),
            scale=alt.Scale(domain=[0, 1.1 * float(drawn["heads"].max())], nice=False),
        ),
        tooltip=tips("roles", "heads:Q", "which"),
    )
    return alt.layer(
        bars.mark_bar(color="#444"), bars.mark_text(dy=-7, fontSize=11).encode(text="heads:Q")
    )


def _blank() -> Any:
    """Return an empty corner above the sizes of the roles."""
    return (
        alt.Chart(pd.DataFrame({"what": [""]}), width=SIZES, height=BARS)
        .mark_text()
        .encode(text="what:N")
        .properties(view=alt.ViewConfig(stroke=None))
    )


def _dots(order: list[str], names: list[str], x: Any, width: int) -> Any:
    """Draw the matrix of dots, with a line through the roles of a combination."""
    cells = pd.DataFrame(
        [
            {"roles": label, "role": name, "inside": name in label.split(" & ")}
            for label in order
            for name in names
        ]
    )
    axis = alt.Axis(labelFontSize=12, ticks=False, domain=False)
    y = alt.Y("role:N", sort=names, scale=alt.Scale(domain=names), title=None, axis=axis)
    dots = alt.Chart(cells, width=width, height=ROW * len(names)).encode(x=x, y=y)
    ink = either_colour("datum.inside", BLACK, "#e2e2e2")
    joined = dots.transform_filter("datum.inside").mark_line(strokeWidth=2.5, color=BLACK)
    return alt.layer(
        joined.encode(detail="roles:N"), dots.mark_circle(size=150, opacity=1).encode(color=ink)
    )


def _sizes(sets: RoleSets) -> Any:
    """Draw how many heads have each role, alone or with others."""
    names = list(sets)
    counts = [len(heads) for heads in sets.values()]
    frame = pd.DataFrame({"role": names, "heads": counts, "colour": role_colours(names)})
    rows = alt.Chart(frame, width=SIZES, height=ROW * len(names)).encode(
        y=alt.Y("role:N", sort=names, scale=alt.Scale(domain=names), axis=None),
        x=alt.X(
            "heads:Q",
            title="all heads with the role",
            axis=alt.Axis(tickMinStep=1, tickCount=4),
            scale=alt.Scale(domain=[0, 1.25 * max(1, *counts)], nice=False),
        ),
    )
    return alt.layer(
        rows.mark_bar().encode(color=alt.Color("colour:N", scale=None)),
        rows.mark_text(align="left", dx=4, fontSize=11).encode(text="heads:Q"),
    )


def combinations_of(sets: RoleSets, total: int) -> pd.DataFrame:
    """List the combinations that some head has exactly, the largest first.

    Parameters
    ----------
    sets : mapping of str to set of Head
        The heads of each role.
    total : int
        How many heads there are, in order to count those with no role.

    Returns
    -------
    DataFrame
        With the columns roles, degree, heads and which.

    Examples
    --------
    >>> sets = {"local": {"1-1", "1-2"}, "block": {"1-2"}}
    >>> combinations_of(sets, 3)[["roles", "heads"]].values.tolist()
    [['none of these roles', 1], ['local', 1], ['local & block', 1]]
    """
    rows = regions(sets).to_dict("records")
    none = total - len(set().union(*sets.values()))
    if none:
        rows.append({"roles": NONE, "degree": 0, "heads": none, "which": ""})
    return pd.DataFrame(rows).sort_values(
        ["heads", "degree", "roles"], ascending=[False, True, True], ignore_index=True
    )


@figure("role-upset", title="Combinations of the four roles", needs=["role"])
def role_upset(results: Atlas) -> Any:
    """Each bar counts the heads that have exactly the roles with a black dot below it. A column
    without a black dot counts heads with none of them. On the right: all heads of each role.
    """
    return upset(role_tests(results), subtitle=subject(results.provenance))


# --- How alike the scores of two roles are --------------------------------------------------------

ALIKE = "Correlation of roles (Spearman)"
OVER = {"heads": "over all heads: their mean scores", "sequences": "over all heads and sequences"}


@figure("role-correlations", title="Correlation of roles", needs=["role"])
def role_correlations_map(results: Atlas) -> Any:
    """Spearman's correlation between the sieve biases of every two roles: over heads and sequences
    if single scores were kept, otherwise over heads. Pande et al. 2021 report 0.73 to 0.85 for
    local and syntactic.
    """
    about = subject(results.provenance)
    roles = shown_roles(role_tests(results), PAPER)
    if not roles:
        return note(NOTHING, ALIKE, about)
    table = role_correlations(results, roles)
    over = "sequences" if "rho (sequences)" in table else "heads"
    return correlation_map(table, over=over, subtitle=about)


def correlation_map(correlations: pd.DataFrame, *, over: str = "heads", subtitle: str = "") -> Any:
    """Draw one square for every two roles, with their correlation.

    Parameters
    ----------
    correlations : DataFrame
        From :func:`headscope.stats.role_correlations`.
    over : {"heads", "sequences"}
        Which of its correlations to draw.
    subtitle : str
        Under the title.

    Returns
    -------
    altair chart

    Raises
    ------
    UserError
        If the correlations are not over ``over``.
    """
    if correlations.empty:
        return note("there is only one role, which has nothing to correlate with", ALIKE, subtitle)
    if f"rho ({over})" not in correlations:
        there = [kind for kind in OVER if f"rho ({kind})" in correlations]
        raise unknown("kind of correlation", over, there)
    columns = {f"{part} ({over})": part for part in ("rho", "p", "n")}
    half = correlations[["role", "other", *columns]].rename(columns=columns)
    names = list(dict.fromkeys([*half["role"], *half["other"]]))
    turned = half.rename(columns={"role": "other", "other": "role"})
    side = len(names)
    base = alt.Chart(
        pd.concat([half, turned], ignore_index=True), width=40 * side, height=24 * side
    )
    order: dict[str, Any] = {"sort": names, "scale": alt.Scale(domain=names), "title": None}
    base = base.encode(
        x=alt.X("other:N", axis=alt.Axis(labelAngle=-45), **order),
        y=alt.Y("role:N", **order),
        tooltip=tips("role", "other", "rho .3f", "p .2g", "n:Q", rho="ρ"),
    )
    known, undefined = split_defined(base, "rho")
    scale = alt.Scale(scheme="blueorange", domain=[-1, 1], reverse=True)
    ink = either_colour("abs(datum.rho) > 0.7", "white", "black")
    marks = [
        undefined.mark_rect(color=GREY),
        undefined.mark_text(text="–", color="#555"),
        known.mark_rect().encode(color=alt.Color("rho:Q", scale=scale, title="ρ, −1 to 1")),
        known.mark_text(fontSize=11).encode(text=alt.Text("rho:Q", format=".2f"), color=ink),
    ]
    return styled(alt.layer(*marks), ALIKE, subtitle, OVER[over])


# --- A square per head, in nine parts -------------------------------------------------------------

SKILLS = "Skills of every head"
COLOURS = (GREEN, "#8FD3B6", PURPLE, BLUE, SKY, RED, ORANGE, YELLOW, "#8C6D31")
DARK = {GREEN, BLUE, RED, "#8C6D31"}
UNSKILLED = "#e9e9e9"
GAP = 0.16  # between heads, as a share of a head's square


def skill_grid(tests: xr.Dataset, *, roles: Sequence[str] = FINE, subtitle: str = "") -> Any:
    """Draw every head as a square of nine roles in fixed places.

    Parameters
    ----------
    tests : Dataset
        From :func:`headscope.stats.role_tests`.
    roles : sequence of str
        Nine roles; by default the fine roles of the paper.
    subtitle : str
        Under the title.

    Returns
    -------
    altair chart
        Rows are layers, 1 at the bottom; in each, heads with more roles come first. The key below
        the grid says which part of a square is which role; colours only help.

    Raises
    ------
    UserError
        If there are not nine roles.
    """
    if len(roles) != 9:
        raise UserError(
            f"the roles must be nine, one for each part of a square; got {len(roles)} instead",
            hint="give nine roles, or none for those of the paper",
        )
    there = present(tests, roles)
    if not there:
        tested = present(tests, [str(name) for name in tests["role"].values])
        return note(
            "none of the nine roles could be tested" if tested else NOTHING, SKILLS, subtitle
        )
    whole = alt.vconcat(_grid(tests, roles), _key(tests, roles, there), spacing=16)
    whole = whole.resolve_scale(x="independent", y="independent")
    return fixed(styled(whole, SKILLS, subtitle, describe_test(tests)))


def _grid(tests: xr.Dataset, roles: Sequence[str]) -> Any:
    """Draw all heads."""
    layers, heads = tests.sizes["layer"], tests.sizes["head"]
    side = 36 if max(heads, layers) <= 16 else 27
    bare: dict[str, Any] = {"ticks": False, "grid": False}
    x = alt.X(
        "left:Q",
        scale=alt.Scale(domain=[0, heads], nice=False),
        title="heads, most roles first",
        axis=alt.Axis(labels=False, **bare),
    )
    middles = [number + 0.5 for number in range(layers)]
    y = alt.Y(
        "bottom:Q",
        scale=alt.Scale(domain=[0, layers], nice=False),
        title="layer",
        axis=alt.Axis(values=middles, labelExpr="datum.value + 0.5", domain=False, **bare),
    )
    ends: dict[str, Any] = {"x": x, "x2": "right:Q", "y": y, "y2": "top:Q"}
    # As text: a large model has more rows than Altair takes in a frame, and it copies lists often.
    cells = alt.Data(
        values=skill_cells(tests, roles).to_json(orient="records", double_precision=6),
        format=alt.DataFormat(type="json"),
    )
    shown = tips("name", "role", "has", "skills:Q", has="has it", skills="roles in all")
    parts = alt.Chart(cells).mark_rect(stroke="white", strokeWidth=0.5)
    frames = alt.Chart(_frames(heads, layers))
    return alt.layer(
        frames.mark_rect(filled=False, stroke="#bbb", strokeWidth=0.7).encode(**ends),
        parts.encode(**ends, color=alt.Color("colour:N", scale=None), tooltip=shown),
    ).properties(width=side * heads, height=side * layers)


def _frames(heads: int, layers: int) -> pd.DataFrame:
    """Return the thin frame around every head."""
    rim = GAP / 5
    rows = [
        {"left": column + rim, "right": column + 1 - rim, "bottom": row + rim, "top": row + 1 - rim}
        for column in range(heads)
        for row in range(layers)
    ]
    return pd.DataFrame(rows)


def skill_cells(tests: xr.Dataset, roles: Sequence[str] = FINE) -> pd.DataFrame:
    """Return one row per head and tested role: its part of the square, its colour and name."""
    frame = skills(tests, roles)
    position = frame["role"].map({role: index for index, role in enumerate(roles)})
    part = (1 - GAP) / 3
    frame["left"] = frame["place"] - 1 + GAP / 2 + position % 3 * part
    frame["top"] = frame["layer"] - GAP / 2 - position // 3 * part
    frame["right"], frame["bottom"] = frame["left"] + part, frame["top"] - part
    frame["colour"] = position.map(dict(enumerate(COLOURS))).where(frame["has"], UNSKILLED)
    frame["name"] = frame["layer"].astype(str) + "-" + frame["head"].astype(str)
    return frame


def _key(tests: xr.Dataset, roles: Sequence[str], there: Sequence[str]) -> Any:
    """Draw one large square with the names of the roles, and how many heads have each."""
    frame = pd.DataFrame([_key_row(tests, role, there, i) for i, role in enumerate(roles)])
    scale = alt.Scale(paddingInner=0, paddingOuter=0)
    base = alt.Chart(frame, width=98 * 3, height=46 * 3).encode(
        x=alt.X("column:O", axis=None, scale=scale), y=alt.Y("row:O", axis=None, scale=scale)
    )
    ink = alt.Color("ink:N", scale=None)
    square = base.mark_rect(stroke="#999", strokeWidth=1)
    absent = " Empty: not tested here." if len(there) < len(roles) else ""
    heading = alt.TitleParams(
        "Each head is a square like this one.",
        subtitle=f"Grey: does not have the role.{absent}",
        fontSize=11,
        subtitleFontSize=11,
        fontWeight="normal",
        anchor="start",
        orient="bottom",
    )
    return alt.layer(
        square.encode(color=alt.Color("colour:N", scale=None)),
        base.mark_text(fontSize=11, dy=-7, fontWeight="bold").encode(text="role:N", color=ink),
        base.mark_text(fontSize=11, dy=8).encode(text="count:N", color=ink),
    ).properties(title=heading)


def _key_row(tests: xr.Dataset, role: str, there: Sequence[str], place: int) -> dict[str, Any]:
    """Return what the key shows of one role."""
    tested = role in there
    colour = COLOURS[place] if tested else "white"
    return {
        "column": place % 3,
        "row": place // 3,
        "role": role,
        "count": heads_text(int(tests["has"].sel(role=role).sum())) if tested else "–",
        "colour": colour,
        "ink": "white" if colour in DARK else "black",
    }


@figure("role-skills", title="Skills of every head, by layer", needs=["role"])
def role_skills(results: Atlas) -> Any:
    """After Pande et al. 2021, Figure 5: each head is a square of nine fine roles in fixed places,
    coloured where it has the role; the most skilled heads come first. Hover for the head.
    """
    return skill_grid(role_tests(results), subtitle=subject(results.provenance))


# --- Which layers have which roles ----------------------------------------------------------------


def role_layers(tests: xr.Dataset, *, roles: Sequence[str] = PAPER, subtitle: str = "") -> Any:
    """Draw the percentage of each layer's heads that have each role.

    Parameters
    ----------
    tests : Dataset
        From :func:`headscope.stats.role_tests`.
    roles : sequence of str
        One row each; by default all roles of the paper.
    subtitle : str
        Under the title.

    Returns
    -------
    altair chart
        One square per role and layer; above, how many of the nine fine roles a head has on average.
    """
    names = shown_roles(tests, roles)
    if not names:
        return note(NOTHING, "Roles by layer", subtitle)
    frame = layer_shares(tests, names)
    width = max(200, 34 * tests.sizes["layer"])
    # The last column is the mean number of fine roles per head.
    means = frame[["layer", frame.columns[-1]]].set_axis(["layer", "roles"], axis=1)
    shares = frame.melt(id_vars=["layer"], value_vars=names, var_name="role", value_name="share")
    return styled(
        alt.vconcat(_means(means, width), _shares(shares, names, width), spacing=6),
        "Roles by layer",
        subtitle,
        describe_test(tests),
    )


def _shares(frame: pd.DataFrame, names: list[str], width: int) -> Any:
    """Draw one square per role and layer with its percentage."""
    base = alt.Chart(frame, width=width, height=22 * len(names)).encode(
        x=alt.X("layer:O", title="layer", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("role:N", sort=names, title=None, scale=alt.Scale(domain=names)),
        tooltip=tips("role", "layer:O", "share .1%", share="share of heads"),
    )
    colour = alt.Color(
        "share:Q",
        scale=alt.Scale(scheme="viridis", domain=[0, 1]),
        title=["share", "of heads"],
        legend=alt.Legend(format="%"),
    )
    ink = either_colour("datum.share > 0.5", "black", "white")
    numbers = base.mark_text(fontSize=11).encode(
        text=alt.Text("percent:Q", format=".0f"), color=ink
    )
    return alt.layer(
        base.mark_rect().encode(color=colour),
        numbers.transform_calculate(percent="100 * datum.share"),
    )


def _means(frame: pd.DataFrame, width: int) -> Any:
    """Draw one bar per layer: the mean number of fine roles per head."""
    scale = alt.Scale(domain=[0, 1.25 * max(1.0, float(frame["roles"].max()))], nice=False)
    top = alt.Chart(frame, width=width, height=70).encode(
        x=alt.X("layer:O", title=None, axis=alt.Axis(labels=False, ticks=False)),
        y=alt.Y("roles:Q", title=["fine roles", "per head"], scale=scale),
        tooltip=tips("layer:O", "roles .2f", roles="fine roles per head"),
    )
    return alt.layer(
        top.mark_bar(color=GREY),
        top.mark_text(dy=-7, fontSize=11).encode(text=alt.Text("roles:Q", format=".1f")),
    )


@figure("role-layers", title="Roles by layer", needs=["role"])
def role_layers_map(results: Atlas) -> Any:
    """The percentage of each layer's heads that have each role; above it, how many of the nine fine
    roles a head has on average (Pande et al. 2021).
    """
    return role_layers(role_tests(results), subtitle=subject(results.provenance))


# --- The main role of every head: the atlas of the page, on paper ---------------------------------


@figure("main-roles", title="What each head does", needs=["activity", "work", "spread"])
def main_role_map(results: Atlas) -> Any:
    """The family of each head's main role, as on the page: the paler, the less its active attention
    is above chance. Heads without a role read broadly, show no clear role, or rest on sinks.
    """
    table = main_roles(results)
    heads = [Head.parse(name) for name in table["head"]]
    families = [FAMILIES[name] for name in table["family"]]
    known = {one.title: one.colours[0] for one in FAMILIES.values() if one in families}
    frame = pd.DataFrame(
        {
            "layer": [head.layer + 1 for head in heads],
            "head": [head.head + 1 for head in heads],
            "name": table["head"],
            "family": [one.title for one in families],
            "glyph": [one.glyph for one in families],
            "white": [one.dark for one in families],
            "excess": np.where([bool(one.glyph) for one in families], table["excess"], 1.0),
        }
    )
    strength = alt.Opacity("excess:Q", scale=alt.Scale(domain=[0, 0.5], range=[0.4, 1], clamp=True))
    legend = alt.Legend(orient="bottom", columns=2)
    base = squares(frame)
    cells = base.mark_rect(stroke="#D6D5D1", strokeWidth=0.5).encode(
        color=alt.Color("family:N", title=None, scale=named(known), legend=legend),
        opacity=strength.legend(None),
        tooltip=tips("name", "family", "excess .2f", name="head", excess="above chance"),
    )
    ink = either_colour("datum.white && datum.excess > 0.2", "white", "black")
    glyphs = base.mark_text(fontSize=11).encode(text="glyph:N", color=ink)
    title = "What each head does"
    return styled(alt.layer(cells, glyphs), title, subject(results.provenance))
