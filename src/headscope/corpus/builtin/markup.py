"""The light inline markup of the built-in corpus: ``{1 the baker}`` is a mention, ``<Buyer Maria>`` a frame element.

A target (the word that evokes the frame) has ``!`` after the frame's name: ``<Commerce_buy! bought>``. Both kinds nest,
neither may cross. The markup is taken away, and what it said is returned as character spans of the plain text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPEN = re.compile(r"\{(\d+) |<([A-Za-z_]+)(!?) ")


class MarkupError(ValueError):
    """The markup of a paragraph is not well formed."""


@dataclass(frozen=True, slots=True)
class Span:
    """A marked stretch of text: ``kind`` is 'mention', 'target' or 'element', ``name`` the entity, frame or element."""

    start: int
    end: int
    kind: str
    name: str


def read_markup(marked: str) -> tuple[str, list[Span]]:
    """Return the plain text and its marked spans, in the order in which they open.

    >>> read_markup("{1 <Buyer Maria>} has <Commerce_buy! bought> it.")[0]
    'Maria has bought it.'
    >>> [(s.kind, s.name, s.start, s.end) for s in read_markup("{1 <Buyer Maria>} left.")[1]]
    [('mention', '1', 0, 5), ('element', 'Buyer', 0, 5)]
    """
    plain: list[str] = []
    length = 0
    open_spans: list[tuple[str, int, str, str, int]] = []  # closer, start, kind, name, order
    spans: list[tuple[int, Span]] = []
    order = position = 0
    while position < len(marked):
        character = marked[position]
        if character in "{<":
            match = _OPEN.match(marked, position)
            if match is None:
                raise MarkupError(
                    f"expected '{{1 …}}', '<Element …>' or '<Frame! …>' at {marked[position : position + 20]!r}"
                )
            entity, frame, target = match.groups()
            kind = "mention" if entity else "target" if target else "element"
            open_spans.append(("}" if entity else ">", length, kind, entity or frame, order))
            order += 1
            position = match.end()
            continue
        if character in "}>":
            if not open_spans or open_spans[-1][0] != character:
                raise MarkupError(
                    f"{character!r} closes nothing, or crosses another span, before {marked[position : position + 20]!r}"
                )
            _, start, kind, name, number = open_spans.pop()
            spans.append((number, Span(start, length, kind, name)))
        else:
            plain.append(character)
            length += 1
        position += 1
    if open_spans:
        raise MarkupError(
            f"{open_spans[-1][2]} {open_spans[-1][3]!r} is never closed in {marked[:40]!r}"
        )
    return "".join(plain), [span for _, span in sorted(spans, key=lambda pair: pair[0])]
