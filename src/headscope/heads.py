"""Heads: the one type for an attention head, and the names that people give to heads.

Papers count layers and heads from 1 and write ``3-9``; the interpretability literature counts from
0 and writes ``L2H8``. Both are read everywhere; ``3-9`` is what Headscope prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headscope.errors import UserError

FORM = "LAYER-HEAD counted from 1, such as 3-9, or L2H8 counted from 0"
WINDOW = (4, 64)
"""How many of the first and of the most recent tokens a head sees whose cache is cut."""
_FROM_ONE = re.compile(r"(\d{1,6}|\*)-(\d{1,6}|\*)")
_FROM_ZERO = re.compile(r"L(\d{1,6}|\*)H(\d{1,6}|\*)", re.IGNORECASE)


class Head(NamedTuple):
    """An attention head: its layer and its number within the layer, both counted from 0.

    Heads sort in the order of the model, compare equal to plain ``(layer, head)`` tuples, and print
    the way papers write them.

    Parameters
    ----------
    layer, head
        Indices from 0.

    Examples
    --------
    >>> head = Head.parse("3-9")
    >>> head
    <Head 3-9>
    >>> str(head), head.zero_based
    ('3-9', 'L2H8')
    >>> sorted([Head(2, 0), Head(0, 11)])
    [<Head 1-12>, <Head 3-1>]
    """

    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.layer + 1}-{self.head + 1}"

    def __repr__(self) -> str:  # counted from 1 as everywhere, since a list of heads prints this
        return f"<Head {self}>"

    @property
    def zero_based(self) -> str:
        """The name in the zero-based convention, such as ``L2H8``."""
        return f"L{self.layer}H{self.head}"

    @classmethod
    def parse(
        cls, text: str | Head, *, layers: Layers | None = None, heads: int | None = None
    ) -> Head:
        """Read one head.

        Parameters
        ----------
        text
            ``"3-9"`` (from 1), ``"L2H8"`` (from 0), or a :class:`Head`, which is returned
            unchanged.
        layers, heads
            The shape of the model, see :func:`parse_heads`. If given, a head outside it is an
            error.

        Raises
        ------
        UserError
            If the text is not the name of one head, or the model has no such head.

        Examples
        --------
        >>> Head.parse("L2H8", layers=12, heads=12)
        <Head 3-9>
        """
        parsed = parse_heads(text, layers=layers, heads=heads)
        if len(parsed) != 1 or (isinstance(text, str) and "*" in text):
            raise UserError(
                f"one head is needed here, got {text!r} instead", hint=f"give one head as {FORM}"
            )
        return parsed[0]


HeadLike = str | Head
"""What stands for one head: a name or a :class:`Head`."""
HeadsLike = str | Head | Iterable[str | Head]
"""What stands for several heads: ``"4-6,5-1"``, ``"4-*"``, a :class:`Head`, or a list of these."""


Layers = int | Sequence[int]
"""The layers of a model: how many there are, or the numbers (from 0) of those with attention."""


def parse_heads(
    heads_like: HeadsLike, *, layers: Layers | None = None, heads: int | None = None
) -> tuple[Head, ...]:
    """Read a set of heads, in the order given, each once.

    Parameters
    ----------
    heads_like
        Names separated by commas (``"4-6,5-1"``, ``"L2H8"``), all heads of a layer (``"4-*"``,
        ``"L3H*"``), one head of every layer (``"*-1"``), a :class:`Head`, or a list of any of
        these.
    layers
        The number of layers of the model. Where only some layers have attention: their numbers,
        from 0. Needed for ``*``; if given, a head outside it is an error.
    heads
        The number of heads of each layer; likewise.

    Returns
    -------
    tuple of Head

    Raises
    ------
    UserError
        If something is not the name of a head, if the model has no such head, or if there is none.

    Examples
    --------
    >>> [str(head) for head in parse_heads("4-6, 5-1, L3H5")]
    ['4-6', '5-1']
    >>> [str(head) for head in parse_heads("2-*", layers=2, heads=3)]
    ['2-1', '2-2', '2-3']
    >>> [str(head) for head in parse_heads("*-1", layers=(3, 7), heads=3)]
    ['4-1', '8-1']
    """
    numbers = range(layers) if isinstance(layers, int) else layers
    parsed: list[Head] = []
    for part in _parts(heads_like):
        for head in [part] if isinstance(part, Head) else _named(part, numbers, heads):
            _check_range(head, numbers, heads)
            parsed.append(head)
    if not parsed:
        raise UserError("the set of heads is empty", hint=f"give heads as {FORM}")
    return tuple(dict.fromkeys(parsed))


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
    parsed: list[HeadLike] = []
    for part in _parts(heads):
        several = isinstance(part, str) and "*" in part
        known = parse_heads(str(part).replace("*", "1") if several else part)  # raises if no name
        parsed += [part] if several else known
    return tuple(dict.fromkeys(parsed)) if parsed else parse_heads(())


def head_names(heads: Iterable[Head]) -> str:
    """Heads as one string that :func:`parse_heads` reads back.

    >>> head_names([Head(2, 8), Head(3, 0)])
    '3-9,4-1'
    """
    return ",".join(str(head) for head in heads)


def all_heads(layers: Layers, heads: int) -> tuple[Head, ...]:
    """Every head of a model, layer by layer.

    >>> [str(head) for head in all_heads(2, 2)]
    ['1-1', '1-2', '2-1', '2-2']
    >>> [str(head) for head in all_heads((3, 7), 1)]
    ['4-1', '8-1']
    """
    numbers = range(layers) if isinstance(layers, int) else layers
    return tuple(Head(layer, head) for layer in numbers for head in range(heads))


def _parts(heads_like: HeadsLike) -> Sequence[str | Head]:
    """The single names and heads in whatever was given."""
    if isinstance(heads_like, Head):
        return [heads_like]
    if isinstance(heads_like, str):
        return [part.strip() for part in heads_like.split(",") if part.strip()]
    if not isinstance(heads_like, Iterable):
        raise _not_a_head(heads_like)
    parts: list[str | Head] = []
    for item in heads_like:
        if not isinstance(item, str | Head):
            raise _not_a_head(item)
        parts += _parts(item)
    return parts


def _named(text: str, layers: Sequence[int] | None, heads: int | None) -> list[Head]:
    if match := _FROM_ONE.fullmatch(text):
        first = 1
    elif match := _FROM_ZERO.fullmatch(text):
        first = 0
    else:
        raise _not_a_head(text)
    return [
        Head(layer, head)
        for layer in _indices(match[1], first, layers, text)
        for head in _indices(match[2], first, None if heads is None else range(heads), text)
    ]


def _indices(text: str, first: int, every: Sequence[int] | None, name: str) -> Sequence[int]:
    """The indices from 0 that a number or ``*`` stands for."""
    if text != "*":
        index = int(text) - first
        if index < 0:
            raise UserError(
                f"there is no head {name}: in this form layers and heads count from 1",
                hint="count from 1 (3-9), or write the head as L2H8 to count from 0",
            )
        return [index]
    if every is None:
        raise UserError(
            f"{name!r} stands for several heads, which only the shape of a model tells",
            hint=f"name each head as {FORM}",
        )
    return every


def _check_range(head: Head, layers: Sequence[int] | None, heads: int | None) -> None:
    known = layers or [head.layer]
    if head.layer in known and 0 <= head.head < (heads or head.head + 1):
        return
    if known[0] < head.layer < known[-1] and head.layer not in known:
        raise UserError(
            f"layer {head.layer + 1} of the model has no attention heads, so there is no head "
            f"{head} ({head.zero_based}); the layers that have some are "
            f"{', '.join(str(layer + 1) for layer in known)}",
            hint="give a head of one of these layers",
        )
    first, last = Head((layers or [0])[0], 0), Head((layers or [0])[-1], (heads or 1) - 1)
    raise UserError(
        f"the model has no head {head} ({head.zero_based}); its heads run from {first} to {last} "
        f"({first.zero_based} to {last.zero_based})",
        hint=f"give heads as {FORM}",
    )


def _not_a_head(value: object) -> UserError:
    shown = repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
    return UserError(f"a head must be given as {FORM}; got {shown} instead", hint="e.g. 3-9 or 4-*")
