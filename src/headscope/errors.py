"""The one error a user's mistake raises: what was wrong, and what to do next. The command line prints it without a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """Something the user gave cannot be used. ``hint`` is the next thing to type or change.

    >>> print(UserError("no such file: a.txt", hint="check the path"))
    no such file: a.txt
    next: check the path
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nnext: {self.hint}" if self.hint else self.message


class ModelError(UserError):
    """A model cannot be loaded or observed."""


class CorpusError(UserError):
    """A corpus file cannot be read."""


class ResultsError(UserError):
    """A results file cannot be opened, merged or compared."""


class Interrupted(UserError):
    """The user stopped a run; what was done is kept in a checkpoint."""


def unknown(
    kind: str, given: str, allowed: Iterable[str], *, error: type[UserError] = UserError
) -> UserError:
    """The error for a name that is not in a list, with the nearest ones.

    >>> str(unknown("measure", "entrpy", ["entropy", "position"])).splitlines()[0]
    "the measure must be one of entropy, position; got 'entrpy' instead. Did you mean 'entropy'?"
    """
    names = sorted(allowed)
    near = difflib.get_close_matches(given, names, n=3, cutoff=0.6)
    guess = f" Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
    return error(f"the {kind} must be one of {', '.join(names)}; got {given!r} instead.{guess}")
