"""Labelled examples as rows of tokens: their order in training, and a classifier's outputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset, Sampler

from headscope.corpus import Corpus
from headscope.encode import Encoded
from headscope.errors import CorpusError
from headscope.labels import lost_tokens
from headscope.models import Model
from headscope.tasks.task import Task, label_ids

if TYPE_CHECKING:
    from headscope.runs.tune.classifier import PooledClassifier

TokenRow = dict[str, Any]
"""The token ids, token types and label of one example."""
WINDOW = 50
"""Rows of similar length are grouped within this many batches."""


class TokenRows(Dataset[TokenRow]):
    """The token ids, token types and label of each example.

    Parameters
    ----------
    items
        The encoded examples.
    labels
        Their class indices, or scores for a regression.
    """

    def __init__(self, items: Sequence[Encoded], labels: NDArray[Any]) -> None:
        self.rows: list[TokenRow] = [
            {"ids": item.ids.astype(np.int32), "types": item.types.astype(np.int8), "label": label}
            for item, label in zip(items, labels.tolist(), strict=True)
        ]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> TokenRow:
        return self.rows[index]

    @property
    def lengths(self) -> list[int]:
        """The number of tokens of each row."""
        return [len(row["ids"]) for row in self.rows]

    @property
    def labels(self) -> NDArray[Any]:
        """The class indices or scores of all rows."""
        return np.array([row["label"] for row in self.rows])


def encode_rows(
    model: Model, task: Task, corpus: Corpus, *, max_length: int
) -> tuple[TokenRows, list[str]]:
    """Encode the examples of a corpus.

    Parameters
    ----------
    model
        Its tokenizer encodes the texts.
    task
        Its classes turn labels into numbers.
    corpus
        Labelled examples.
    max_length
        Longer examples are truncated, the longer text of a pair first, as in surveys.

    Returns
    -------
    rows : TokenRows
    notes : list of str
        On skipped examples, and on tokens that were cut, if there are any.

    Raises
    ------
    CorpusError
        If no example has a token.
    """
    encoder = model.encoder(max_length=max_length, long="truncate", stack=model.main_stack())
    items = list(encoder.encode(corpus))
    if not items:
        raise CorpusError(
            f"{corpus.name} has no example with any token",
            hint="check that the file and the model's tokenizer belong together",
        )
    rows = TokenRows(items, label_ids(task, [item.example for item in items]))
    empty = encoder.counts.empty
    notes = [f"{corpus.name}: skipped {empty} examples without tokens"] if empty else []
    about = {"counts": asdict(encoder.counts), "settings": {"max_length": max_length}}
    if lost := lost_tokens(about, split=False):
        notes.append(f"{corpus.name}: {lost[0].lower()}{lost[1:].rstrip('.')}")
    return rows, notes


class LengthOrder(Sampler[int]):
    """A new random order for each epoch that keeps rows of similar length together.

    Batches then need little padding. The order depends only on seed and epoch: training that
    resumes in the middle of an epoch sees each remaining row once.

    Parameters
    ----------
    lengths
        The number of tokens of each row.
    batch_size
        Rows per batch.
    seed
        Seed of the order.

    Examples
    --------
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
        """Choose the epoch, counted from 0. The trainer calls this before each one."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        random = np.random.default_rng([self.seed, self.epoch])
        order = random.permutation(len(self.lengths))
        wide = WINDOW * self.batch_size
        windows = [order[start : start + wide] for start in range(0, len(order), wide)]
        by_length = np.concatenate(
            [window[np.argsort(self.lengths[window], kind="stable")] for window in windows]
        )
        full = len(order) // self.batch_size
        batches = by_length[: full * self.batch_size].reshape(full, self.batch_size)
        yield from random.permutation(batches).ravel().tolist()
        # A short batch must come last: anywhere else it would shift the batches after it.
        yield from by_length[full * self.batch_size :].tolist()


def collator(network: Any, pad: int) -> Callable[[list[TokenRow]], dict[str, torch.Tensor]]:
    """A function that makes one batch of rows, padded to the longest of them.

    Parameters
    ----------
    network
        The network that gets the batch: token types are included if it takes them.
    pad
        The id of the padding token.
    """
    typed = (
        "token_type_ids" in inspect.signature(network.forward).parameters
        and getattr(network.config, "type_vocab_size", 0) > 1
    )

    def collate(rows: list[TokenRow]) -> dict[str, torch.Tensor]:
        shape = (len(rows), max(len(row["ids"]) for row in rows))
        ids = np.full(shape, pad, np.int64)
        types, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for index, row in enumerate(rows):
            length = len(row["ids"])
            ids[index, :length] = row["ids"]
            types[index, :length] = row["types"]
            mask[index, :length] = 1
        kind = torch.float32 if isinstance(rows[0]["label"], float) else torch.int64
        batch = {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy(mask),
            "labels": torch.tensor([row["label"] for row in rows], dtype=kind),
        }
        return batch | ({"token_type_ids": torch.from_numpy(types)} if typed else {})

    return collate


def predict(
    model: Model, rows: TokenRows, *, batch_size: int, pooled: PooledClassifier | None = None
) -> NDArray[Any]:
    """The outputs of a classifier, in the order of the rows.

    Parameters
    ----------
    model
        A model with a classifier in its own network, or without one if ``pooled`` is given.
    rows
        Encoded examples.
    batch_size
        Rows per forward pass. Long rows come first, which does not change the order of the outputs.
    pooled
        The classifier on a layer or on heads, see :func:`headscope.runs.tune.load_pooled`.

    Returns
    -------
    array
        (row, class), or (row,) if there is only one output.
    """
    network, collate = (pooled or model.network).eval(), collator(model.network, model.pad)
    order = np.argsort(rows.lengths, kind="stable")[::-1]
    outputs = np.zeros((len(rows), pooled.outputs if pooled else model.config.num_labels))
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            batch = collate([rows[index] for index in chosen.tolist()])
            del batch["labels"]
            inputs = {key: value.to(model.device) for key, value in batch.items()}
            outputs[chosen] = network(**inputs).logits.float().cpu().numpy()
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs
