"""The examples of a task as rows: their labels, their features, and the score of predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Example
from headscope.errors import CorpusError
from headscope.heads import Head
from headscope.models import Model
from headscope.runs.probe import Vectors
from headscope.runs.probe.vectors import HeadOutputs, Texts, text_embeddings
from headscope.tasks.task import SPLITS, ProbingTask, label_ids


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
        gold = label_ids(task, [example for _, example in examples]).astype(np.float64)
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
        if not self.regression:
            return self.right(logits, rows).double().mean(-1)
        return _pearson(self._expected(logits), torch.from_numpy(self.gold[rows]).to(logits.device))

    def right(self, logits: Tensor, rows: NDArray[np.int64]) -> Tensor:
        """Which rows are given their class, (..., row)."""
        return logits.argmax(-1) == torch.from_numpy(self.gold[rows]).to(logits.device).long()

    def rank_score(self, logits: Tensor, rows: NDArray[np.int64]) -> Tensor:
        """Spearman's correlation of the expected level with the labels."""
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


Read = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""From rows of :class:`HeadOutputs` to the vectors of their texts, (row, ...)."""


def model_inputs(texts: Texts, pairs: str) -> list[Texts]:
    """What the model reads of an example.

    Examples
    --------
    >>> model_inputs(("A dog.", "A cat."), "apart")
    [('A dog.',), ('A cat.',)]
    >>> model_inputs(("A dog.", "A cat."), "together")
    [('A dog.', 'A cat.')]
    """
    return [texts] if len(texts) == 1 or pairs == "together" else [(text,) for text in texts]


def task_texts(tasks: Sequence[ProbingTask], pairs: str) -> list[Texts]:
    """What the model reads of some tasks, each text once."""
    examples = (one for task in tasks for split in SPLITS for one in task.splits.get(split, ()))
    return list(dict.fromkeys(text for one in examples for text in model_inputs(one.texts, pairs)))


class TaskFeatures:
    """The features of one task's examples, in the order train, dev, test.

    Parameters
    ----------
    task
        The task. ``self.task`` lacks the examples without any token, which have no vectors.
    outputs
        The vectors of its texts.
    pairs
        ``"together"`` or ``"apart"``: how a pair of texts is encoded.
    """

    def __init__(self, task: ProbingTask, outputs: HeadOutputs, pairs: str) -> None:
        self.outputs, self.pairs = outputs, pairs
        splits = {
            split: tuple(one for one in examples if outputs.empty.isdisjoint(self._rows(one)))
            for split, examples in task.splits.items()
        }
        self.task = replace(task, splits=splits)
        rows = [self._rows(one) for split in SPLITS for one in splits.get(split, ())]
        if len({len(each) for each in rows}) > 1:
            raise CorpusError(
                f"{task.title}: some examples are single texts and others pairs",
                hint="make two tasks of them, or encode pairs together",
            )
        self.index = np.array(rows, np.int64)

    @property
    def width(self) -> int:
        """Number of features of a head."""
        return self.outputs.shape.width * (4 if self.index.shape[1] == 2 else 1)

    def heads(self, layer: int, heads: Sequence[int] | slice = slice(None)) -> Tensor:
        """Features of heads of a layer, (head, row, width)."""
        features = self._features(lambda rows: self.outputs.heads(layer, rows)[:, heads])
        return features.permute(1, 0, 2).contiguous()

    def layer(self, layer: int) -> Tensor:
        """Features of a layer, (1, row, width)."""
        return self._features(lambda rows: self.outputs.layer(layer, rows))[None]

    def together(self, heads: Sequence[Head]) -> Tensor:
        """Features of several heads concatenated in the given order, (1, row, width)."""
        parts: dict[Head, Tensor] = {}
        for layer in sorted({head.layer for head in heads}):
            chosen = [head for head in heads if head.layer == layer]
            features = self.heads(layer, [head.head for head in chosen])
            parts |= dict(zip(chosen, features, strict=True))
        return torch.cat([parts[head] for head in heads], 1)[None]

    def embeddings(self, model: Model, options: Vectors) -> Tensor:
        """Features in the embeddings alone, (1, row, width)."""
        known = np.unique(self.index)
        texts = [self.outputs.texts[row] for row in known.tolist()]
        vectors = text_embeddings(model, texts, options)
        return self._features(lambda rows: vectors[np.searchsorted(known, rows)])[None]

    def _rows(self, example: Example) -> list[int]:
        return [self.outputs.row[text] for text in model_inputs(example.texts, self.pairs)]

    def _features(self, read: Read) -> Tensor:
        """The vector of a single text; for two texts u, v, |u - v| and u · v."""
        one = torch.from_numpy(read(self.index[:, 0]))
        if self.index.shape[1] == 1:
            return one
        two = torch.from_numpy(read(self.index[:, 1]))
        return torch.cat([one, two, (one - two).abs(), one * two], -1)
