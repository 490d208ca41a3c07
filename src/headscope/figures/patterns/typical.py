"""Typical maps of each pattern class (Kovaleva et al. 2019, Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.figures.patterns.classes import PATTERNS
from headscope.figures.patterns.grid import map_picture
from headscope.figures.style import styled

SIDE, GAP, LABEL = 96, 30, 18
"""Pixels of a map, between two maps, and of the line with a head's name."""

NamedMap = tuple[str, NDArray[Any]]
"""What a map is of, such as a task and a head, and its weights (query, key)."""


def typical_maps(maps: Mapping[str, Sequence[NamedMap]], *, subtitle: str = "") -> Any:
    """Draw some maps of each class, one column per class.

    Parameters
    ----------
    maps : mapping of str to sequence of (str, array)
        Names and maps by class; a class may have none.
    subtitle : str
        A line under the title.

    Returns
    -------
    altair chart

    Examples
    --------
    >>> chart = typical_maps({"diagonal": [("RTE 1-3", np.eye(4))]})
    >>> [len(rows) for rows in chart.to_dict()["datasets"].values()]
    [1, 5]
    """
    rows = []
    for column, name in enumerate(PATTERNS):
        for row, (label, weights) in enumerate(maps.get(name, ())):
            place = {"x": column * (SIDE + GAP), "y": LABEL + row * (SIDE + GAP)}
            rows.append({"label": label, "url": map_picture(np.asarray(weights, float)), **place})
    most = max([len(found) for found in maps.values()], default=0) or 1
    wide, high = len(PATTERNS) * (SIDE + GAP) - GAP, LABEL + most * (SIDE + GAP)
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, wide], nice=False), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[0, high], nice=False, reverse=True), axis=None)
    columns = ["label", "url", "x", "y"]
    base = alt.Chart(pd.DataFrame(rows, columns=columns)).encode(x=x, y=y)
    pictures = base.mark_image(width=SIDE, height=SIDE, align="left", baseline="top", aria=False)
    names = base.mark_text(align="left", baseline="top", dy=SIDE + 3, fontSize=10, color="#555")
    heads = pd.DataFrame(
        [
            {"class": name, "x": place * (SIDE + GAP), "y": 0, "colour": colour}
            for place, (name, colour) in enumerate(PATTERNS.items())
        ]
    )
    titles = (
        alt.Chart(heads)
        .mark_text(align="left", baseline="top", fontSize=11, fontWeight="bold")
        .encode(x=x, y=y, text="class:N", color=alt.Color("colour:N", scale=None))
    )
    drawing = alt.layer(
        pictures.encode(url="url:N"),
        names.encode(text="label:N"),
        titles,
        view=alt.ViewBackground(strokeOpacity=0),
    )
    return styled(
        drawing.properties(width=wide, height=high),
        "Typical maps of each class",
        subtitle,
        "rows: from; columns: to; dark: high attention",
    )
