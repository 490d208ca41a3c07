"""Plain text: a blank line ends a paragraph, and consecutive paragraphs pair up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headscope.corpus.example import Example
from headscope.corpus.files import lines


def read_plain(path: Path, *, pairs: bool = True) -> Iterator[Example]:
    """Paragraphs 1 and 2 are the first example, 3 and 4 the second; a last one left over stands alone.

    With ``pairs=False`` every paragraph is an example of its own.
    """
    waiting: tuple[int, str] | None = None
    for number, paragraph in _paragraphs(path):
        if not pairs:
            yield Example(str(number), (paragraph,), source=f"{path}, line {number}")
        elif waiting is None:
            waiting = (number, paragraph)
        else:
            yield Example(
                str(waiting[0]), (waiting[1], paragraph), source=f"{path}, line {waiting[0]}"
            )
            waiting = None
    if waiting is not None:
        yield Example(str(waiting[0]), (waiting[1],), source=f"{path}, line {waiting[0]}")


def _paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number of its first line, paragraph joined to one line)."""
    start = 0
    held: list[str] = []
    for number, line in lines(path):
        if line.strip():
            start = start if held else number
            held.append(line.strip())
        elif held:
            yield start, " ".join(held)
            held = []
    if held:
        yield start, " ".join(held)
