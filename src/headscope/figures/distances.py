"""Heads that attend alike, close together, and what each mainly does (Clark 2019, Figure 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from headscope.figures.builders import SHAPES, tips
from headscope.figures.gallery import figure
from headscope.figures.later import alt
from headscope.figures.sizes import fixed
from headscope.figures.style import COLOURS, styled, subject
from headscope.heads import Head, all_heads
from headscope.results import Atlas
from headscope.stats import scale
from headscope.stats.grid import heads_over, labelled_head
from headscope.stats.tables.relations import LEAST, best_heads

# --- Heads as points in the plane -----------------------------------------------------------------

MORE = [*COLOURS, "#8C6D31", "#6B6ECF"]
# The colour of the last category, "none of these".
OTHERS = "#c4c9cf"
WIDTH, HEIGHT = 605, 520
LETTERS = 11  # the size of names in pixels
POINT = 3.5  # half the size of a point in pixels; a name may touch its edge
# The width of a digit and of a hyphen and the height of digits, as shares of a name's size; and
# the pixels that stay free to the left and right of a name.
DIGIT, HYPHEN, HIGH, MARGIN = 0.63, 0.36, 0.72, 1.5
Box = tuple[float, float, float, float]


def head_points(
    points: pd.DataFrame,
    *,
    title: str,
    subtitle: str = "",
    colour: str,
    categories: list[str] | None = None,
) -> Any:
    """Draw one point per head with its name, where there is room for it; all are named on hover.

    Parameters
    ----------
    points : DataFrame
        With the columns name, x and y, and the one that colours the points.
    title, subtitle : str
        Above the figure; the subtitle may have several lines.
    colour : str
        The column that colours the points: a number (the layer), or a category.
    categories : list of str, optional
        The categories in the order of the legend; the last one, "none of these", is context: small
        and grey, without names. Without categories, ``colour`` is a number.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> points = pd.DataFrame({"name": ["1-1"], "x": [0.0], "y": [1.0], "layer": [1]})
    >>> chart = head_points(points, title="Heads", colour="layer")
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['point', 'text']
    """
    frame = points.assign(context=False if categories is None else points[colour] == categories[-1])
    frame = frame.sort_values("context", ascending=False, kind="stable")  # context lies below
    ends = {}
    for axis in ("x", "y"):
        low, high = float(frame[axis].min()), float(frame[axis].max())
        margin = 0.08 * (high - low) or 1.0  # room for names
        ends[axis] = (low - margin, high + margin)
    looks = {
        axis: {
            "axis": alt.Axis(labels=False, ticks=False),
            "scale": alt.Scale(domain=list(domain), nice=False, zero=False),
        }
        for axis, domain in ends.items()
    }
    x = alt.X("x:Q", title="first dimension (no unit)", **looks["x"])
    y = alt.Y("y:Q", title="second dimension (no unit)", **looks["y"])
    marks = (
        alt.Chart(frame)
        .mark_point(filled=True, opacity=0.9)
        .encode(
            x=x,
            y=y,
            size=alt.condition("datum.context", alt.value(25), alt.value(70)),
            tooltip=tips("name", colour),
            **_colours(colour, categories),
        )
    )
    words = alt.Chart(_names(frame, ends["x"], ends["y"])).mark_text(fontSize=LETTERS, color="#333")
    drawn = alt.layer(marks, words.encode(x=x, y=y, text="name:N"))
    drawn = drawn.properties(width=WIDTH, height=HEIGHT)
    return fixed(styled(drawn, title, *subtitle.splitlines()))


def _colours(colour: str, categories: list[str] | None) -> dict[str, Any]:
    """Return the encodings of colour and shape."""
    if categories is None:
        below = alt.Legend(orient="bottom", columns=12)
        numbers = alt.Scale(scheme="viridis")
        return {"color": alt.Color(f"{colour}:O", scale=numbers, title=colour, legend=below)}
    count = len(categories) - 1
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=240)
    colours = alt.Scale(domain=categories, range=[*(MORE * 4)[:count], OTHERS])
    shapes = alt.Scale(domain=categories, range=[*(SHAPES * 4)[:count], "circle"])
    return {
        "color": alt.Color(f"{colour}:N", scale=colours, title=colour, legend=legend),
        "shape": alt.Shape(f"{colour}:N", scale=shapes, title=colour, legend=legend),
    }


def _names(
    frame: pd.DataFrame, across: tuple[float, float], down: tuple[float, float]
) -> pd.DataFrame:
    """Return the names for which there is room, each with the place of its middle."""
    width, height = across[1] - across[0], down[1] - down[0]
    places = name_places(
        [(x - across[0]) / width * WIDTH for x in frame["x"]],
        [(down[1] - y) / height * HEIGHT for y in frame["y"]],
        list(frame["name"].where(~frame["context"], "")),
    )
    rows = [
        {
            "name": name,
            "x": across[0] + place[0] / WIDTH * width,
            "y": down[1] - place[1] / HEIGHT * height,
        }
        for name, place in zip(frame["name"], places, strict=True)
        if place
    ]
    return pd.DataFrame(rows, columns=["name", "x", "y"])


def name_size(name: str) -> tuple[float, float]:
    """Return half the width and half the height of a head's name, in pixels.

    Examples
    --------
    >>> [round(side, 1) for side in name_size("3-12")]
    [13.9, 4.0]
    """
    hyphens = name.count("-")
    width = DIGIT * (len(name) - hyphens) + HYPHEN * hyphens
    return LETTERS * width / 2 + MARGIN, LETTERS * HIGH / 2


def name_places(
    across: Sequence[float], down: Sequence[float], names: Sequence[str]
) -> list[tuple[float, float] | None]:
    """Find room for the names of points: at a corner or a side, hiding no point and no name.

    Parameters
    ----------
    across, down : sequence of float
        Where the points are, in pixels.
    names : sequence of str
        The names; empty for a point that is not to be named.

    Returns
    -------
    list
        The middle of each name in pixels; None for a point without a name or without room for it.

    Examples
    --------
    >>> places = name_places([50, 120], [50, 50], ["1-3", ""])
    >>> places[1] is None
    True
    """
    taken = [(x, y, POINT, POINT) for x, y in zip(across, down, strict=True)]
    places: list[tuple[float, float] | None] = []
    for x, y, name in zip(across, down, names, strict=True):
        half, high = name_size(name)
        beside, above = half + POINT + 2, high + POINT + 1
        around = [(1, -1), (-1, -1), (1, 1), (-1, 1), (1, 0), (-1, 0), (0, -1), (0, 1)]
        boxes = [(x + dx * beside, y + dy * above, half, high) for dx, dy in around]
        free = [box for box in boxes if not any(_touch(box, other) for other in taken)]
        if not name or not free:
            places.append(None)
            continue
        taken.append(free[0])
        places.append(free[0][:2])
    return places


def _touch(one: Box, other: Box) -> bool:
    """Tell whether two boxes (middle across and down, half width and height) overlap."""
    return abs(one[0] - other[0]) < one[2] + other[2] and abs(one[1] - other[1]) < one[3] + other[3]


# --- What each head mostly does -------------------------------------------------------------------

# The behaviour of a head that none of the thresholds fits.
OTHER = "none of these"
TOKENS = {"cls": "[CLS]", "sep": "[SEP]", "punctuation": "full stop or comma"}
# Between these ends, thresholds on shares of attention are taken from the data. The paper calls
# heads with over half of their attention on a token specialised.
LOWEST, HIGHEST = 0.2, 0.5


@figure("heads-by-layer", title="Heads by distance, coloured by layer", needs=["distance"])
def heads_by_layer(results: Atlas) -> Any:
    """After Clark et al. 2019, Figure 6: heads that attend alike are close together (metric
    multidimensional scaling of Jensen–Shannon divergences).
    """
    points, line = _scaled(results)
    return head_points(
        points.assign(layer=points["name"].str.split("-").str[0].astype(int)),
        title="Heads by distance: layers",
        subtitle=line,
        colour="layer",
    )


@figure(
    "heads-by-behaviour",
    title="Heads by distance, coloured by behaviour",
    needs=["distance", "position"],
)
def heads_by_behaviour(results: Atlas) -> Any:
    """After Clark et al. 2019, Figure 6: the same points, coloured by what each head mostly does. A
    threshold is where the model's heads fall into two groups (Otsu), between 0.2 and 0.5 of a
    head's attention. Grey: heads with none of these behaviours.
    """
    points, line = _scaled(results)
    table = behaviours(results)
    numbers = table["behaviour"].value_counts()
    order = [*sorted(set(numbers.index) - {OTHER}), OTHER]
    limits = table.attrs["thresholds"]
    named = {
        what: f"{what}{_over(what, limits.get(what))} ({numbers.get(what, 0)})" for what in order
    }
    return head_points(
        points.merge(table.replace({"behaviour": named}), on="name"),
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
