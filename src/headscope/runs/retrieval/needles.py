"""Needles: invented facts that are hidden in a long text, each with a question about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import CorpusError, UserError
from headscope.limits import read_text

FILE = Path(__file__).with_name("needles.jsonl")
"""The built-in needles: written for this project, about people and places that do not exist."""
FORM = (
    'write one needle per line: {"text": "The code is red owl.", "question": "What is the code?", '
    '"answer": "red owl"}'
)


@dataclass(frozen=True, slots=True)
class Needle:
    """A fact to hide in a long text, and a question about it.

    Parameters
    ----------
    text
        The sentence that is hidden.
    question
        What is asked after the long text.
    answer
        The words of the sentence that answer the question, exactly as they stand in it.

    Raises
    ------
    UserError
        If a part is empty, or the answer is not part of the sentence exactly once.

    Examples
    --------
    >>> Needle("The code is red owl.", "What is the code?", "red owl").place
    12
    """

    text: str
    question: str
    answer: str

    def __post_init__(self) -> None:
        for name in ("text", "question", "answer"):
            value: object = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise UserError(
                    f"the {name} of a needle must be a text that is not empty, got {value!r} "
                    "instead"
                )
        if self.text.count(self.answer) != 1:
            raise UserError(
                f"the answer {self.answer!r} must be part of the needle {self.text!r} exactly once",
                hint="copy the answer from the needle, letter by letter",
            )

    @property
    def place(self) -> int:
        """Where the answer begins in the sentence, in characters."""
        return self.text.index(self.answer)


if TYPE_CHECKING:
    NeedlesLike = int | str | Path | Sequence[Needle] | None
else:  # checked where they are chosen
    NeedlesLike = Any


def read_needles(path: str | Path) -> tuple[Needle, ...]:
    """Read needles from a file of JSON lines with ``text``, ``question`` and ``answer``.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    CorpusError
        If it cannot be read, or a line is not a needle.

    Examples
    --------
    >>> read_needles(FILE)[0].answer
    'a jar of pickled walnuts and honey'
    """
    try:
        lines = read_text(Path(path), error=CorpusError, hint=FORM).splitlines()
    except OSError as error:
        raise CorpusError(f"needles cannot be read from {path}: {error}", hint=FORM) from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            found.append(Needle(row["text"], row["question"], row["answer"]))
        except (ValueError, KeyError, TypeError) as error:
            what = error.message if isinstance(error, UserError) else FORM
            raise CorpusError(f"{path}, line {number}: not a needle", hint=what) from None
    if not found:
        raise CorpusError(f"{path} holds no needles", hint=FORM)
    return tuple(found)


def choose_needles(needles: NeedlesLike = None) -> tuple[Needle, ...]:
    """The needles that a user asked for.

    Parameters
    ----------
    needles
        How many of the built-in ones (None: all), the path of a JSON-lines file, or needles.

    Raises
    ------
    UserError
        If there are not so many, or none are given.

    Examples
    --------
    >>> len(choose_needles()), len(choose_needles(5))
    (24, 5)
    """
    if isinstance(needles, str) and needles.isdecimal():  # typed
        needles = int(needles)
    if isinstance(needles, str | Path):
        return read_needles(needles)
    if needles is None or isinstance(needles, int):
        known = read_needles(FILE)
        count = len(known) if needles is None else needles
        if not 1 <= count <= len(known):
            raise UserError(
                f"the number of needles must be from 1 to {len(known)}, got {count} instead",
                hint="give your own in a file: needles='FILE.jsonl'",
            )
        return known[:count]
    given = tuple(needles)
    if not given or not all(isinstance(one, Needle) for one in given):
        raise UserError(
            "needles must be a number, a file, or a list of headscope.Needle",
            hint="make one with headscope.Needle(text, question, answer)",
        )
    return given
