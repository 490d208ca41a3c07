"""Which heads are off in which run: each head, each layer, any sets; checked before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headscope.errors import UserError
from headscope.models import Shape, head_set
from headscope.results import head_name

BASELINE = "none"
Heads = Iterable[tuple[int, int]]
"""Heads as (layer, head), both from 0."""


@dataclass(frozen=True)
class Run:
    """One pass over the corpus with some heads off. ``kind`` is baseline, head, layer or set; ``name`` is for people, and counts from 1."""

    kind: str
    name: str
    heads: dict[int, frozenset[int]]

    @property
    def size(self) -> int:
        """How many heads are off."""
        return sum(len(heads) for heads in self.heads.values())


def plan(
    shape: Shape, *, heads: bool = True, layers: bool = True, sets: Sequence[Heads] = ()
) -> list[Run]:
    """The runs: nothing off, then each head, each layer and each set.

    >>> [run.name for run in plan(Shape(2, 2, 8), sets=[[(0, 1), (1, 0)]])]
    ['none', '1-1', '1-2', '2-1', '2-2', 'layer 1', 'layer 2', '1-2,2-1']
    """
    runs = [Run("baseline", BASELINE, {})]
    if heads:
        runs += [
            Run("head", head_name(layer + 1, head + 1), head_set([(layer, head)]))
            for layer in range(shape.layers)
            for head in range(shape.heads)
        ]
    if layers:
        runs += [
            Run(
                "layer",
                f"layer {layer + 1}",
                head_set((layer, head) for head in range(shape.heads)),
            )
            for layer in range(shape.layers)
        ]
    runs += [set_run(shape, chosen) for chosen in sets]
    if len(runs) == 1:
        raise UserError("there is nothing to disable", hint="give heads, layers or sets")
    for run in runs:
        if run.size == shape.layers * shape.heads:
            raise UserError(
                f"{run.name} would disable all {run.size} heads of the model, which leaves nothing to compare",
                hint="leave at least one head on"
                if run.kind != "layer"
                else "the model has one layer: disable its heads one by one (--heads)",
            )
    return runs


def set_run(shape: Shape, heads: Heads, kind: str = "set") -> Run:
    """A run with a set of heads off, in order and each once."""
    chosen = sorted(set(heads))
    if not chosen:
        raise UserError(
            "a set of heads to disable is empty", hint="give heads as LAYER-HEAD, e.g. 3-9,4-1"
        )
    for layer, head in chosen:
        if not (0 <= layer < shape.layers and 0 <= head < shape.heads):
            raise UserError(
                f"the model has no head {head_name(layer + 1, head + 1)}; its heads go from 1-1 to {head_name(shape.layers, shape.heads)}",
                hint="give heads as LAYER-HEAD, both from 1, e.g. 3-9",
            )
    return Run(
        kind, ",".join(head_name(layer + 1, head + 1) for layer, head in chosen), head_set(chosen)
    )


def parse_heads(text: str) -> list[tuple[int, int]]:
    """Heads as people write them, from 0.

    >>> parse_heads("3-9, 4-1")
    [(2, 8), (3, 0)]
    """
    found = []
    for part in text.split(","):
        layer, _, head = part.strip().partition("-")
        if not (layer.isdecimal() and head.isdecimal()):
            raise UserError(
                f"a set of heads must be written like 3-9,4-1 (layer-head, both from 1); got {text!r} instead",
                hint="give e.g. --set 3-9,4-1",
            )
        found.append((int(layer) - 1, int(head) - 1))
    return found
