"""The inline markup of the built-in corpus, read as character spans of the plain text.

``{1 the baker}`` is a mention and ``<Buyer Maria>`` a frame element. A target (the word that evokes
the frame) has ``!`` after the frame's name: ``<Commerce_buy! bought>``. Both kinds may be nested,
but not cross.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPEN = re.compile(r"\{(\d+) |<([A-Za-z_]+)(!?) ")


class MarkupError(ValueError):
    """The markup of a paragraph is not well formed."""


@dataclass(frozen=True, slots=True)
class MarkedSpan:
    """A marked piece of text.

    Parameters
    ----------
    start, end : int
        Where it begins and ends, in characters.
    kind : {"mention", "target", "element"}
        What is marked.
    name : str
        The entity, frame or element.
    """

    start: int
    end: int
    kind: str
    name: str


def read_markup(marked: str) -> tuple[str, list[MarkedSpan]]:
    """Read a marked-up paragraph.

    Returns
    -------
    plain : str
        The text without markup.
    spans : list of MarkedSpan
        What was marked, in the order in which it opens.

    Raises
    ------
    MarkupError
        If the markup is not well formed.

    Examples
    --------
    >>> text, spans = read_markup("{1 <Buyer Maria>} left.")
    >>> text
    'Maria left.'
    >>> [(span.kind, span.name, span.start, span.end) for span in spans]
    [('mention', '1', 0, 5), ('element', 'Buyer', 0, 5)]
    """
    plain: list[str] = []
    length = 0
    open_spans: list[tuple[str, int, str, str, int]] = []  # closer, start, kind, name, order
    spans: list[tuple[int, MarkedSpan]] = []
    order = position = 0
    while position < len(marked):
        character = marked[position]
        if character in "{<":
            match = _OPEN.match(marked, position)
            if match is None:
                raise MarkupError(
                    "expected '{1 …}', '<Element …>' or '<Frame! …>' "
                    f"at {marked[position : position + 20]!r}"
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
                    f"{character!r} closes nothing, or crosses another span, "
                    f"before {marked[position : position + 20]!r}"
                )
            _, start, kind, name, number = open_spans.pop()
            spans.append((number, MarkedSpan(start, length, kind, name)))
        else:
            plain.append(character)
            length += 1
        position += 1
    if open_spans:
        raise MarkupError(
            f"{open_spans[-1][2]} {open_spans[-1][3]!r} is never closed in {marked[:40]!r}"
        )
    return "".join(plain), [span for _, span in sorted(spans, key=lambda pair: pair[0])]
