"""Labelled examples as rows of tokens, encoded as surveys encode them, and the order in which training sees them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset, Sampler

from headscope.corpus import Corpus
from headscope.encode import Encoded
from headscope.errors import CorpusError
from headscope.models import Model
from headscope.tasks.labels import label_ids
from headscope.tasks.task import Task

Row = dict[str, Any]
WINDOW = 50
"""Rows of like length are looked for among this many batches."""


class Rows(Dataset[Row]):
    """Token ids, token types and label of each example."""

    def __init__(self, items: Sequence[Encoded], labels: NDArray[Any]) -> None:
        self.rows: list[Row] = [
            {"ids": item.ids.astype(np.int32), "types": item.types.astype(np.int8), "label": label}
            for item, label in zip(items, labels.tolist(), strict=True)
        ]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Row:
        return self.rows[index]

    @property
    def lengths(self) -> list[int]:
        """The number of tokens of each row."""
        return [len(row["ids"]) for row in self.rows]

    @property
    def labels(self) -> NDArray[Any]:
        """The classes or scores of all rows."""
        return np.array([row["label"] for row in self.rows])


def encode_rows(
    model: Model, task: Task, corpus: Corpus, *, max_length: int
) -> tuple[Rows, list[str]]:
    """The rows of a corpus, cut as surveys cut them (the longer text first), and a note on examples left out."""
    encoder = model.encoder(max_length=max_length, long="truncate", stack=model.main_stack())
    items = list(encoder.encode(corpus))
    if not items:
        raise CorpusError(
            f"{corpus.name} has no example with any token",
            hint="check that the file and the model's tokenizer belong together",
        )
    empty = encoder.counts.empty
    return Rows(items, label_ids(task, [item.example for item in items])), [
        f"{corpus.name}: {empty} examples without tokens are left out"
    ] if empty else []


class LengthOrder(Sampler[int]):
    """A new random order each epoch in which rows of like length stand together, so that little is padded.

    It depends only on seed and epoch: training that goes on in the middle of an epoch sees the rows that are left, each once.

    >>> sorted(LengthOrder([3, 1, 2], batch_size=2, seed=0))
    [0, 1, 2]
    """

    def __init__(self, lengths: Sequence[int], *, batch_size: int, seed: int) -> None:
        self.lengths = np.array(lengths)
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def set_epoch(self, epoch: int) -> None:
        """Called before each epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        random = np.random.default_rng([self.seed, self.epoch])
        order = random.permutation(len(self.lengths))
        wide = WINDOW * self.batch_size
        sorted_rows = np.concatenate(
            [
                part[np.argsort(self.lengths[part], kind="stable")]
                for part in (order[start : start + wide] for start in range(0, len(order), wide))
            ]
        )
        full = len(order) // self.batch_size
        batches = sorted_rows[: full * self.batch_size].reshape(full, self.batch_size)
        yield from random.permutation(batches).ravel().tolist()
        yield from sorted_rows[
            full * self.batch_size :
        ].tolist()  # the short batch stays last, or it would shift the others


def collator(network: Any, pad: int) -> Callable[[list[Row]], dict[str, torch.Tensor]]:
    """What puts rows together for a network, padded to the longest of them."""
    typed = (
        "token_type_ids" in inspect.signature(network.forward).parameters
        and getattr(network.config, "type_vocab_size", 0) > 1
    )

    def collate(rows: list[Row]) -> dict[str, torch.Tensor]:
        shape = (len(rows), max(len(row["ids"]) for row in rows))
        ids, types, mask = (
            np.full(shape, pad, np.int64),
            np.zeros(shape, np.int64),
            np.zeros(shape, np.int64),
        )
        for index, row in enumerate(rows):
            length = len(row["ids"])
            ids[index, :length], types[index, :length], mask[index, :length] = (
                row["ids"],
                row["types"],
                1,
            )
        labels = torch.tensor(
            [row["label"] for row in rows],
            dtype=torch.float32 if isinstance(rows[0]["label"], float) else torch.int64,
        )
        batch = {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy(mask),
            "labels": labels,
        }
        return batch | ({"token_type_ids": torch.from_numpy(types)} if typed else {})

    return collate
