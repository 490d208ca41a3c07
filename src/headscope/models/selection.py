"""Heads chosen before the model is known, with ``*`` left to be resolved against its shape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headscope.heads import Head, HeadLike, HeadsLike, parse_heads


def split_heads(heads: HeadsLike) -> tuple[HeadLike, ...]:
    """The single heads in whatever was given: a Head each, or a name with ``*`` as text.

    Parameters
    ----------
    heads
        ``"4-6,5-1"``, ``"4-*"``, a :class:`~headscope.heads.Head`, or a list of these.

    Returns
    -------
    tuple of Head or str
        In the order given. Only names with ``*`` stay text.

    Raises
    ------
    UserError
        If something is not the name of a head, or if there is none.

    Examples
    --------
    >>> split_heads("4-6,L0H1,5-*")
    (<Head 4-6>, <Head 1-2>, '5-*')
    """
    given: Any = heads
    if isinstance(given, str | Head) or not isinstance(given, Iterable):
        given = [given]
    found: list[HeadLike] = []
    for part in given:
        if isinstance(part, Head):
            found.append(part)
        elif isinstance(part, str) and "*" in part:
            for name in part.split(","):
                parse_heads(name.replace("*", "1"))  # raises if it is not a name
                found += [name.strip()] if "*" in name else parse_heads(name)
        else:
            found += parse_heads(part)
    return tuple(dict.fromkeys(found)) if found else parse_heads(())
