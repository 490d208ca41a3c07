"""Head cards: what one head does, as a picture of 1200 × 630 to share.

The picture has the head's name, its sentence, its best example with lines, and its place among all
heads. The page's button draws the same: packs hold the parts (:class:`Cards`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from markupsafe import escape
from numpy.typing import NDArray

from headscope.errors import ResultsError, UserError, cut
from headscope.figures.save import compress_png
from headscope.files import check_writable, write_bytes
from headscope.heads import Head, HeadLike
from headscope.measures.roles import FAMILIES
from headscope.results import Atlas
from headscope.results.kept import KeptMap
from headscope.stats.words.describe import Description, descriptions

WIDTH, HEIGHT = 1200, 630
FORMATS = ("png", "svg")
EDGE = 64
GRID_SIZE = 264
"""The grid of heads is a square of so many pixels at most, in the upper right corner."""
UPWARD = 16
"""With more layers, they run from left to right instead of upward."""
TEXT_WIDTH = WIDTH - 3 * EDGE - GRID_SIZE
LEAD, WORD, SPACE, LINES = 34, 28, 0.8, 4
"""The sizes of the sentence and of the example's words, the space between words (in letters n), and
the lines of the sentence at most."""
BASELINE = 520
"""Where the example's words stand."""
LEAST, MOST = 0.15, 24
"""Links are drawn from this weight on, and so many at most."""
TINTS = ((0.5, 1.0), (0.25, 0.7), (-np.inf, 0.42))
"""How much of its family's colour a head has, by how far it is over even attention."""
CARD_FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
INK, SOFT, LINE, GROUND = "#17181A", "#5F6368", "#D6D5D1", "#FFFFFF"
BOLD = 1.08
"""How much wider bold letters are."""
NARROW, WIDE = frozenset("iljtfrI.,;:'!|()[]-·’"), frozenset("mwMW@%—…")


