"""Which heads are disabled in which run: each head, each layer and any sets of heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headscope.errors import UserError
from headscope.heads import Head, HeadsLike, all_heads, head_names, parse_heads
from headscope.models import Shape

BASELINE = "none"
LAST_LAYER = {
    "hint": "the model has one layer: disable its heads one by one (layers=False)",
    "command": "the model has one layer: disable its heads one by one (--heads)",
}


@dataclass(frozen=True)
class Run:
    """One pass over the corpus with some heads disabled.

    Parameters
    ----------
    kind
        ``baseline``, ``head``, ``layer`` or ``set``.
    name
        The name in results, counted from 1: ``none``, ``3-9``, ``layer 3`` or ``3-9,4-1``.
    heads
        The disabled heads.
    """

    kind: str
    name: str
    heads: tuple[Head, ...]

    @property
    def size(self) -> int:
        """How many heads are disabled."""
        return len(self.heads)


def plan(
    shape: Shape, *, heads: bool = True, layers: bool = True, sets: Sequence[HeadsLike] = ()
) -> list[Run]:
    """The runs of an ablation, in order.

    Parameters
    ----------
    shape
        The shape of the model.
    heads, layers
        Whether to disable each head and each layer in turn.
    sets
        Further sets of heads, such as ``"3-9,4-1"`` or ``"4-*"``.

    Returns
    -------
    list of Run
        The baseline, then heads, layers and sets.

    Raises
    ------
    UserError
        If there is nothing to disable, if the model has no such head, or if a run would disable all
        heads.

    Examples
    --------
    >>> [run.name for run in plan(Shape(2, 2, 8), sets=["1-2,2-1"])]
    ['none', '1-1', '1-2', '2-1', '2-2', 'layer 1', 'layer 2', '1-2,2-1']
    """
    every = all_heads(shape.layers, shape.heads)
    runs = [Run("baseline", BASELINE, ())]
    if heads:
        runs += [Run("head", str(head), (head,)) for head in every]
    if layers:
        for layer in range(shape.layers):
            chosen = tuple(head for head in every if head.layer == layer)
            runs.append(Run("layer", f"layer {layer + 1}", chosen))
    runs += [set_run(shape, chosen) for chosen in sets]
    if len(runs) == 1:
        raise UserError("there is nothing to disable", hint="give heads, layers or sets")
    for run in runs:
        if run.size == len(every):
            raise UserError(
                f"{run.name} would disable all {run.size} heads of the model, "
                "so there is nothing left to compare",
                **(LAST_LAYER if run.kind == "layer" else {"hint": "leave at least one head on"}),
            )
    return runs


def set_run(shape: Shape, heads: HeadsLike, kind: str = "set") -> Run:
    """A run with a set of heads disabled, in the order of the model and each once."""
    chosen = tuple(sorted(parse_heads(heads, layers=shape.layers, heads=shape.heads)))
    return Run(kind, head_names(chosen), chosen)
