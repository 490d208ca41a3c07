"""Which heads are disabled in which pass: each head, each layer and any sets of heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headscope.errors import UserError
from headscope.heads import Head, HeadsLike, head_names
from headscope.models import Shape

BASELINE = "none"


@dataclass(frozen=True)
class Disabled:
    """The heads that are disabled in one pass over the examples.

    Parameters
    ----------
    kind
        ``baseline``, ``head``, ``layer`` or ``set``; in a pruning curve, the order of the heads.
    name
        The name in results, counted from 1: ``none``, ``3-9``, ``layer 3`` or ``3-9,4-1``.
    heads
        The disabled heads, in the order of the model.
    """

    kind: str
    name: str
    heads: tuple[Head, ...]

    @property
    def size(self) -> int:
        """How many heads are disabled."""
        return len(self.heads)


NOTHING = Disabled("baseline", BASELINE, ())
"""The pass with all heads."""


def plan(
    shape: Shape, *, heads: bool = True, layers: bool = True, sets: Sequence[HeadsLike] = ()
) -> list[Disabled]:
    """What to disable, one pass after the other.

    Parameters
    ----------
    shape
        The shape of the model.
    heads, layers
        Whether to disable each head and each layer in turn. The layer of a model that has only one
        is skipped if there is anything else to disable.
    sets
        Sets of heads to disable together, such as ``"3-9,4-1"`` or ``"4-*"``.

    Returns
    -------
    list of Disabled
        The baseline, then heads, layers and sets.

    Raises
    ------
    UserError
        If there is nothing to disable, if the model has no such head, or if a pass would disable
        all heads.

    Examples
    --------
    >>> [off.name for off in plan(Shape(2, 2, 8), sets=["1-2,2-1"])]
    ['none', '1-1', '1-2', '2-1', '2-2', 'layer 1', 'layer 2', '1-2,2-1']
    """
    every = shape.every_head
    passes = [NOTHING]
    if heads:
        passes += [Disabled("head", str(head), (head,)) for head in every]
    if layers and (shape.layers > 1 or not (heads or sets)):
        for layer in shape.numbers:
            chosen = tuple(head for head in every if head.layer == layer)
            passes.append(Disabled("layer", f"layer {layer + 1}", chosen))
    passes += [disabled_set(shape, chosen) for chosen in sets]
    if len(passes) == 1:
        raise UserError("there is nothing to disable", hint="give heads, layers or sets")
    for off in passes:
        if off.size == len(every):
            raise UserError(
                f"{off.name} would disable all {off.size} heads of the model, "
                "which leaves nothing to compare",
                hint="leave at least one head enabled",
            )
    return passes


def disabled_set(shape: Shape, heads: HeadsLike, kind: str = "set", name: str = "") -> Disabled:
    """A pass with several heads disabled.

    Parameters
    ----------
    shape
        The shape of the model.
    heads
        The heads, see :func:`headscope.heads.parse_heads`.
    kind, name
        See :class:`Disabled`. The name is that of the heads if it is empty.
    """
    chosen = tuple(sorted(shape.parse(heads)))
    return Disabled(kind, name or head_names(chosen), chosen)
