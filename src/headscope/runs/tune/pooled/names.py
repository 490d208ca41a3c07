"""Poolings as people write them, and the names of folders that are made from them."""

from __future__ import annotations

import hashlib
import re

from headscope.errors import UserError
from headscope.models import Pooling

FEW = 4
"""A folder's name lists up to this many heads."""


def parse_pooling(text: str | Pooling, position: str = "") -> Pooling:
    """Read a pooling.

    Parameters
    ----------
    text
        ``"last"`` (the last layer), ``"layer:4"`` (a layer, counted from 1), ``"heads:3-9,4-1"``
        (heads, as in :func:`headscope.heads.parse_heads`), or a pooling, returned unchanged.
    position
        ``"cls"``, ``"last"`` or ``"mean"``; the one that fits the model if empty.

    Raises
    ------
    UserError
        If the text is none of these.

    Examples
    --------
    >>> parse_pooling("heads:3-9, 4-1").title, parse_pooling("layer:4").title
    ('heads 3-9, 4-1', 'layer 4')
    """
    if isinstance(text, Pooling):
        if position and text.position and position != text.position:
            raise UserError(
                f"the pooling is at position {text.position!r}, and position is {position!r}",
                hint="give the position once",
            )
        return text.with_position(text.position or position)
    plain = text.replace(" ", "")
    kind, _, what = plain.partition(":")
    if plain == "last":
        return Pooling(position=position)
    if kind == "layer" and re.fullmatch(r"[0-9]+", what):
        return Pooling(layer=int(what), position=position)
    if kind == "heads" and what:
        return Pooling(heads=what, position=position)
    raise UserError(
        f"a pooling must be last, layer:N or heads:LAYER-HEAD,…; got {text!r} instead",
        hint="give e.g. 'last', 'layer:4' or 'heads:3-9,4-1', counted from 1",
        command="give e.g. --pooling last, layer:4 or heads:3-9,4-1, counted from 1",
    )


def find_pooling(pooling: str | Pooling | None, position: str = "") -> Pooling | None:
    """The pooling that was asked for, or None. A position without a pooling is an error."""
    if pooling is not None:
        return parse_pooling(pooling, position)
    if position:
        raise UserError(
            f"the position {position!r} needs a pooling",
            hint=f"give e.g. pooling='last', position={position!r}",
            command=f"give e.g. --pooling last --position {position}",
        )
    return None


def pooling_slug(pooling: Pooling) -> str:
    """A folder name for a pooling. Many heads are replaced by their number and a digest.

    Examples
    --------
    >>> [pooling_slug(parse_pooling(text)) for text in ("last", "layer:4", "heads:3-9,4-1")]
    ['last', 'layer4', 'heads-3-9_4-1']
    >>> pooling_slug(parse_pooling("last", "mean")), pooling_slug(parse_pooling("heads:4-*"))
    ('last-mean', 'heads-4-all')
    """
    heads = pooling.names
    if len(heads) > FEW:
        name = f"{len(heads)}-heads-{hashlib.sha256(','.join(heads).encode()).hexdigest()[:6]}"
    elif heads:
        name = f"heads-{'_'.join(heads)}".replace("*", "all")
    else:
        name = "last" if pooling.layer is None else f"layer{pooling.layer}"
    return name + (f"-{pooling.position}" if pooling.position else "")
