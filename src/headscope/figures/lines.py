"""Attention as lines between two columns of words; the darker, the larger the weight.

Clark et al. 2019 draw Figures 1 and 5 this way.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Collection, Sequence
from operator import index
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import ArrayLike, NDArray

from headscope.errors import UserError
from headscope.figures.style import BLUE, styled

WORD, HIDDEN = "#222222", "#999999"
RED = "#CC1111"
"""A plain red, as in the paper: the palette's vermilion fades to orange.

Red words are bold too, for readers who see red as dark.
"""
BETWEEN, GAP = 150, 6
"""Pixels from column to column, and from a word to the ends of its lines."""
WIDEST = 150
"""Pixels after which a word is cut; the whole word shows on hover."""
NARROW, NEAR = 90, 110
"""The same for drawings that stand side by side: two are readable on a page 700 pixels wide."""
BROAD = frozenset("mwæœ@%&#~<>=+_")
"""Letters and signs about as wide as capitals."""
SLACK = 0.01
"""How far a weight may lie outside 0 to 1.

Half-precision maps, summed over the pieces of a word, overshoot a little.
"""


def attention_lines(
    tokens: Sequence[str],
    attention: ArrayLike,
    *,
    title: str,
    subtitle: str = "",
    red: Collection[int] = (),
    hide: Collection[int] = (),
    threshold: float = 0.02,
    widest: float = WIDEST,
    between: float = BETWEEN,
) -> Any:
    """Draw what one head does on one sentence.

    Parameters
    ----------
    tokens : sequence of str
        The tokens or words.
    attention : array
        Weights, (query, key): row i is what token i (on the left) pays to each token (right).
    title, subtitle : str
        Above the figure.
    red : collection of int
        Positions in ``tokens``: these words, and all attention to and from them, are red.
    hide : collection of int
        Positions in ``tokens``: attention *to* these words is not drawn, as in the paper for
        ``[SEP]``; the word is grey on the right.
    threshold : float
        Weights of at most this much are not drawn.
    widest, between : float
        Pixels after which a word is cut (the whole word shows on hover), and from column to column.

    Returns
    -------
    altair chart
        The opacity of a line is its weight.

    Raises
    ------
    UserError
        If the attention is not a square array of weights, one row per token, or if a position is
        out of range.

    Examples
    --------
    >>> weights = [[1, 0, 0], [0.9, 0.1, 0], [0, 1, 0]]
    >>> chart = attention_lines(["[CLS]", "dogs", "bark"], weights, title="Head 1-3", red=[2])
    >>> [(line["from"], line["to"], line["weight"]) for line in chart.layer[0].data.values]
    [('dogs', 'dogs', 0.1), ('dogs', '[CLS]', 0.9), ('[CLS]', '[CLS]', 1.0), ('bark', 'dogs', 1.0)]
    """
    if isinstance(tokens, str):
        raise UserError(
            f"the tokens must be a list of strings, got the string {tokens!r} instead",
            hint="split the sentence as the tokenizer does",
        )
    words = [_printable(token) for token in tokens]
    weights = _weights(attention, len(words))
    reds, hidden = _positions("red", red, len(words)), _positions("hidden", hide, len(words))
    size, row = (12, 18) if len(words) <= 30 else (10, 14)
    widths = [_wide(word, size, bold=place in reds) for place, word in enumerate([*words, "from"])]
    column = min(widest, max(widths))
    left, right = column + GAP, column + GAP + between
    width, height = right + GAP + column, row * (len(words) + 1)  # one more row, for the headings
    # Pixels and colours are given as they are, with no scale, so that all heads of a panel are
    # drawn alike.
    scale = alt.Scale(domain=[-1.5, len(words) - 0.5], reverse=True, nice=False, zero=False)
    y = alt.Y("query:Q", axis=None, scale=scale)
    lines = _rules(_lines(words, weights, reds, hidden, threshold), left, right, y)
    columns = [
        _column(words, reds, set(), "from", left - GAP, "right", y, size, widest),
        _column(words, reds, hidden, "to", right + GAP, "left", y, size, widest),
    ]
    bare = alt.ViewBackground(strokeOpacity=0)
    drawing = alt.layer(lines, *columns, view=bare).properties(width=width, height=height)
    chart = styled(drawing, title)
    chart.title.text = _wrap(title, width, 14)
    chart.title.subtitle = _wrap(subtitle, width, 11) or alt.Undefined
    return chart


def attention_panel(
    charts: Sequence[Any], *, title: str = "", subtitle: str = "", columns: int = 4
) -> Any:
    """Put several drawings of :func:`attention_lines` side by side, as the paper's Figure 5.

    Parameters
    ----------
    charts : sequence of altair charts
        The drawings, which stay as they are.
    title, subtitle : str
        Above the panel.
    columns : int
        Drawings per row.

    Returns
    -------
    altair chart

    Raises
    ------
    UserError
        If there is no drawing, or fewer than one column.

    Examples
    --------
    >>> weights = [[1, 0], [1, 0]]
    >>> heads = [attention_lines(["a", "b"], weights, title=f"Head 1-{n}") for n in (1, 2)]
    >>> [chart.title.text for chart in attention_panel(heads).concat]
    [['Head 1-1'], ['Head 1-2']]
    """
    if not charts:
        raise UserError(
            "a panel must have at least one drawing, got none",
            hint="choose at least one head and one sentence",
        )
    if columns < 1:
        raise UserError(f"the columns of a panel must be at least 1, got {columns} instead")
    plain = [chart.copy(deep=False) for chart in charts]
    for chart in plain:
        chart.config = alt.Undefined  # Vega-Lite takes a configuration of the whole figure only
    panel = styled(alt.concat(*plain, columns=columns, spacing=40, align="each"), title, subtitle)
    panel.title.offset = 16
    if not (title or subtitle):
        panel.title = alt.Undefined
    return panel


def _lines(
    words: list[str],
    weights: NDArray[np.float64],
    red: set[int],
    hidden: set[int],
    threshold: float,
) -> list[dict[str, Any]]:
    """Return one record per line; the strongest, and then the red ones, are drawn last, on top."""
    pairs = [(int(i), int(j)) for i, j in np.argwhere(weights > threshold) if int(j) not in hidden]
    records = [
        {
            "query": i,
            "key": j,
            "from": words[i],
            "to": words[j],
            "weight": float(weights[i, j]),
            "colour": RED if i in red or j in red else BLUE,
        }
        for i, j in pairs
    ]
    return sorted(records, key=lambda line: (line["colour"] == RED, line["weight"]))


def _rules(records: list[dict[str, Any]], left: float, right: float, y: alt.Y) -> Any:
    """Draw the lines from column to column."""
    return (
        alt.Chart(alt.InlineData(values=records))
        .mark_rule(strokeWidth=1.6, strokeCap="round")
        .encode(
            x=alt.value(left),
            x2=alt.value(right),
            y=y,
            y2="key:Q",
            color=alt.Color("colour:N", scale=None),
            opacity=alt.Opacity("weight:Q", scale=None),
            tooltip=[
                alt.Tooltip("from:N"),
                alt.Tooltip("to:N"),
                alt.Tooltip("weight:Q", format=".3f"),
            ],
        )
    )


def _column(
    words: list[str],
    red: set[int],
    grey: set[int],
    heading: str,
    x: float,
    align: str,
    y: alt.Y,
    size: int,
    widest: float,
) -> Any:
    """Draw the words of one side, under its heading."""
    rows = [
        {
            "query": place,
            "word": word,
            "colour": RED if place in red else HIDDEN if place in grey else WORD,
        }
        for place, word in enumerate(words)
    ]
    rows.append({"query": -1, "word": heading, "colour": HIDDEN})
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_text(
            align=align,
            baseline="middle",
            fontSize=size,
            fontWeight=alt.expr(f"datum.colour === '{RED}' ? 'bold' : 'normal'"),
            limit=widest,
        )
        .encode(
            x=alt.value(x),
            y=y,
            text="word:N",
            color=alt.Color("colour:N", scale=None),
            tooltip=alt.Tooltip("word:N"),
        )
    )


def _weights(attention: ArrayLike, count: int) -> NDArray[np.float64]:
    """Return the map as float64, or say what is wrong with it."""
    try:
        weights = np.asarray(attention, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(f"the attention must be a square array of numbers; {error}") from error
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1]:
        raise UserError(
            f"the attention must be square (query, key), got the shape {weights.shape} instead",
            hint="give the map of one head on one example",
        )
    if len(weights) != count:
        raise UserError(
            "the attention must have one row and column for each token: "
            f"got {count} tokens and {len(weights)} rows",
            hint="drop padding, keep special tokens",
        )
    if not count:
        raise UserError("there must be at least one token to draw, got none")
    if not np.isfinite(weights).all():
        wrong = int((~np.isfinite(weights)).sum())
        raise UserError(f"the attention must be finite, got {wrong} values that are not")
    if weights.min() < -SLACK or weights.max() > 1 + SLACK:
        raise UserError(
            "the attention must lie between 0 and 1, "
            f"got {weights.min():.3g} to {weights.max():.3g} instead",
            hint="give weights after the softmax",
        )
    return weights.clip(0.0, 1.0)


def _positions(name: str, given: Collection[int], count: int) -> set[int]:
    """Return positions as a set, or say which of them is wrong."""
    try:
        places = {index(place) for place in given}
    except TypeError as error:
        raise UserError(
            f"the {name} words must be given by position (0 to {count - 1}), got {given!r} instead"
        ) from error
    wrong = sorted(place for place in places if not 0 <= place < count)
    if wrong:
        raise UserError(
            f"the {name} words must be positions from 0 to {count - 1}, got {wrong[0]} instead",
            hint="count tokens from 0, including special tokens",
        )
    return places


def _printable(token: str) -> str:
    """Return the token, with characters spelled out that cannot be drawn and that SVG forbids.

    Examples
    --------
    >>> _printable("<b>[SEP]</b>"), _printable("a\\n")
    ('<b>[SEP]</b>', 'a\\\\n')
    """
    undrawable = {"Cc", "Cs", "Cn", "Zl", "Zp"}
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in undrawable else c
        for c in token
    )


def _wide(text: str, size: float, *, bold: bool) -> float:
    """Estimate how many pixels a text takes at most, in the widest of the fonts."""
    ems = 0.0
    for c in text:
        if unicodedata.east_asian_width(c) in "WF":  # Chinese, Japanese and Korean are squares
            ems += 1.05
        else:
            ems += 0.9 if c.isupper() or c in BROAD else 0.63
    return size * (1.12 if bold else 1) * ems


def _wrap(text: str, width: float, size: float) -> list[str]:
    """Break a title at the drawing's width, so that neighbours in a panel do not touch."""
    letters = max(20, int(width / (0.52 * size)))
    return [
        line
        for part in text.splitlines()
        for line in textwrap.wrap(_printable(part), letters, break_on_hyphens=False)
    ]
