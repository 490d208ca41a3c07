"""Poolings as people write them, and as folders are named after them."""

from __future__ import annotations

import hashlib
import re

from headscope.errors import UserError
from headscope.models import Pooling

FEW = 4
"""So many heads are told in a folder's name."""


def parse_pooling(text: str, position: str = "") -> Pooling:
    """A pooling from ``last``, ``layer:4`` or ``heads:3-9,4-1``, layers and heads from 1.

    >>> parse_pooling("heads:3-9, 4-1").heads, parse_pooling("layer:4").layer
    (((2, 8), (3, 0)), 3)
    """
    plain = text.replace(" ", "")
    if plain == "last":
        return Pooling(position=position)
    if found := re.fullmatch(r"layer:([0-9]+)", plain):
        return Pooling(layer=int(found[1]) - 1, position=position)
    if re.fullmatch(r"heads:[0-9]+-[0-9]+(,[0-9]+-[0-9]+)*", plain):
        return Pooling(
            heads=tuple(
                (int(layer) - 1, int(head) - 1)
                for layer, head in re.findall(r"([0-9]+)-([0-9]+)", plain)
            ),
            position=position,
        )
    raise UserError(
        f"a pooling must be last, layer:N or heads:LAYER-HEAD,…, counted from 1; got {text!r} instead",
        hint="give e.g. --pooling last, layer:4 or heads:3-9,4-1",
    )


def pooling_slug(pooling: Pooling) -> str:
    """A name for a folder. Many heads are told apart by a digest.

    >>> [pooling_slug(parse_pooling(text)) for text in ("last", "layer:4", "heads:3-9,4-1")]
    ['last', 'layer4', 'heads-3-9_4-1']
    >>> pooling_slug(parse_pooling("last", "mean"))
    'last-mean'
    """
    heads = [f"{layer + 1}-{head + 1}" for layer, head in pooling.heads]
    if len(heads) > FEW:
        name = f"{len(heads)}-heads-{hashlib.sha256(','.join(heads).encode()).hexdigest()[:6]}"
    elif heads:
        name = f"heads-{'_'.join(heads)}"
    else:
        name = "last" if pooling.layer is None else f"layer{pooling.layer + 1}"
    return name + (f"-{pooling.position}" if pooling.position else "")
