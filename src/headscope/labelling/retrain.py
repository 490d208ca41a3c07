"""Training the pattern network on the built-in maps and one's own, and whether that is any better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from headscope.errors import UserError
from headscope.measures.patterns.labels import Labelled
from headscope.measures.patterns.network import PatternNet
from headscope.measures.patterns.training import EPOCHS, Report, evaluate, train

FEW = 10
"""With fewer maps of one's own, all are trained on and none is held out."""
SHARE = 5
"""One in so many examples is held out."""


@dataclass(frozen=True)
class Retrained:
    """A new network, how many of one's own maps it was trained on, and the reports of the old and the new one on maps that neither was trained on."""

    network: PatternNet
    trained: int
    before: Mapping[str, Report]
    after: Mapping[str, Report]


def retrain(
    old: PatternNet,
    builtin: Labelled,
    own: Labelled,
    *,
    seed: int,
    epochs: int = EPOCHS,
    progress: Callable[[int, int], None] | None = None,
) -> Retrained:
    """Train on the built-in training maps and four fifths of one's own; compare on the built-in test maps and on the last fifth, which is cut by example."""
    if not len(own):
        raise UserError(
            "there are no labelled maps to train on",
            hint="label some: headscope label MODEL CORPUS -o my-labels",
        )
    inside, outside = hold_out(own, seed)
    held = {"built-in test maps": builtin.part(split="test"), "your held-out maps": outside}
    held = {name: part for name, part in held.items() if len(part)}
    new = train(builtin.part(split="train") + inside, seed=seed, epochs=epochs, progress=progress)
    return Retrained(
        new,
        len(inside),
        {name: evaluate(old, part) for name, part in held.items()},
        {name: evaluate(new, part) for name, part in held.items()},
    )


def hold_out(own: Labelled, seed: int) -> tuple[Labelled, Labelled]:
    """Maps to train on and maps to keep for the report: all maps of an example on one side."""
    examples = [
        (row.get("corpus", ""), row.get("example", str(index)))
        for index, row in enumerate(own.known)
    ]
    names = sorted(set(examples))
    if len(own) < FEW or len(names) < 2:
        return own, own.take([])
    chosen = np.random.default_rng(seed).permutation(len(names))[: max(1, len(names) // SHARE)]
    out = {names[index] for index in chosen}
    return own.take([index for index, name in enumerate(examples) if name not in out]), own.take(
        [index for index, name in enumerate(examples) if name in out]
    )
