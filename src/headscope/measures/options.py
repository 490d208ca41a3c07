"""Checks of a measure's options, so that a wrong one is refused where it is given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeVar

from headscope.errors import UserError, unknown

Subtypes = Literal["keep", "fold"]
"""Of dependency labels: keep ``nmod:poss``, or fold it into ``nmod``."""
Direction = Literal["auto", "to head", "from head", "both"]
"""Of dependency roles: from the dependent to its head word, the other way, or both; ``auto`` is
``to head``, but ``both`` for a causal model that would see too few."""
T = TypeVar("T", bound=str)


def one_of(what: str, given: T, allowed: Iterable[T]) -> T:
    """The option, if it is one of those allowed.

    >>> one_of("direction", "to head", ("to head", "both"))
    'to head'
    """
    names = tuple(allowed)
    if given not in names:
        raise unknown(what, str(given), names)
    return given


def at_least(what: str, given: Any, least: int) -> int:
    """The option, if it is a whole number of at least so much.

    >>> at_least("number of examples to keep", 0, 0)
    0
    """
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        raise UserError(
            f"the {what} must be a whole number, {least} or more; got {given!r} instead"
        )
    return given
