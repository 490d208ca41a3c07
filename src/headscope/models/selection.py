"""Heads chosen before the model is known, with ``*`` left to be resolved against its shape."""

from __future__ import annotations

from collections.abc import Iterable

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
    (Head(layer=3, head=5), Head(layer=0, head=1), '5-*')
    """
    if isinstance(heads, str | Head) or not isinstance(heads, Iterable):
        given: tuple[HeadLike, ...] = (heads,)
    else:
        given = tuple(heads)
    if not any(isinstance(part, str) and "*" in part for part in given):
        return parse_heads(given)
    found: list[HeadLike] = []
    for part in given:
        for name in part.split(",") if isinstance(part, str) else [part]:
            if isinstance(name, str) and "*" in name:
                parse_heads(name.replace("*", "1"))  # raises if the rest of it is not a name
                found.append(name.strip())
            elif name:
                found += parse_heads(name)
    return tuple(dict.fromkeys(found))
