"""Errors that a user's input can cause: what was wrong, and what to do next.

The command line prints them without a traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class UserError(ValueError):
    """Something the user gave cannot be used.

    Parameters
    ----------
    message
        What was wrong, what is allowed and what was given.
    hint
        What to do next, as something to write in Python (or advice that fits everywhere).
    command
        The same advice for the command line, where it does not follow from ``hint``.

    Examples
    --------
    >>> print(UserError("no such file: a.txt", hint="check the path"))
    no such file: a.txt
    next: check the path
    """

    def __init__(self, message: str, *, hint: str = "", command: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.command = command

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors travel between processes: advice must not be lost.
        return (_rebuilt, (type(self), self.message, self.hint, self.command))

    def __str__(self) -> str:
        return f"{self.message}\nnext: {self.hint}" if self.hint else self.message


def _rebuilt(kind: type[UserError], message: str, hint: str, command: str) -> UserError:
    return kind(message, hint=hint, command=command)


class ModelError(UserError):
    """A model cannot be loaded or observed."""


class CorpusError(UserError):
    """A corpus cannot be read."""


class ResultsError(UserError):
    """A results file cannot be opened, merged or compared."""


class AnotherRunError(ResultsError):
    """An output or a checkpoint holds another run, which must not be lost or mixed with this."""


class Interrupted(UserError):
    """The user stopped a run. What was finished is kept in a checkpoint."""


MOST = 12
"""Longer lists of names are not shown whole."""
FIRST = 4
"""So many names of a long list are shown, after the nearest ones."""
NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")
"""What torch says, in errors that are not of a kind of their own."""


def out_of_memory(error: Exception) -> bool:
    """Whether Python or torch ran out of memory.

    >>> out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"))
    True
    """
    return isinstance(error, MemoryError) or any(words in str(error) for words in NO_MEMORY)


def shorten(value: object, most: int = 60) -> str:
    """What was given, as an error shows it: long texts and numbers are cut.

    >>> shorten("3-9"), shorten("9" * 5000, 8)
    ("'3-9'", "'9999999…'")
    """
    try:
        text = value if isinstance(value, str) else repr(value)
    except ValueError:  # Python refuses to write numbers of thousands of digits
        return "a number of thousands of digits"
    return repr(cut(text, most)) if isinstance(value, str) else cut(text, most)


def cut(text: str, most: int = 60) -> str:
    """The beginning of a text, if it is long.

    >>> cut("A dog barks.", 6), cut("A dog")
    ('A dog…', 'A dog')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def first_few(names: Sequence[str], most: int) -> str:
    """The first of some names, and how many more there are.

    >>> first_few(["3-9", "4-1", "2-2"], 2), first_few(["3-9", "4-1"], 2)
    ('3-9, 4-1 and 1 more', '3-9, 4-1')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def unknown(
    kind: str,
    given: str,
    allowed: Iterable[str],
    *,
    hint: str = "",
    command: str = "",
    error: type[UserError] = UserError,
) -> UserError:
    """The error for a name that is not in a list, with the nearest ones: first if it is long.

    >>> print(unknown("measure", "entrpy", ["entropy", "position"]))
    the measure must be one of entropy, position; got 'entrpy' instead. Did you mean 'entropy'?
    >>> print(unknown("head", "9-9", [f"{layer}-1" for layer in range(1, 41)]))
    unknown head '9-9'; did you mean '9-1'? 40 are known, such as 1-1, 10-1, 11-1, 12-1
    """
    names = sorted(allowed)
    near = difflib.get_close_matches(given[:200], names, n=3, cutoff=0.6)
    guess = f"id you mean {' or '.join(map(repr, near))}?" if near else ""
    if near and len(names) > MOST:
        some = [name for name in names if name[:1].isalpha()] or names
        listed = f"{len(names)} are known, such as {', '.join(some[:FIRST])}"
        message = f"unknown {kind} {shorten(given)}; d{guess} {listed}"
    else:
        message = (
            f"the {kind} must be one of {first_few(names, MOST)}; got {shorten(given)} instead."
        )
        message += f" D{guess}" if guess else ""
    return error(message, hint=hint, command=command)


def wrong_type(name: str, given: object, allowed: str, *, hint: str = "") -> UserError:
    """The error for an argument of the wrong type.

    >>> print(wrong_type("corpus", 3, "a path, a list of texts or a Corpus"))
    corpus must be a path, a list of texts or a Corpus; got int instead
    """
    return UserError(f"{name} must be {allowed}; got {type(given).__name__} instead", hint=hint)
