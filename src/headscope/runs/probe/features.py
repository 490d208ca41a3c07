"""The features of a task's examples: vectors of a layer's heads, of a layer, of several heads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import CorpusError
from headscope.heads import Head
from headscope.runs.probe.blocks import Texts
from headscope.runs.probe.outputs import HeadOutputs
from headscope.tasks.task import SPLITS, ProbingTask


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
        self.task = self._without_empty(task) if outputs.empty else task
        rows = [
            self._rows(example.texts)
            for split in SPLITS
            for example in self.task.splits.get(split, ())
        ]
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

    def heads(self, layer: int) -> Tensor:
        """Features of the heads of a layer, (head, row, width)."""
        features = self._features(lambda rows: self.outputs.heads(layer, rows))
        return features.permute(1, 0, 2).contiguous()

    def layer(self, layer: int) -> Tensor:
        """Features of a layer, (1, row, width)."""
        return self.read(lambda rows: self.outputs.layer(layer, rows))

    def together(self, heads: Sequence[Head]) -> Tensor:
        """Features of several heads concatenated in the given order, (1, row, width)."""
        parts: dict[Head, Tensor] = {}
        for layer in sorted({head.layer for head in heads}):
            chosen = [head for head in heads if head.layer == layer]
            values = self._features(self._reader(layer, [head.head for head in chosen]))
            parts |= {head: values[:, place] for place, head in enumerate(chosen)}
        return torch.cat([parts[head] for head in heads], 1)[None]

    def read(self, read: Callable[[NDArray[np.int64]], NDArray[np.float32]]) -> Tensor:
        """Features of vectors from elsewhere, (1, row, width).

        Parameters
        ----------
        read
            From rows of ``outputs`` to the vectors of their texts, (row, number).
        """
        return self._features(read)[None]

    def _reader(
        self, layer: int, heads: list[int]
    ) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
        return lambda rows: self.outputs.heads(layer, rows)[:, heads]

    def _rows(self, texts: Texts) -> list[int]:
        return [self.outputs.row[text] for text in model_inputs(texts, self.pairs)]

    def _without_empty(self, task: ProbingTask) -> ProbingTask:
        splits = {
            split: tuple(
                example
                for example in examples
                if self.outputs.empty.isdisjoint(self._rows(example.texts))
            )
            for split, examples in task.splits.items()
        }
        return replace(task, splits=splits)

    def _features(self, read: Callable[[NDArray[np.int64]], NDArray[np.float32]]) -> Tensor:
        """The vector of a single text; for two texts u, v, |u - v| and u · v."""
        one = torch.from_numpy(read(self.index[:, 0]))
        if self.index.shape[1] == 1:
            return one
        two = torch.from_numpy(read(self.index[:, 1]))
        return torch.cat([one, two, (one - two).abs(), one * two], -1)
