"""All maps of one example, layers × heads, each framed in the colour of its class (Kovaleva et al. 2019, Fig. 1 and Appendix A)."""

from __future__ import annotations

import base64
import struct
import textwrap
import zlib
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.figures.patterns.classes import LETTERS, pattern_colour
from headscope.figures.style import styled

CELL, GAP, EDGE = 64, 12, 3
"""Pixels of a map, between two, and of the frame around one."""
LEAST = 96
"""A map is drawn with at least this many dots a side: a whole number of dots for each weight, so that no row is thicker than another."""
CLIP = 0.99
FAINTEST = 1e-3


def shades(attention: NDArray[Any]) -> NDArray[np.float64]:
    """A map as people label it and as the network sees it: roots of weights, relative to the map's 99th percentile; 1 is black.

    >>> shades(np.array([[0.25, 0.0], [1.0, 0.0]])).round(2).tolist()
    [[0.51, 0.0], [1.0, 0.0]]
    """
    roots = np.sqrt(np.clip(np.asarray(attention, np.float64), 0.0, 1.0))
    return np.minimum(roots / max(float(np.quantile(roots, CLIP)), FAINTEST), 1.0)


def pattern_grid(
    maps: NDArray[Any], patterns: Sequence[Sequence[str]], *, title: str, subtitle: str = ""
) -> Any:
    """The maps (layer, head, query, key) of one example, layer 1 at the bottom; ``patterns`` has the class of each, by layer and head.

    Thousands of cells a map would be too many marks: each map is one small picture.
    """
    maps = np.asarray(maps, np.float64)
    if maps.ndim != 4 or maps.shape[2] != maps.shape[3] or not maps.size:
        raise UserError(
            f"the maps must be (layer, head, query, key) with as many queries as keys, got the shape {maps.shape} instead"
        )
    layers, heads = maps.shape[:2]
    rows = [
        {
            "layer": layer + 1,
            "head": head + 1,
            "pattern": patterns[layer][head],
            "letter": LETTERS[patterns[layer][head]],
            "x": head * (CELL + GAP),
            "y": (layers - 1 - layer) * (CELL + GAP),
        }
        for layer in range(layers)
        for head in range(heads)
    ]
    frame = pd.DataFrame(rows).assign(
        name=lambda table: table["layer"].astype(str) + "-" + table["head"].astype(str)
    )
    wide, high = heads * (CELL + GAP) - GAP, layers * (CELL + GAP) - GAP
    across, down = (
        alt.Scale(domain=[0, wide], nice=False, zero=False),
        alt.Scale(domain=[0, high], nice=False, zero=False, reverse=True),
    )
    around = {
        "left": frame["x"] - EDGE / 2,
        "right": frame["x"] + CELL + EDGE / 2,
        "top": frame["y"] - EDGE / 2,
        "bottom": frame["y"] + CELL + EDGE / 2,
    }
    base = alt.Chart(frame.assign(**around, xm=frame["x"] + CELL / 2, ym=frame["y"] + CELL / 2))
    pictures = alt.Chart(
        frame.assign(url=[_picture(maps[row["layer"] - 1, row["head"] - 1]) for row in rows])[
            ["x", "y", "url", "name", "pattern"]
        ]
    )
    x, y = alt.X("x:Q", scale=across, axis=None), alt.Y("y:Q", scale=down, axis=None)
    shown = [alt.Tooltip("name:N", title="head"), alt.Tooltip("pattern:N", title="class")]
    names = {"fontSize": 10, "color": "#555"}
    marks = [
        pictures.mark_image(
            width=CELL, height=CELL, align="left", baseline="top", aria=False
        ).encode(url="url:N", x=x, y=y, tooltip=shown),
        base.mark_rect(filled=False, strokeWidth=EDGE).encode(
            x=alt.X("left:Q", scale=across, axis=None),
            x2="right:Q",
            y=alt.Y("top:Q", scale=down, axis=None),
            y2="bottom:Q",
            stroke=pattern_colour(sort=list(LETTERS)),
            tooltip=shown,
        ),
        _letters(base, x, y),
        base.transform_filter("datum.head == 1")
        .mark_text(align="right", dx=-8, **names)
        .encode(x=x, y=alt.Y("ym:Q", scale=down, axis=None), text="layer:O"),
        base.transform_filter("datum.layer == 1")
        .mark_text(baseline="top", dy=CELL + 6, **names)
        .encode(x=alt.X("xm:Q", scale=across, axis=None), y=y, text="head:O"),
    ]
    drawing = alt.layer(*marks, view=alt.ViewBackground(strokeOpacity=0)).properties(
        width=wide, height=high
    )
    chart = styled(drawing, title)
    chart.title.subtitle = [
        *textwrap.wrap(subtitle, max(30, wide // 6), max_lines=3, placeholder=" …"),
        "rows: layers, 1 at the bottom; columns: heads; dark is high",
    ]
    chart.title.limit = max(wide, 200)
    return chart


def _letters(base: Any, x: Any, y: Any) -> Any:
    """The class in letters with a white edge, in the upper right corner: told without colours too."""
    edge = base.mark_text(
        align="right",
        baseline="top",
        dx=CELL - 4,
        dy=3,
        fontSize=12,
        fontWeight="bold",
        stroke="white",
        strokeWidth=4,
        strokeJoin="round",
        color="white",
    )
    letter = base.mark_text(
        align="right", baseline="top", dx=CELL - 4, dy=3, fontSize=12, fontWeight="bold"
    )
    return alt.layer(
        edge.encode(x=x, y=y, text="letter:N"), letter.encode(x=x, y=y, text="letter:N")
    )


def _picture(attention: NDArray[np.float64]) -> str:
    """A map in shades of grey, as an address that holds the picture itself."""
    dots = -(-LEAST // len(attention))
    grey = np.round(255 * (1.0 - shades(attention))).astype(np.uint8)
    return (
        "data:image/png;base64,"
        + base64.b64encode(png(np.kron(grey, np.ones((dots, dots), np.uint8)))).decode()
    )


def png(grey: NDArray[np.uint8]) -> bytes:
    """A picture in shades of grey, (height, width), as a PNG file.

    >>> png(np.zeros((2, 3), np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(lines, 9))
        + chunk(b"IEND", b"")
    )
