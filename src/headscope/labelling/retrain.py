"""Train the pattern network on the built-in maps and your own, and measure what that changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from headscope.errors import UserError
from headscope.measures.patterns.labels import Labelled
from headscope.measures.patterns.network import CLASSES, PatternNet
from headscope.measures.patterns.training import EPOCHS, Report, evaluate, train
from headscope.stats.tables.patterns import (
    HEAD,
    class_scores,
    head_confusions,
    length_bin,
    scores_by,
)

FEW = 10
"""With fewer maps than this, all are used for training and none is held out."""
SHARE = 5
"""One in this many examples is held out."""


@dataclass(frozen=True)
class Retrained:
    """A retrained network with its evaluation.

    Parameters
    ----------
    network
        The new network.
    trained
        How many of the user's own maps it was trained on.
    before, after
        Reports on the old and the new network, by the name of the test set. Neither network was
        trained on these maps.
    """

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
    """Train a network on the built-in training maps and four fifths of the user's own.

    Parameters
    ----------
    old
        The network to compare with.
    builtin
        The built-in labelled maps, with ``split`` train or test.
    own
        The user's labelled maps. A fifth of their examples is held out, unless there are fewer than
        ten maps.
    seed
        Decides which examples are held out, and the training.
    epochs
        Passes over the training maps.
    progress
        Called with the number of finished epochs and of all epochs.

    Returns
    -------
    Retrained
        The new network, and both networks' scores on the built-in test maps and the held-out maps.

    Raises
    ------
    UserError
        If there are no labelled maps.
    """
    if not len(own):
        raise UserError(
            "there are no labelled maps to train on",
            hint="label some first: headscope label MODEL CORPUS -o my-labels",
        )
    inside, outside = hold_out(own, seed)
    tests = {"built-in test maps": builtin.part(split="test"), "your held-out maps": outside}
    tests = {name: maps for name, maps in tests.items() if len(maps)}
    new = train(builtin.part(split="train") + inside, seed=seed, epochs=epochs, progress=progress)
    return Retrained(
        new,
        len(inside),
        {name: evaluate(old, maps) for name, maps in tests.items()},
        {name: evaluate(new, maps) for name, maps in tests.items()},
    )


def hold_out(own: Labelled, seed: int) -> tuple[Labelled, Labelled]:
    """Split labelled maps into those for training and those held out for testing.

    All maps of an example are on the same side, since they share its text.
    """
    examples = [
        (row.get("corpus", ""), row.get("example", str(index)))
        for index, row in enumerate(own.known)
    ]
    names = sorted(set(examples))
    if len(own) < FEW or len(names) < 2:
        return own, own.take([])
    chosen = np.random.default_rng(seed).permutation(len(names))[: max(1, len(names) // SHARE)]
    held_out = {names[index] for index in chosen}
    inside = [index for index, name in enumerate(examples) if name not in held_out]
    outside = [index for index, name in enumerate(examples) if name in held_out]
    return own.take(inside), own.take(outside)


def check_tables(labelled: Labelled, predicted: Sequence[str]) -> dict[str, pd.DataFrame]:
    """F1 of the test maps with intervals: by class, length and model, and by whether any map of
    the model was trained on.
    """
    held = labelled.part(split="test")
    trained = {row["model"] for row in labelled.part(split="train").known}
    heads = [tuple(row[key] for key in HEAD) for row in held.known]
    groups = {
        "length": [length_bin(len(map_)) for map_ in held.maps],
        "model": [row["model"] for row in held.known],
        "training": [
            "other heads of a model trained on" if row["model"] in trained else "unseen model"
            for row in held.known
        ],
    }
    confusions = head_confusions(held.labels, predicted, heads, CLASSES)
    return {"class": class_scores(confusions, CLASSES, seed=0)} | {
        name: scores_by(held.labels, predicted, held.known, group, CLASSES, seed=0)
        for name, group in groups.items()
    }
