"""Mentions written as brackets in a column, one sentence at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from headscope.errors import CorpusError, cut, shorten


class BracketSpan(NamedTuple):
    """A mention as its brackets give it.

    Parameters
    ----------
    start, end : int
        The places of the opening and the closing bracket.
    entity : str
        The entity that both name.
    text : str
        The text of the opening bracket.
    where : str
        Where the opening bracket was read.
    """

    start: int
    end: int
    entity: str
    text: str
    where: str


@dataclass
class MentionBrackets:
    """The brackets of one sentence, matched as they are read.

    A closing bracket names its entity, so mentions may end in any order. It ends the innermost open
    mention of that entity.

    Examples
    --------
    >>> brackets = MentionBrackets()
    >>> brackets.open("1", 0, "(1", "line 1")
    >>> brackets.close("1", 2, "line 3")
    >>> [(span.start, span.end, span.entity) for span in brackets.done()]
    [(0, 2, '1')]
    """

    opened: dict[str, list[tuple[int, str, str]]] = field(default_factory=dict)
    spans: list[BracketSpan] = field(default_factory=list)

    def open(self, entity: str, place: int, text: str, where: str) -> None:
        """Begin a mention."""
        self.opened.setdefault(entity, []).append((place, text, where))

    def close(self, entity: str, place: int, where: str) -> None:
        """End the innermost open mention of an entity."""
        if not self.opened.get(entity):
            raise CorpusError(
                f"{where}: entity {shorten(entity)} is closed, but not open in this sentence",
                hint=f"open it in the same sentence with ({cut(entity)}",
            )
        start, text, opened = self.opened[entity].pop()
        self.spans.append(BracketSpan(start, place, entity, text, opened))

    def done(self) -> list[BracketSpan]:
        """The mentions of the sentence, all of which must have ended."""
        for entity, left in self.opened.items():
            if left:
                raise CorpusError(
                    f"{left[0][2]}: entity {shorten(entity)} is opened, but not closed in its "
                    "sentence",
                    hint=f"close it in the same sentence with {cut(entity)})",
                )
        return self.spans
