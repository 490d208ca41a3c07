"""Attention and sieves over the words of one text: lines, plain SVG, a map with a zoom, arcs.

Clark et al. 2019 draw Figures 1 and 5 as lines between two columns of words.
"""

from __future__ import annotations

import json
import textwrap
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from operator import index
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from headscope.errors import UserError, cut
from headscope.figures.builders import heading, shade, tips
from headscope.figures.later import alt
from headscope.figures.roles import role_colours
from headscope.figures.sizes import fixed
from headscope.figures.style import BLUE, GREY, either_colour, styled
from headscope.figures.style import RED as VERMILION

# --- Lines between two columns of words -----------------------------------------------------------

WORD, HIDDEN = "#222222", "#999999"
# A plain red, as in the paper: the palette's vermilion fades to orange. Red words are bold too, for
# readers who see red as dark.
RED = "#CC1111"
BETWEEN, GAP = 150, 6  # pixels from column to column, and from a word to the ends of its lines
WIDEST = 150  # pixels after which a word is cut; the whole word shows on hover
# The same for drawings that stand side by side: two are readable on a page 700 pixels wide.
NARROW, NEAR = 90, 110
BROAD = frozenset("mwæœ@%&#~<>=+_")  # letters and signs about as wide as capitals
# How far a weight may lie outside 0 to 1: half-precision maps, summed over the pieces of a word,
# overshoot a little.
SLACK = 0.01


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
    chart = fixed(styled(drawing, title))
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
        chart.config = chart.usermeta = (
            alt.Undefined
        )  # Vega-Lite takes a configuration of the whole figure only
    whole = alt.concat(*plain, columns=columns, spacing=40, align="each")
    panel = fixed(styled(whole, title, subtitle))
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


def _rules(records: list[dict[str, Any]], left: float, right: float, y: Any) -> Any:
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
            tooltip=tips("from", "to", "weight .3f"),
        )
    )


