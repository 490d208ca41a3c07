"""One probing task: the classifiers of its heads, of its layers, and of its best heads together.

Where validation or test is small, all sentences are divided again: a head that is chosen on few
validation sentences may be there by luck, and few test sentences may not show it. Each new split
chooses for itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.heads import Head
from headscope.models import Model
from headscope.progress import Update
from headscope.runs.probe import Probing
from headscope.runs.probe.classify import ClassifierScores, classify, standardise
from headscope.runs.probe.rows import LabelledRows, TaskFeatures
from headscope.runs.probe.select import SELECTED, candidates, greedy, judging_rows, ranking
from headscope.runs.probe.vectors import HeadOutputs
from headscope.tasks.task import ProbingTask

COST = 2e10
"""Points of the curve over n whose classifiers take more operations per step can be skipped."""
SMALL = 200
"""Validation and test splits with fewer examples are small."""
REPEATS = 5
"""How often the split of a small task is drawn again by default."""
WAYS = ("top", "greedy")
"""Ways of selecting heads: by their own scores, or greedily."""
SPLIT_WAYS = ("last", "best", "top")
"""The last layer, the layer and the heads that are best in the validation part."""
TOP_SCORES = ("validation", "test", "l2", "spearman")
UNIT_SCORES = (*TOP_SCORES, "control", "constant")
NOTHING = -1

Arrays = dict[str, NDArray[Any]]
Scores = dict[str, Arrays]
"""Arrays by name, of heads, layers, top heads, embeddings and splits: see :meth:`TaskProbe.run`."""


class TaskProbe:
    """All classifiers of one task.

    Parameters
    ----------
    task
        The task.
    outputs
        The vectors of its texts.
    options
        Options, with ``n`` and ``counts`` filled in.
    skip_costly
        Whether to skip points of the curve over n that cost too much.
    repeats
        How often the split is drawn again.
    progress
        Called with the number of steps that are done, and of all.
    """

    def __init__(
        self,
        task: ProbingTask,
        outputs: HeadOutputs,
        options: Probing,
        *,
        skip_costly: bool = False,
        repeats: int = 0,
        progress: Update | None = None,
    ) -> None:
        self.options, self.plain = options, replace(options, control=False)
        self.shape, self.heads = outputs.shape, outputs.shape.every_head
        self.features = TaskFeatures(task, outputs, options.pairs)
        self.task = self.features.task
        self.rows = LabelledRows.of(self.task)
        self.repeats, self.progress, self.done = repeats, progress, 0
        self.points = [n for n in options.counts or () if self._affordable(n) or not skip_costly]
        self.steps = (2 + repeats) * self.shape.layers + 2 * len(self.points)

    def run(self, model: Model) -> Scores:
        """Train and score all classifiers.

        Returns
        -------
        dict of arrays
            ``heads`` and ``layers``: by name (``UNIT_SCORES``), (layer, head) and (layer,), with
            the number of classifiers ``unsolved``, (1,). ``top``: by name (``TOP_SCORES``),
            (way, n), scores of n heads together, NaN where there are none; and ``rank``,
            (way, place, 2), layer and head in the order of selection, counted from 0, -1 beyond.
            ``embeddings``, (1,) each, and ``splits`` (see :meth:`split_scores`), if asked for.
        """
        heads, layers = [], []
        for layer in self.shape.numbers:
            heads.append(classify(self.features.heads(layer), self.rows, self.options))
            self._step()
            layers.append(classify(self.features.layer(layer), self.rows, self.options))
            self._step()
        best = self._ranked(np.stack([one.validation for one in heads]))
        orders = {"top": best, "greedy": self._greedy(best) if self.options.greedy else []}
        scores: Scores = {
            "heads": unit_scores(heads),
            "layers": {name: each.reshape(-1) for name, each in unit_scores(layers).items()},
            "top": self._together(orders),
        }
        if self.options.embeddings:
            scores["embeddings"] = self.embedding_scores(model)
        if self.repeats:
            scores["splits"] = self.split_scores()
        return scores

    def embedding_scores(self, model: Model) -> Arrays:
        """The scores of the embeddings alone, (1,) each."""
        x = self.features.embeddings(model, self.options)
        scores = unit_scores([classify(x, self.rows, self.options)])
        return {name: each.reshape(-1) for name, each in scores.items()}

    def split_scores(self) -> Arrays:
        """The scores of heads, layers and top heads in new splits, without controls.

        Returns
        -------
        dict of arrays
            ``test`` and ``validation``, (split, layer, head); ``top_test`` and ``top_validation``,
            (way, split); ``best_layer``, (split,), and ``rank``, (split, n, 2), counted from 0.
        """
        numbers = range(1, self.repeats + 1)
        drawn = [redraw(self.rows, self.options.seed, number) for number in numbers]
        heads: list[list[ClassifierScores]] = []
        layers: list[list[ClassifierScores]] = []
        for layer in self.shape.numbers:  # the vectors of a layer are read once for all splits
            x = self.features.heads(layer)
            heads.append([classify(x, split, self.plain) for split in drawn])
            x = self.features.layer(layer)
            layers.append([classify(x, split, self.plain) for split in drawn])
            self._step(self.repeats)
        scores = {name: _each(heads, name) for name in ("test", "validation")}
        states = {name: _each(layers, name)[..., 0] for name in ("test", "validation")}
        best = np.nan_to_num(states["validation"], nan=-np.inf).argmax(1)
        chosen = [self._ranked(each)[: self.options.n] for each in scores["validation"]]
        top = [
            classify(self.features.together(few), split, self.plain)
            for few, split in zip(chosen, drawn, strict=True)
        ]
        for name in ("test", "validation"):
            together = np.array([getattr(one, name)[0] for one in top])
            at_best = states[name][np.arange(self.repeats), best]
            scores[f"top_{name}"] = np.stack([states[name][:, -1], at_best, together])
        return scores | {"best_layer": best, "rank": np.array(chosen, np.int64)}

    def _step(self, count: int = 1) -> None:
        self.done += count
        if self.progress:
            self.progress(self.done, self.steps)

    def _affordable(self, n: int) -> bool:
        """Whether the classifiers of n heads are cheap enough, or n is the number asked for."""
        outputs, penalties = self.rows.outputs, len(self.options.l2)
        price = len(self.rows.train) * self.features.width * outputs * penalties * 4
        return n * price <= COST or n == self.options.n

    def _ranked(self, validation: NDArray[np.float64]) -> list[Head]:
        """Heads from the best validation score, (layer, head), to the worst."""
        return [self.heads[unit] for unit in ranking(validation.ravel())]

    def _together(self, orders: Mapping[str, Sequence[Head]]) -> Arrays:
        """Classifiers of the first n heads of each order, without controls."""
        counts = self.options.counts or ()
        scores = {name: np.full((len(WAYS), len(counts)), np.nan) for name in TOP_SCORES}
        rank = np.full((len(WAYS), len(self.heads), 2), NOTHING, np.int64)
        for way, order in orders.items():
            at = WAYS.index(way)
            if order:
                rank[at, : len(order)] = order
            for n in self.points:
                if n <= len(order):
                    own = classify(self.features.together(order[:n]), self.rows, self.plain)
                    for name, values in scores.items():
                        values[at, counts.index(n)] = getattr(own, name)[0]
                self._step()
        return scores | {"rank": rank}

    def _greedy(self, best: Sequence[Head]) -> list[Head]:
        """Select heads greedily from the best ones."""
        width = self.features.width
        kept, rows = judging_rows(self.rows, self.options.seed)
        count = max(n for n in self.points if n * width <= SELECTED or n == self.options.n)
        chosen = [best[place] for place in candidates(range(len(best)), rows, width, count)]
        x = torch.empty(len(chosen), len(kept), width)
        for layer in sorted({head.layer for head in chosen}):
            prepared, _ = standardise(self.features.heads(layer), self.rows.train)
            prepared = prepared[:, torch.from_numpy(kept)]
            for place, head in enumerate(chosen):
                if head.layer == layer:
                    x[place] = prepared[head.head]
        return [chosen[place] for place in greedy(x, rows, count=count)]


def unit_scores(scores: Sequence[ClassifierScores]) -> Arrays:
    """Scores by name, (layer, unit), with the number of classifiers ``unsolved``, (1,)."""
    return {
        name: np.stack([getattr(one, name) for one in scores]).astype(np.float64)
        for name in UNIT_SCORES
    } | {"unsolved": np.array([sum(one.unsolved for one in scores)], np.int64)}


def _each(scores: Sequence[Sequence[ClassifierScores]], name: str) -> NDArray[np.float64]:
    """A score of every unit, (split, layer, unit), from scores by layer and split."""
    values = [[getattr(one, name) for one in layer] for layer in scores]
    return np.array(values, np.float64).transpose(1, 0, 2)


def count_repeats(task: ProbingTask, number: int | None) -> int:
    """How often the split of a task is drawn again; 0 for never.

    Parameters
    ----------
    task
        The task.
    number
        The number of splits that was asked for; 1 stands for the task's own split only. None
        chooses: 5 if validation or test has fewer than 200 examples.

    Examples
    --------
    >>> task = ProbingTask("t", "T", (), {"train": (), "test": ()})
    >>> count_repeats(task, None), count_repeats(task, 3), count_repeats(task, 1)
    (5, 3, 0)
    """
    if number is None:
        dev, test = (len(task.splits.get(split, ())) for split in ("dev", "test"))
        return REPEATS if test < SMALL or 0 < dev < SMALL else 0
    return number if number > 1 else 0


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
