"""The examples of a task as rows with labels, and the score of predictions for them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Example
from headscope.errors import CorpusError
from headscope.tasks.task import SPLITS, ProbingTask


@dataclass(frozen=True)
class LabelledRows:
    """The labels of a task's examples and the rows of each split.

    Parameters
    ----------
    gold
        Label of every row: the index of its class, or a number for a regression task.
    classes
        Number of classes; 0 for a regression task.
    train, dev, test
        Row numbers of the training, validation (possibly empty) and test splits.

    Examples
    --------
    >>> rows = LabelledRows(
    ...     np.array([0.0, 1.0, 1.0, 1.0]), 2, np.arange(3), np.arange(0), np.array([3])
    ... )
    >>> rows.majority
    1.0
    """

    gold: NDArray[np.float64]
    classes: int
    train: NDArray[np.int64]
    dev: NDArray[np.int64]
    test: NDArray[np.int64]

    @classmethod
    def of(cls, task: ProbingTask) -> LabelledRows:
        """Collect the examples of a task, split by split.

        Raises
        ------
        CorpusError
            If training or test examples are missing, if a label is not one of the task's, or if
            all training examples share one label.
        """
        examples = [(split, example) for split in SPLITS for example in task.splits.get(split, ())]
        splits = np.array([split for split, _ in examples])
        for split, purpose in (("train", "training"), ("test", "test")):
            if not (splits == split).any():
                raise CorpusError(
                    f"{task.title} has no {purpose} examples",
                    hint="a task needs a training and a test split",
                )
        index = {label: number for number, label in enumerate(task.labels)}
        gold = np.array([_label(task, index, example) for _, example in examples], np.float64)
        if len(np.unique(gold[splits == "train"])) < 2:
            raise CorpusError(
                f"{task.title}: all training examples have the same label, "
                f"{examples[0][1].label!r}",
                hint="a task needs at least two labels in the training split",
            )
        parts = (np.flatnonzero(splits == split) for split in SPLITS)
        return cls(gold, len(task.labels), *parts)

    @property
    def regression(self) -> bool:
        """Whether the labels are numbers."""
        return self.classes == 0

    @cached_property
    def levels(self) -> NDArray[np.float64]:
        """The whole numbers that span a regression's labels: each is a class, as in SentEval."""
        return np.arange(np.floor(self.gold.min()), np.ceil(self.gold.max()) + 1)

    @property
    def outputs(self) -> int:
        """Number of classes that a classifier tells apart; levels for a regression."""
        return self.classes or len(self.levels)

    @property
    def targets(self) -> Tensor:
        """Classes, (row,); for a regression, each row's shares of the two nearest levels.

        SentEval treats similarity scores this way: 3.8 is 0.2 of level 3 and 0.8 of level 4.
        """
        if not self.regression:
            return torch.from_numpy(self.gold.astype(np.int64))
        shares = np.clip(1 - np.abs(self.gold[:, None] - self.levels), 0, None)
        return torch.from_numpy(shares).float()

    @property
    def majority(self) -> float:
        """Test score of always predicting the most frequent training class.

        NaN for a regression: a correlation with a constant is undefined.
        """
        if self.regression:
            return float("nan")
        most_frequent = np.bincount(self.gold[self.train].astype(np.int64)).argmax()
        return float((self.gold[self.test] == most_frequent).mean())

    def score(self, logits: Tensor, rows: NDArray[np.int64]) -> Tensor:
        """Accuracy, or Pearson's correlation of the expected level with the labels.

        Parameters
        ----------
        logits
            (..., row, class)
        rows
            The row number of each row of ``logits``.

        Returns
        -------
        Tensor
            (...); NaN where a correlation is undefined.
        """
        gold = torch.from_numpy(self.gold[rows]).to(logits.device)
        if not self.regression:
            return (logits.argmax(-1) == gold.long()).double().mean(-1)
        return _pearson(self._expected(logits), gold)

    def rank_score(self, logits: Tensor, rows: NDArray[np.int64]) -> Tensor:
        """Spearman's correlation of the expected level with the labels; NaN for classes.

        Parameters
        ----------
        logits, rows
            As for :meth:`score`.
        """
        if not self.regression:
            return torch.full(logits.shape[:-2], torch.nan, dtype=torch.float64)
        from scipy.stats import rankdata  # slow to import

        expected = self._expected(logits).cpu().numpy()
        ranks = rankdata(expected, axis=-1), rankdata(self.gold[rows])
        return _pearson(*(torch.from_numpy(np.asarray(one, np.float64)) for one in ranks))

    def _expected(self, logits: Tensor) -> Tensor:
        """The expected level of each row."""
        return logits.double().softmax(-1) @ torch.from_numpy(self.levels).to(logits.device)


def _pearson(one: Tensor, two: Tensor) -> Tensor:
    """Pearson's correlation over the last dimension; NaN where it is undefined."""
    one, two = one - one.mean(-1, keepdim=True), two - two.mean()
    spread = (one.pow(2).sum(-1) * two.pow(2).sum()).sqrt()
    return torch.where(
        spread > 0,
        (one * two).sum(-1) / spread.clamp(min=1e-300),
        torch.full_like(spread, torch.nan),
    )


def _label(task: ProbingTask, index: Mapping[str, int], example: Example) -> float:
    """The class of an example, or its number."""
    if example.label in index:
        return index[str(example.label)]
    if not task.labels:
        with suppress(ValueError):
            number = float(str(example.label))
            if isfinite(number):
                return number
    allowed = f"one of {', '.join(task.labels[:10])}" if task.labels else "a number"
    raise CorpusError(
        f"{task.title}: the label of an example must be {allowed}; got {example.label!r} instead "
        f"({' | '.join(example.texts)[:60]})"
    )
