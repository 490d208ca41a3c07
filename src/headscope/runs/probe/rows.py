"""A task's examples as rows with labels, and what an answer to them is worth (J3, J6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Example
from headscope.errors import CorpusError
from headscope.tasks.probing import ProbingTask


@dataclass(frozen=True)
class Rows:
    """The labels of a task's examples, and which are for training, validation (maybe none) and test. ``gold`` are classes, or numbers for a regression."""

    gold: NDArray[np.float64]
    classes: int
    train: NDArray[np.int64]
    dev: NDArray[np.int64]
    test: NDArray[np.int64]

    @classmethod
    def of(cls, task: ProbingTask) -> Rows:
        """Those of a task's examples, split after split."""
        examples = [
            (split, example)
            for split in ("train", "dev", "test")
            for example in task.splits.get(split, ())
        ]
        splits = np.array([split for split, _ in examples])
        for split in ("train", "test"):
            if not (splits == split).any():
                raise CorpusError(
                    f"{task.title} has no examples for {'training' if split == 'train' else 'the test'}",
                    hint="a task needs a train and a test part",
                )
        place = {label: index for index, label in enumerate(task.labels)}
        gold = np.array([_label(task, place, example) for _, example in examples], np.float64)
        if len(np.unique(gold[splits == "train"])) < 2:
            raise CorpusError(
                f"{task.title}: all training examples have one and the same label, {examples[0][1].label!r}",
                hint="a task needs two labels or more for training",
            )
        parts = (np.flatnonzero(splits == split) for split in ("train", "dev", "test"))
        return cls(gold, len(task.labels), *parts)

    @property
    def regression(self) -> bool:
        """Whether the labels are numbers."""
        return self.classes == 0

    @cached_property
    def levels(self) -> NDArray[np.float64]:
        """The whole numbers that a regression's scores lie between: each is a class, as in SentEval."""
        return np.arange(np.floor(self.gold.min()), np.ceil(self.gold.max()) + 1)

    @property
    def targets(self) -> Tensor:
        """Classes; for a regression, how near a score is to the whole numbers around it (SentEval's way with similarity)."""
        if not self.regression:
            return torch.from_numpy(self.gold.astype(np.int64))
        return torch.from_numpy(
            np.clip(1 - np.abs(self.gold[:, None] - self.levels), 0, None)
        ).float()

    @property
    def majority(self) -> float:
        """The test score of always answering the most frequent class of training (a correlation with a constant has none)."""
        if self.regression:
            return float("nan")
        return float(
            (
                self.gold[self.test] == np.bincount(self.gold[self.train].astype(np.int64)).argmax()
            ).mean()
        )

    def score(self, logits: Tensor, rows: NDArray[np.int64]) -> Tensor:
        """Accuracy, or Pearson's correlation of the expected score: (…, row, class) to (…)."""
        gold = torch.from_numpy(self.gold[rows]).to(logits.device)
        if not self.regression:
            return (logits.argmax(-1) == gold.long()).double().mean(-1)
        expected = logits.double().softmax(-1) @ torch.from_numpy(self.levels).to(logits.device)
        one, two = expected - expected.mean(-1, keepdim=True), gold - gold.mean()
        spread = (one.pow(2).sum(-1) * two.pow(2).sum()).sqrt()
        return torch.where(
            spread > 0,
            (one * two).sum(-1) / spread.clamp(min=1e-300),
            torch.full_like(spread, torch.nan),
        )


def _label(task: ProbingTask, place: Mapping[str, int], example: Example) -> float:
    """An example's class or score."""
    if task.labels:
        if example.label not in place:
            raise CorpusError(
                f"{task.title}: the label of an example must be one of {', '.join(task.labels[:10])}; got {example.label!r} instead ({' | '.join(example.texts)[:60]})"
            )
        return place[str(example.label)]
    try:
        return float(str(example.label))
    except ValueError:
        raise CorpusError(
            f"{task.title}: the label of an example must be a number; got {example.label!r} instead ({' | '.join(example.texts)[:60]})"
        ) from None