def _column(
    words: list[str],
    red: set[int],
    grey: set[int],
    heading: str,
    x: float,
    align: str,
    y: Any,
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


def _positions(name: str, positions: Collection[int], count: int) -> set[int]:
    """Return positions as a set, or say which of them is wrong."""
    try:
        places = {index(place) for place in positions}
    except TypeError as error:
        raise UserError(
            f"the {name} words must be given by position (0 to {count - 1}), "
            f"got {positions!r} instead"
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


# --- The same as plain SVG for notebooks: no script, every text escaped ---------------------------

ROW, LETTER, ASIDE = 16, 6.6, 90  # pixels per token, per letter, and between the two columns
LONGEST = 14  # letters of a token before it is cut
FAINTEST = 0.05  # lines of at most this weight are not drawn


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
    names = [cut(token, LONGEST) for token in tokens]
    column = LETTER * max([*map(len, names), 4])
    left, right = column + 4, column + 4 + ASIDE
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


def _safe(text: str) -> str:
    """Escape markup, and spell out characters that SVG forbids."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return escape(shown)


# --- A map with a zoom on the row of one word (Kovaleva et al. 2019, Figure 3) --------------------

SIDE, ZOOM = 20, 70  # pixels of a cell, and of the bars' height


def map_with_zoom(
    words: Sequence[str],
    attention: NDArray[Any],
    *,
    row: int,
    marked: Collection[int] = (),
    title: str,
) -> Any:
    """Draw a map between words, and bars of the attention from one of them.

    Parameters
    ----------
    words : sequence of str
        The words.
    attention : array
        Weights, (from, to).
    row : int
        The word whose attention is shown as bars.
    marked : collection of int
        Words whose bars are red.
    title : str
        Above the map.

    Returns
    -------
    altair chart
        Map above, bars below.

    Examples
    --------
    >>> chart = map_with_zoom(["He", "left"], np.array([[1, 0], [0.9, 0.1]]), row=1, title="6-5")
    >>> [len(rows) for rows in chart.to_dict()["datasets"].values()]
    [4, 2]
    """
    weights = np.asarray(attention, float)
    number = len(words)
    names = f"{json.dumps(list(words), ensure_ascii=False)}[datum.value]"
    cells = pd.DataFrame(
        [
            {"from": query, "to": key, "weight": weights[query, key]}
            for query in range(number)
            for key in range(number)
        ]
    )
    most = float(weights.max()) or 1.0
    below = alt.Axis(labelExpr=names, labelAngle=-50, labelFontSize=10)
    beside = alt.Axis(labelExpr=names, labelFontSize=10)
    shown = tips("weight .3f")
    looks: dict[str, Any] = {"gradientThickness": 8, "labelFontSize": 8, "title": "weight"}
    heat = (
        alt.Chart(cells, width=SIDE * number, height=SIDE * number)
        .mark_rect()
        .encode(
            x=alt.X("to:O", title=None, axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y("from:O", title="from", axis=beside),
            color=shade("weight", (0, most), **looks),
            tooltip=shown,
        )
        .properties(title=heading(title, fontSize=12))
    )
    line = pd.DataFrame(
        [{"to": key, "weight": weights[row, key], "marked": key in marked} for key in range(number)]
    )
    bars = (
        alt.Chart(line, width=SIDE * number, height=ZOOM)
        .mark_bar()
        .encode(
            x=alt.X("to:O", title=None, axis=below),
            y=alt.Y("weight:Q", title=f"from “{words[row]}”", axis=alt.Axis(gridColor=GREY)),
            color=either_colour("datum.marked", VERMILION, BLUE),
            tooltip=shown,
        )
    )
    return alt.vconcat(heat, bars, spacing=8)


# --- The sieves of some roles over one text (Pande et al. 2021, Figure 1) -------------------------

# Pixels of a letter, between tokens, and of a panel's height.
WIDE_LETTER, APART, HIGH = 6.4, 7, 92
POINTS = 25  # of an arc


@dataclass(frozen=True)
class DrawnSieve:
    """The sieve of one token.

    Parameters
    ----------
    role : str
        The role.
    title : str
        What the sieve is.
    query : int
        The place of the token.
    keys : tuple of int
        The places of the tokens that it should attend to.
    """

    role: str
    title: str
    query: int
    keys: tuple[int, ...]


def sieve_arcs(tokens: Sequence[str], sieves: Sequence[DrawnSieve], *, subtitle: str = "") -> Any:
    """Draw a text once per role: a box around one token, and lines to the tokens of its sieve.

    Parameters
    ----------
    tokens : sequence of str
        The tokens of the text.
    sieves : sequence of DrawnSieve
        One panel each.
    subtitle : str
        Under the title.

    Returns
    -------
    altair chart
    """
    places, end = token_places(tokens), text_width(tokens)
    panels = [
        _panel(tokens, places, end, sieve, colour)
        for sieve, colour in zip(sieves, role_colours([one.role for one in sieves]), strict=True)
    ]
    chart = styled(
        alt.vconcat(*panels, spacing=4),
        "Sieves over one text",
        subtitle,
        "from the boxed token, a head with the role should attend to the tokens at the arcs",
    )
    return fixed(chart)


def token_places(tokens: Sequence[str]) -> list[float]:
    """Return where the middle of each token stands, in pixels.

    Examples
    --------
    >>> token_places(["a", "dog"])
    [10.2, 30.0]
    """
    places, at = [], float(APART)
    for token in tokens:
        width = WIDE_LETTER * max(1, len(token))
        places.append(round(at + width / 2, 1))
        at += width + APART
    return places


def text_width(tokens: Sequence[str]) -> float:
    """Return how wide a text is drawn, in pixels.

    Examples
    --------
    >>> text_width(["a", "dog"])
    46.6
    """
    return round(APART + sum(WIDE_LETTER * max(1, len(token)) + APART for token in tokens), 1)


def _panel(
    tokens: Sequence[str], places: list[float], end: float, sieve: DrawnSieve, colour: str
) -> Any:
    """Draw one role."""
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, end], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.25, 1.05], nice=False))
    words = pd.DataFrame(
        {
            "x": places,
            "y": 0.0,
            "token": list(tokens),
            "ink": [colour if place in sieve.keys else "#444" for place in range(len(tokens))],
        }
    )
    text = alt.Chart(words).mark_text(fontSize=11.5)
    box = pd.DataFrame([_box(tokens, places, sieve.query)])
    frame = alt.Chart(box).mark_rect(filled=False, stroke="black", strokeWidth=1.4)
    arcs = alt.Chart(_arcs(places, sieve)).mark_line(strokeWidth=1.8, color=colour)
    marks = [
        arcs.encode(x=x, y=y, detail="key:N", order="step:Q"),
        text.encode(x=x, y=y, text="token:N", color=alt.Color("ink:N", scale=None)),
        frame.encode(x=x, x2="right:Q", y=y, y2="top:Q"),
    ]
    title = f"{sieve.role}: {sieve.title[:1].lower()}{sieve.title[1:]}"
    looks: dict[str, Any] = {"anchor": "start", "fontSize": 12, "fontWeight": "normal"}
    drawing = alt.layer(*marks, view=alt.ViewConfig(stroke=None))
    return drawing.properties(width=end, height=HIGH, title=heading(title, dx=APART, **looks))


def _box(tokens: Sequence[str], places: list[float], query: int) -> dict[str, float]:
    """Return the box around a token."""
    half = WIDE_LETTER * max(1, len(tokens[query])) / 2 + 3
    middle = places[query]
    return {"x": middle - half, "right": middle + half, "y": -0.13, "top": 0.13}


def _arcs(places: list[float], sieve: DrawnSieve) -> pd.DataFrame:
    """Return the points of the arcs; a token in its own sieve has a small loop."""
    longest = max((abs(places[key] - places[sieve.query]) for key in sieve.keys), default=1.0)
    angles = np.linspace(0, np.pi, POINTS)
    parts = []
    for key in sieve.keys:
        start, stop = places[sieve.query], places[key]
        high = 0.3 + 0.55 * abs(stop - start) / max(longest, 1.0)
        middle, half = (start + stop) / 2, (stop - start) / 2
        if key == sieve.query:
            half, high = 7.0, 0.25
        parts.append(
            pd.DataFrame(
                {
                    "x": middle - half * np.cos(angles),
                    "y": 0.17 + high * np.sin(angles),
                    "key": key,
                    "step": range(POINTS),
                }
            )
        )
    return pd.concat(parts) if parts else pd.DataFrame(columns=["x", "y", "key", "step"])
