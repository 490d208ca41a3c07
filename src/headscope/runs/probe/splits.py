"""Repeated splits: where validation or test is small, all sentences are divided again.

A head that is chosen on few validation sentences may be there by luck, and few test sentences may
not show it. Each new split chooses for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from headscope.runs.probe import Probing
from headscope.runs.probe.classify import ClassifierScores, classify
from headscope.runs.probe.features import TaskFeatures
from headscope.runs.probe.rows import LabelledRows
from headscope.runs.probe.select import ranking
from headscope.runs.probe.task_scores import Arrays
from headscope.tasks.task import ProbingTask

SMALL = 200
"""Validation and test splits with fewer examples are small."""
REPEATS = 5
"""How often the split of a small task is drawn again by default."""
WAYS = ("last", "best", "top")
"""The last layer, the layer and the heads that are best in the validation part."""


def count_repeats(task: ProbingTask, asked: int | None) -> int:
    """How often the split of a task is drawn again; 0 for never.

    Parameters
    ----------
    task
        The task.
    asked
        The number of splits that was asked for; 1 stands for the task's own split only. None
        chooses: 5 if validation or test has fewer than 200 examples.

    Examples
    --------
    >>> task = ProbingTask("t", "T", (), {"train": (), "test": ()})
    >>> count_repeats(task, None), count_repeats(task, 3), count_repeats(task, 1)
    (5, 3, 0)
    """
    if asked is None:
        dev, test = (len(task.splits.get(split, ())) for split in ("dev", "test"))
        return REPEATS if test < SMALL or 0 < dev < SMALL else 0
    return asked if asked > 1 else 0


def redraw(rows: LabelledRows, seed: int, number: int) -> LabelledRows:
    """The same examples in another random split of the same sizes.

    Examples are ordered by label, at random within a label, and dealt to the splits in turn, so
    that each split gets its share of any stretch: of every class, and of a regression's range.

    Parameters
    ----------
    rows
        The examples of a task.
    seed, number
        Seed of the run, and the number of the split.

    Examples
    --------
    >>> own = LabelledRows(np.arange(8.0) % 2, 2, np.arange(4), np.arange(4, 6), np.arange(6, 8))
    >>> new = redraw(own, seed=0, number=1)
    >>> [sorted(own.gold[part].tolist()) for part in (new.train, new.dev, new.test)]
    [[0.0, 0.0, 1.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    """
    random = np.random.default_rng([seed, number])
    parts = (rows.train, rows.dev, rows.test)
    pool = random.permutation(np.concatenate(parts))
    order = pool[np.argsort(rows.gold[pool], kind="stable")]
    sizes = np.array([len(part) for part in parts])
    given, deal = np.zeros(3), np.empty(len(order), np.int64)
    for place in range(len(order)):
        lacking = sizes * (place + 1) / len(order) - given
        lacking[given >= sizes] = -np.inf
        deal[place] = lacking.argmax()
        given[deal[place]] += 1
    train, dev, test = (np.sort(order[deal == part]) for part in range(3))
    return replace(rows, train=train, dev=dev, test=test)


def split_scores(
    features: TaskFeatures,
    rows: LabelledRows,
    options: Probing,
    repeats: int,
    progress: Callable[[int], None] | None = None,
) -> Arrays:
    """The scores of heads, layers and top heads in new splits.

    Parameters
    ----------
    features
        The task's features.
    rows
        Its labels and own split.
    options
        Options, with ``n`` filled in; controls and greedy selection are left out.
    repeats
        Number of splits.
    progress
        Called with the number of layers of all splits that are done.

    Returns
    -------
    dict of arrays
        ``test`` and ``validation``, (split, layer, head); ``top_test`` and ``top_validation``,
        (way, split); ``best_layer``, (split,), and ``rank``, (split, n, 2), counted from 0.
    """
    shape, plain = features.outputs.shape, replace(options, control=False)
    drawn = [redraw(rows, options.seed, number) for number in range(1, repeats + 1)]
    heads: list[list[ClassifierScores]] = []
    layers: list[list[ClassifierScores]] = []
    for layer in shape.numbers:  # the vectors of a layer are read once for all splits
        x = features.heads(layer)
        heads.append([classify(x, split, plain) for split in drawn])
        x = features.layer(layer)
        layers.append([classify(x, split, plain) for split in drawn])
        if progress:
            progress(len(layers) * repeats)
    found = {name: _each(heads, name) for name in ("test", "validation")}
    states = {name: _each(layers, name)[..., 0] for name in ("test", "validation")}
    best = np.nan_to_num(states["validation"], nan=-np.inf).argmax(1)
    every = shape.every_head
    chosen = [
        [every[unit] for unit in ranking(scores.ravel())[: options.n]]
        for scores in found["validation"]
    ]
    top = [
        classify(features.together(few), split, plain)
        for few, split in zip(chosen, drawn, strict=True)
    ]
    splits = np.arange(repeats)
    for name in ("test", "validation"):
        together = np.array([getattr(one, name)[0] for one in top])
        last, at_best = states[name][:, -1], states[name][splits, best]
        found[f"top_{name}"] = np.stack([last, at_best, together])
    return found | {"best_layer": best, "rank": np.array(chosen, np.int64)}


def _each(scores: Sequence[Sequence[ClassifierScores]], name: str) -> NDArray[np.float64]:
    """A score of every unit, (split, layer, unit), from scores by layer and split."""
    values = [[getattr(one, name) for one in layer] for layer in scores]
    return np.array(values, np.float64).transpose(1, 0, 2)