class Cards:
    """The cards of some results.

    Parameters
    ----------
    atlas
        Results of a survey.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", limit=6)
    >>> Cards(atlas).svg("3-9").startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    True
    """

    def __init__(self, atlas: Atlas) -> None:
        self.atlas = atlas

    def svg(self, head: HeadLike) -> str:
        """The card of a head."""
        return self.part(head).replace(self.mark, self.grid)

    mark = "<!--grid-->"
    """Where the grid stands in :meth:`part`."""

    def part(self, head: HeadLike) -> str:
        """The card of a head without the grid of all heads, which is the same in each."""
        layers, heads = self.atlas.layers, self.atlas.shape[1]
        parsed = Head.parse(head, layers=[layer - 1 for layer in layers], heads=heads)
        name = str(parsed)
        described = self._descriptions.get(name, Description("", "", "", "", ""))
        x, y, width, height = self._cell(layers.index(parsed.layer + 1), parsed.head)
        parts = [
            _text(EDGE, 122, name, size=76, weight="bold"),
            _text(
                EDGE + wide(name, 76) * BOLD + 24, 122, f"L{parsed.layer}H{parsed.head}", size=30
            ),
            *self._family(parsed),
            *(
                _text(EDGE, 236 + row * 44, line, size=LEAD, fill=INK)
                for row, line in enumerate(lines_of(described.lead, LEAD, TEXT_WIDTH, LINES))
            ),
            self.mark,
            f'<rect x="{x - 2}" y="{y - 2}" width="{width + 4}" height="{height + 4}" rx="4" '
            f'fill="none" stroke="{INK}" stroke-width="4"/>',
            *self._example(name),
            _text(EDGE, 596, self._about, size=22),
            _text(WIDTH - EDGE, 596, "Headscope", size=22, anchor="end", weight="bold"),
        ]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{CARD_FONT}">'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{GROUND}"/>{"".join(parts)}</svg>'
        )

    @property
    def clearest(self) -> Head:
        """The head with the clearest role, or the first."""
        if self._roles is None:
            return Head(self.atlas.layers[0] - 1, 0)
        family, excess = self._roles
        has_role = np.isin(family, [name for name, about in FAMILIES.items() if about.glyph])
        best = int(np.where(has_role, excess, -np.inf).argmax())
        layer, head = divmod(best, family.shape[1])
        return Head(self.atlas.layers[layer] - 1, head)

    @cached_property
    def grid(self) -> str:
        """All heads in the colours of their main roles, arranged as in the page."""
        layers, heads = self.atlas.shape
        cells = [
            (self._cell(layer, head), self._colour(layer, head))
            for layer in range(layers)
            for head in range(heads)
        ]
        return "".join(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{colour}" '
            f'stroke="{LINE}"/>'
            for (x, y, width, height), colour in cells
        )

    @cached_property
    def _descriptions(self) -> dict[str, Description]:
        return descriptions(self.atlas)

    @cached_property
    def _roles(self) -> tuple[NDArray[np.str_], NDArray[np.float64]] | None:
        """The family of each head's main role, and how far it is over even attention."""
        if self.atlas.analysis.excess is None:
            return None
        table, shape = self.atlas.analysis.roles, self.atlas.shape
        family = table["family"].to_numpy(np.str_).reshape(shape)
        return family, table["excess"].to_numpy(float).reshape(shape)

    @cached_property
    def _about(self) -> str:
        about = self.atlas.provenance
        model, corpus = (str(about.get(key, {}).get("name", "")) for key in ("model", "corpus"))
        layers, heads = self.atlas.shape
        text = f"{readable(model, 60)}, {layers} layers of {heads} heads, on {readable(corpus, 60)}"
        return next(iter(lines_of(text, 22, WIDTH - 2 * EDGE - 180, 1)), "")

    def _cell(self, layer: int, head: int) -> tuple[float, float, float, float]:
        layers, heads = self.atlas.shape
        across = layers > UPWARD
        columns, rows = (layers, heads) if across else (heads, layers)
        column, row = (layer, head) if across else (head, layers - 1 - layer)
        size = min(GRID_SIZE / columns, GRID_SIZE / rows)
        gap = min(size * 0.12, 3)
        x, y = WIDTH - EDGE - size * (columns - column), EDGE + size * row
        return round(x, 1), round(y, 1), round(size - gap, 1), round(size - gap, 1)

    def _colour(self, layer: int, head: int) -> str:
        if self._roles is None:
            return "#E9E8E5"
        family, excess = (values[layer, head] for values in self._roles)
        return tinted(str(family), float(excess))

    def _family(self, head: Head) -> Iterator[str]:
        """The family of the head's main role as a coloured label."""
        if self._roles is None:
            return
        layer = self.atlas.layers.index(head.layer + 1)
        family = FAMILIES[str(self._roles[0][layer, head.head])]
        colour = family.colours[0]
        ink = GROUND if family.dark else INK
        size = wide(family.title, 24) + (36 if family.glyph else 0)
        yield (
            f'<rect x="{EDGE}" y="146" width="{size + 32:.0f}" height="42" rx="8" fill="{colour}"'
            f' stroke="{LINE}"/>'
        )
        if family.glyph:
            yield _text(EDGE + 28, 175, family.glyph, size=26, fill=ink, anchor="middle")
        x = EDGE + (52 if family.glyph else 16)
        yield _text(x, 175, family.title, size=24, fill=ink)

    def _example(self, name: str) -> Iterator[str]:
        """The words of the head's best example, and its links as arcs above them."""
        try:
            strongest = self.atlas.kept.strongest(name)
        except UserError:
            strongest = []
        if not strongest:
            return
        words, links = excerpt(strongest[0])
        widths = [wide(word, WORD) for word in words]
        gap = wide("n", WORD) * SPACE
        left = (WIDTH - sum(widths) - gap * (len(words) - 1)) / 2
        starts = left + np.concatenate([[0], np.cumsum(np.array(widths[:-1]) + gap)])
        middle = [float(start + width / 2) for start, width in zip(starts, widths, strict=True)]
        layer, head = name.split("-")
        colour = self._link_colour(self.atlas.layers.index(int(layer)), int(head) - 1)
        for query, key, weight in links:
            yield from _arc(middle[query], middle[key], weight, colour)
        for word, x in zip(words, middle, strict=True):
            yield _text(x, BASELINE, word, size=WORD, fill=INK, anchor="middle")

    def _link_colour(self, layer: int, head: int) -> str:
        family = FAMILIES[str(self._roles[0][layer, head])] if self._roles else None
        return family.colours[0] if family and family.glyph else SOFT


