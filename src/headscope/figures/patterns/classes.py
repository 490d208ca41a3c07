"""The pattern classes as all figures show them: colours and letters."""

from __future__ import annotations

from typing import Any

import altair as alt

from headscope.figures.style import BLUE, GREEN, ORANGE, PURPLE

PATTERNS = {
    "vertical": BLUE,
    "diagonal": ORANGE,
    "vertical+diagonal": GREEN,
    "block": PURPLE,
    "heterogeneous": "#9AA0A6",
}
"""The colour of each class."""
LETTERS = {
    "vertical": "V",
    "diagonal": "D",
    "vertical+diagonal": "VD",
    "block": "B",
    "heterogeneous": "H",
}
"""The letters of each class, for readers who cannot tell the colours apart."""


def class_scale() -> alt.Scale:
    """Return the colours of the classes, the same in all figures.

    Examples
    --------
    >>> class_scale().domain[0], class_scale().range[0]
    ('vertical', '#0072B2')
    """
    return alt.Scale(domain=list(PATTERNS), range=list(PATTERNS.values()))


def class_colour() -> Any:
    """Return the colour encoding of the column ``pattern``."""
    return alt.Color("pattern:N", scale=class_scale(), title="class", sort=list(PATTERNS))
