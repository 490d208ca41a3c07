"""Attention as plain SVG for notebooks: self-contained, with no script, every text escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.figures.style import BLUE

ROW = 16
"""Pixels per token."""
LETTER = 6.6
"""Pixels per letter of a token, roughly."""
BETWEEN = 90
"""Pixels between the two columns."""
LONGEST = 14
"""Letters of a token before it is cut."""
FAINTEST = 0.05
"""Lines of at most this weight are not drawn."""


def attention_svg(tokens: Sequence[str], weights: NDArray[Any], *, title: str) -> str:
    """Draw one head as lines between two columns of tokens.

    Parameters
    ----------
    tokens
        The tokens.
    weights
        (query, key): what each token on the left pays to each token on the right.
    title
        Stands above the drawing.

    Returns
    -------
    str
        An ``<svg>`` element.

    Examples
    --------
    >>> svg = attention_svg(["<s>", "dogs"], np.eye(2), title="1-1")
    >>> svg.count("<line"), "&lt;s&gt;" in svg
    (2, True)
    """
    names = [_short(token) for token in tokens]
    column = LETTER * max([*map(len, names), 4])
    left, right = column + 4, column + 4 + BETWEEN
    width, height = right + 4 + column, ROW * (len(names) + 1.5)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        'font-family="sans-serif" font-size="11" role="img">',
        f'<text x="{width / 2:.0f}" y="12" text-anchor="middle" font-weight="bold">'
        f"{_safe(title)}</text>",
    ]
    for query, key in np.argwhere(weights > FAINTEST):
        opacity = min(1.0, float(weights[query, key]))
        parts.append(
            f'<line x1="{left:.0f}" y1="{_middle(query)}" x2="{right:.0f}" y2="{_middle(key)}" '
            f'stroke="{BLUE}" stroke-opacity="{opacity:.2f}"/>'
        )
    for place, (name, token) in enumerate(zip(names, tokens, strict=True)):
        for x, anchor in ((left - 4, "end"), (right + 4, "start")):
            parts.append(
                f'<text x="{x:.0f}" y="{_middle(place) + 4}" text-anchor="{anchor}" '
                f'fill="currentColor"><title>{_safe(token)}</title>{_safe(name)}</text>'
            )
    return "".join([*parts, "</svg>"])


def attention_html(tokens: Sequence[str], maps: Mapping[str, NDArray[Any]], *, caption: str) -> str:
    """Draw several heads beside each other.

    Parameters
    ----------
    tokens
        The tokens.
    maps
        Maps (query, key) by the head's name.
    caption
        Stands above the drawings.

    Returns
    -------
    str
        A ``<figure>`` element.
    """
    drawings = "".join(
        attention_svg(tokens, weights, title=f"Head {name}") for name, weights in maps.items()
    )
    return (
        f'<figure style="margin:0"><figcaption style="font:13px sans-serif;margin-bottom:8px">'
        f"{_safe(caption)}</figcaption>"
        f'<div style="display:flex;flex-wrap:wrap;gap:16px">{drawings}</div></figure>'
    )


def _middle(place: int) -> float:
    return ROW * (place + 1.5)


def _short(token: str) -> str:
    return token if len(token) <= LONGEST else f"{token[: LONGEST - 1]}…"


def _safe(text: str) -> str:
    """Escape markup, and spell out characters that SVG forbids."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return escape(shown)