def save_card(atlas: Atlas, head: HeadLike, path: str | Path) -> Path:
    """Write the card of a head.

    Parameters
    ----------
    atlas : Atlas
        Results of a survey.
    head : str or Head
        ``"3-9"`` (from 1) or ``"L2H8"`` (from 0).
    path : path
        The file: a PNG or an SVG.

    Raises
    ------
    ResultsError
        If the file's ending is another, or it cannot be written.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise ResultsError(
            f"the card of a head must be a .png or an .svg file; got {path.name!r} instead",
            hint="give the path of a picture, such as card.png",
            command="give the name of a picture, e.g. -o card.png",
        )
    check_writable(path, error=ResultsError)
    svg = Cards(atlas).svg(head)
    return write_bytes(path, svg.encode() if kind == "svg" else png_of(svg))


def png_of(svg: str) -> bytes:
    """A card as PNG, 1200 × 630 pixels."""
    import vl_convert

    return compress_png(vl_convert.svg_to_png(svg))


def tinted(family: str, excess: float) -> str:
    """The colour of a head on a light ground, as in the page.

    >>> tinted("previous", 0.9), tinted("previous", 0.1), tinted("broad", 0.1)
    ('#1F6FB5', '#a1c3e0', '#D6D5D1')
    """
    about = FAMILIES[family]
    colour = about.colours[0]
    share = next((share for least, share in TINTS if excess >= least), 0.42)
    if not about.glyph or share == 1:
        return colour
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part * share + 255 * (1 - share)):02x}" for part in parts)


def excerpt(example: KeptMap) -> tuple[list[str], list[tuple[int, int, float]]]:
    """The words around an example's strongest links, as many as fit, and the links between them.

    Attention goes from words to words: the mean over the pieces of a query, and the sum over those
    of a key. Links to sinks are left out, unless there are no others.
    """
    text = example.text
    maps = between_words(example)
    units, sinks = np.array(text.unit), np.array(text.sink)
    rests = ~np.isin(np.arange(len(text.words)), units[~sinks])
    np.fill_diagonal(maps, 0)
    shown = np.where(rests[None, :], 0, maps)
    if shown.max(initial=0) < LEAST:
        shown = maps
    shown = np.where(shown < LEAST, 0, shown)
    words = [readable(word) for word in text.words]
    first, last = _window(words, shown)
    queries, keys = np.nonzero(shown[first:last, first:last])
    links = [
        (int(query), int(key), float(shown[first + query, first + key]))
        for query, key in zip(queries, keys, strict=True)
    ]
    return words[first:last], sorted(links, key=lambda link: -link[2])[:MOST]


def between_words(example: KeptMap) -> NDArray[np.float64]:
    """The attention of words to words, (word, word), of a kept example."""
    units = np.array(example.text.unit)
    queries, keys = units[example.queries], units[example.keys]
    known = (queries >= 0) & (keys >= 0)
    words = len(example.text.words)
    places = queries[known] * words + keys[known]
    sums = np.bincount(places, example.weights[known], minlength=words * words)
    pieces = np.bincount(units[units >= 0], minlength=words)
    shares: NDArray[np.float64] = sums.reshape(words, words) / np.maximum(pieces, 1)[:, None]
    return shares


def _window(words: Sequence[str], links: NDArray[np.float64]) -> tuple[int, int]:
    """The stretch of words that fits the card and has the most attention within."""
    sizes = np.array([wide(word, WORD) + wide("n", WORD) * SPACE for word in words])
    ends = np.concatenate([[0], np.cumsum(sizes)])
    best, most = (0, len(words)), -1.0
    last = 0
    for first in range(len(words)):
        last = max(last, first + 1)
        while last < len(words) and ends[last + 1] - ends[first] <= WIDTH - 2 * EDGE:
            last += 1
        within = float(links[first:last, first:last].sum())
        # A card does not begin with a comma where it could begin with a word.
        if within > most and (words[first][:1].isalnum() or most < 0):
            best, most = (first, last), within
    return best


def readable(word: str, most: int = 24) -> str:
    """A word as it can be drawn: nothing that hides or changes direction, and not too long.

    >>> readable("dog"), readable("a\\u202eb"), readable("x" * 30, 5)
    ('dog', 'a·b', 'xxxx…')
    """
    shown = ("·" if unicodedata.category(one)[0] == "C" else one for one in word[: 4 * most])
    return cut("".join(shown), most)


def wide(text: str, size: float) -> float:
    """About how wide a text is drawn, by what kinds of letters it has."""
    width = 0.0
    for letter in text:
        if unicodedata.east_asian_width(letter) in "WF":
            width += 1.0
        elif letter in NARROW:
            width += 0.32
        elif letter in WIDE:
            width += 0.86
        else:
            width += 0.68 if letter.isupper() else 0.55
    return width * size


def lines_of(text: str, size: float, width: float, most: int) -> list[str]:
    """A text broken into lines of a width; what does not fit ends in an ellipsis.

    >>> lines_of("Looks at the previous token", 10, 80, 3)
    ['Looks at the', 'previous token']
    >>> lines_of("Looks at the previous token", 10, 80, 1)
    ['Looks at the…']
    """
    lines: list[str] = []
    for word in text.split():
        if lines and wide(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        elif len(lines) == most:
            lines[-1] = lines[-1].rstrip(",;:.") + "…"
            break
        else:
            lines.append(word)
    return lines


def _arc(start: float, end: float, weight: float, colour: str) -> Iterator[str]:
    """A link from a query to a key, with a dot at the key."""
    side = 5 if end > start else -5
    start, end, y = start + side, end - side, BASELINE - 32
    across = abs(end - start) / 2
    rise = min(across, 7 * across**0.5, 96)
    yield (
        f'<path d="M{start:.1f} {y}A{across:.1f} {rise:.1f} 0 0 {int(end > start)} {end:.1f} {y}" '
        f'fill="none" stroke="{colour}" stroke-width="{1.5 + 4.5 * weight:.1f}" '
        f'stroke-opacity="{0.35 + 0.6 * weight:.2f}"/>'
        f'<circle cx="{end:.1f}" cy="{y}" r="{3 + 3 * weight:.1f}" fill="{colour}"/>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int,
    fill: str = SOFT,
    anchor: str = "start",
    weight: str = "normal",
) -> str:
    bold = ' font-weight="bold"' if weight == "bold" else ""
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    look = f'font-size="{size}" fill="{INK if bold else fill}"{bold}{side}'
    return f'<text x="{x:.1f}" y="{y}" {look}>{escape(text)}</text>'
