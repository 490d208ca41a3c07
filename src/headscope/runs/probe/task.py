"""One probing task: the classifiers of its heads, of its layers, and of its best heads together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.heads import Head
from headscope.progress import Update
from headscope.runs.probe import Probing
from headscope.runs.probe.classify import ClassifierScores, classify, standardise
from headscope.runs.probe.features import TaskFeatures
from headscope.runs.probe.outputs import HeadOutputs
from headscope.runs.probe.rows import LabelledRows
from headscope.runs.probe.select import SELECTED, candidates, greedy, judging_rows, ranking
from headscope.runs.probe.splits import split_scores
from headscope.runs.probe.task_scores import Arrays, TaskScores
from headscope.tasks.task import ProbingTask

COST = 2e10
"""Points of the curve over n whose classifiers take more operations per step can be skipped."""


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
    progress
        Called with the number of steps that are done, and of all.
    skip_costly
        Whether to skip points of the curve over n that cost too much.
    embeddings
        Computes the features of the embeddings alone; None skips their classifier.
    repeats
        How often the split is drawn again.
    """

    def __init__(
        self,
        task: ProbingTask,
        outputs: HeadOutputs,
        options: Probing,
        progress: Update,
        *,
        skip_costly: bool = False,
        embeddings: Callable[[TaskFeatures], Tensor] | None = None,
        repeats: int = 0,
    ) -> None:
        self.options, self.progress, self.shape = options, progress, outputs.shape
        self.features = TaskFeatures(task, outputs, options.pairs)
        self.rows = LabelledRows.of(self.features.task)
        self.heads, self.embeddings, self.repeats = self.shape.every_head, embeddings, repeats
        self.points = [n for n in options.counts or () if self._affordable(n) or not skip_costly]

    def run(self) -> TaskScores:
        """Train and score all classifiers."""
        total = (2 + self.repeats) * self.shape.layers + 2 * len(self.points)
        heads, layers = [], []
        for place, layer in enumerate(self.shape.numbers):
            heads.append(classify(self.features.heads(layer), self.rows, self.options))
            self.progress(2 * place + 1, total)
            layers.append(classify(self.features.layer(layer), self.rows, self.options))
            self.progress(2 * place + 2, total)
        best = self._ranking(np.stack([one.validation for one in heads]))
        orders = {"top": best, "greedy": self._greedy(best) if self.options.greedy else []}
        top = self._together(orders, total)
        scores = TaskScores.of(
            heads,
            layers,
            top,
            orders,
            self.options.counts or (),
            len(self.heads),
            embeddings=self._embeddings(),
        )
        return replace(scores, splits=self._splits(total))

    def _splits(self, total: int) -> Arrays:
        """The scores in new splits, which take the last share of the steps."""
        if not self.repeats:
            return {}
        done = total - self.repeats * self.shape.layers

        def report(count: int) -> None:
            self.progress(done + count, total)

        return split_scores(self.features, self.rows, self.options, self.repeats, report)

    def _embeddings(self) -> ClassifierScores | None:
        if self.embeddings is None:
            return None
        return classify(self.embeddings(self.features), self.rows, self.options)

    def _affordable(self, n: int) -> bool:
        """Whether the classifiers of n heads are cheap enough, or n is the number asked for."""
        outputs, penalties = self.rows.outputs, len(self.options.l2)
        price = len(self.rows.train) * self.features.width * outputs * penalties * 4
        return n * price <= COST or n == self.options.n

    def _ranking(self, validation: NDArray[np.float64]) -> list[Head]:
        """Heads from the best validation score to the worst."""
        return [self.heads[unit] for unit in ranking(validation.ravel())]

    def _together(
        self, orders: dict[str, list[Head]], total: int
    ) -> dict[tuple[str, int], ClassifierScores]:
        """Classifiers of the first n heads of each order, without controls."""
        options = replace(self.options, control=False)
        scores: dict[tuple[str, int], ClassifierScores] = {}
        done = 2 * self.shape.layers
        for way, order in orders.items():
            for n in self.points:
                if n <= len(order):
                    scores[way, n] = classify(self.features.together(order[:n]), self.rows, options)
                done += 1
                self.progress(done, total)
        return scores

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
