"""Embeddings only: what a classifier learns from the words of a text before any layer has run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Example
from headscope.encode import Encoded
from headscope.errors import UserError
from headscope.models import Model, take
from headscope.models.vectors import embedding_state
from headscope.runs.probe.blocks import Texts
from headscope.runs.probe.features import TaskFeatures

POOLING = "mean"
"""Embeddings are averaged over tokens: that of [CLS] is the same for every text."""


def embedding_features(
    model: Model, features: TaskFeatures, *, max_length: int, batch_size: int
) -> Tensor:
    """The features that a task's examples have in the embeddings alone, (1, row, width).

    Parameters
    ----------
    model
        The model.
    features
        The task's examples; pairs that are encoded apart have u, v, |u - v| and u · v here, too.
    max_length
        Maximum number of tokens; longer texts are truncated.
    batch_size
        Number of texts per forward pass.
    """
    rows = np.unique(features.index)
    texts = [features.outputs.texts[row] for row in rows.tolist()]
    vectors = text_embeddings(model, texts, max_length=max_length, batch_size=batch_size)
    return features.read(lambda asked: vectors[np.searchsorted(rows, asked)])


def text_embeddings(
    model: Model, texts: Sequence[Texts], *, max_length: int, batch_size: int
) -> NDArray[np.float32]:
    """The mean over tokens of what the first layer reads, (text, width).

    It includes the embeddings of positions and segments where the model adds them.

    Parameters
    ----------
    model
        The model.
    texts
        Texts or pairs that have tokens.
    max_length
        Maximum number of tokens; longer texts are truncated.
    batch_size
        Number of texts per forward pass.

    Raises
    ------
    UserError
        If a number is not finite.

    Examples
    --------
    >>> from headscope.models import load
    >>> text_embeddings(load("demo"), [("A dog.",)], max_length=8, batch_size=1).shape
    (1, 384)
    """
    stack, vectors = model.main_stack(), np.zeros((0, 0), np.float32)
    encoded = _encoded(model, texts, max_length)
    for batch in model.batches(encoded, size=batch_size):
        with torch.inference_mode():
            state = embedding_state(model.forward(batch, stack=stack, output_hidden_states=True))
        mask = torch.from_numpy(batch.mask).to(state.device)
        found = take(state, mask, POOLING).float().cpu().numpy()
        if not len(vectors):
            vectors = np.zeros((len(texts), found.shape[1]), np.float32)
        vectors[[int(item.example.id) for item in batch.items]] = found
    if not np.isfinite(vectors).all():
        raise UserError(
            f"{model.name} has embeddings that are not finite",
            hint="load the model in float32",
        )
    return vectors


def _encoded(model: Model, texts: Sequence[Texts], max_length: int) -> Iterator[Encoded]:
    encoder = model.encoder(max_length=max_length, long="truncate", stack=model.main_stack())
    for place, text in enumerate(texts):
        yield from encoder.encode([Example(str(place), text)])
