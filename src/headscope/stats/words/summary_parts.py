"""What a summary is made of: lines of parts, some of which stand for heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEAD, FACT, FINDING, WARNING = "lead", "fact", "finding", "warning"
"""Kinds of lines besides the families of roles."""


@dataclass(frozen=True)
class Part:
    """A piece of a sentence.

    Parameters
    ----------
    text
        The words.
    heads
        The heads that the words stand for; none for plain text.
    strong
        Whether the words stand out.
    """

    text: str
    heads: tuple[str, ...] = ()
    strong: bool = False


@dataclass(frozen=True)
class SummaryLine:
    """One line of a summary.

    Parameters
    ----------
    family
        What it is about: "lead", a family of roles, "fact", "finding" or "warning".
    parts
        Its pieces, in order, spaces included.

    Examples
    --------
    >>> line = SummaryLine("next", [Part("One head", ("2-9",)), Part(" looks ahead.")])
    >>> line.text, line.heads
    ('One head looks ahead.', ('2-9',))
    """

    family: str
    parts: list[Part]

    @property
    def text(self) -> str:
        """The line as plain text."""
        return "".join(part.text for part in self.parts)

    @property
    def heads(self) -> tuple[str, ...]:
        """All heads of the line, each once."""
        return tuple(dict.fromkeys(head for part in self.parts for head in part.heads))

    def __str__(self) -> str:
        return self.text


def head_parts(heads: Sequence[str]) -> list[Part]:
    """Heads in a row, each a part of its own.

    >>> "".join(part.text for part in head_parts(["1-3", "2-9", "3-1"]))
    '1-3, 2-9 and 3-1'
    """
    found: list[Part] = []
    for at, head in enumerate(heads):
        if at:
            found.append(Part(" and " if at == len(heads) - 1 else ", "))
        found.append(Part(head, (head,)))
    return found
