"""Training a parsing probe by cross-entropy on gold heads, and predicting with it. Part of the training sentences is held out to say when to stop."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from headscope.errors import UserError
from headscope.runs.parse.data import IGNORED, Data, Padded, buckets
from headscope.runs.parse.scores import ParseProbe
from headscope.runs.parse.uas import Heads

HELD_OUT = 0.1
PATIENCE = 3
RATES = (0.01, 0.03, 0.1, 0.3, 1.0)
"""The learning rates that every probe may choose from."""
PILOT = 2000
"""A rate is chosen on at most this many training sentences."""


@dataclass(frozen=True)
class Fit:
    """How training went: the held-out loss (nats a word) after each epoch, the epoch (from 1) whose weights were kept, and the learning rate."""

    losses: tuple[float, ...]
    best: int
    rate: float

    @property
    def loss(self) -> float:
        """The held-out loss of the weights that were kept."""
        return self.losses[self.best - 1]


def loss_of(scores: Tensor, gold: Tensor) -> tuple[Tensor, int]:
    """The sum of cross-entropies over the words with a known head, and how many these are."""
    summed = functional.cross_entropy(
        scores.flatten(0, 1), gold.flatten(), ignore_index=IGNORED, reduction="sum"
    )
    return summed, int((gold != IGNORED).sum())


def hold_out(
    count: int, *, seed: int, share: float = HELD_OUT
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the numbers of sentences into those to train on and those held out.

    >>> [len(part) for part in hold_out(50, seed=0)]
    [45, 5]
    """
    if count < 2:
        raise UserError(
            f"a probe needs at least 2 sentences to train on, got {count} instead",
            hint="give a larger treebank",
        )
    order = np.random.default_rng(seed).permutation(count)
    held = max(1, round(count * share))
    return np.sort(order[held:]), np.sort(order[:held])


def fit_best(
    make: Callable[[], ParseProbe],
    data: Data,
    *,
    seed: int,
    epochs: int,
    rates: Sequence[float] = RATES,
    pilot: int = PILOT,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[ParseProbe, Fit]:
    """Train with each learning rate, and keep the probe with the lowest held-out loss. Rates are tried on at most ``pilot`` sentences, and the best one is used on all.

    One rate for all would not compare probes fairly: where attention is almost uniform, as in a random encoder, weights must grow far
    larger, and such a probe would only be trained less. So each chooses from the same rates; the test corpus has no part in it.
    """
    small = (
        data
        if len(data) <= pilot
        else data.part(np.sort(np.random.default_rng(seed).permutation(len(data))[:pilot]))
    )
    tried: list[tuple[ParseProbe, Fit]] = []
    for rate in rates:
        probe = make()
        tried.append(
            (
                probe,
                fit(
                    probe,
                    small,
                    seed=seed,
                    epochs=epochs,
                    rate=rate,
                    progress=partial(progress, f"rate {rate:g}") if progress else None,
                ),
            )
        )
    best = min(tried, key=lambda pair: pair[1].loss)
    if small is data:
        return best
    probe = make()
    return probe, fit(
        probe,
        data,
        seed=seed,
        epochs=epochs,
        rate=best[1].rate,
        progress=partial(progress, "all sentences") if progress else None,
    )


def fit(
    probe: ParseProbe,
    data: Data,
    *,
    seed: int,
    epochs: int,
    rate: float,
    patience: int = PATIENCE,
    progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """Train a probe in place: Adam, batches of like length in a new order each epoch, until the held-out loss no longer falls; the best weights are kept.

    The learning rate is halved after an epoch without improvement.
    """
    if epochs < 1:
        raise UserError(f"the number of epochs must be 1 or more, got {epochs} instead")
    train, held = hold_out(len(data), seed=seed)
    if not any(
        (sentence.heads >= -1).any() for sentence in (data.sentences[index] for index in train)
    ):
        raise UserError(
            "no word to train on has a head", hint="give a treebank with heads in column 7"
        )
    random = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(probe.parameters(), lr=rate)
    losses: list[float] = []
    best, state = 0, copy.deepcopy(probe.state_dict())
    for epoch in range(1, epochs + 1):
        batches = buckets(data.lengths, random.permutation(train))
        for place in random.permutation(len(batches)):
            summed, count = loss_of(*_forward(probe, data, batches[place]))
            if count:
                optimizer.zero_grad()
                (summed / count).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        losses.append(held_loss(probe, data, held))
        if not best or losses[-1] < losses[best - 1]:
            best, state = epoch, copy.deepcopy(probe.state_dict())
        else:
            for group in optimizer.param_groups:
                group["lr"] /= 2
        if progress:
            progress(epoch, epochs)
        if epoch - best >= patience:
            break
    probe.load_state_dict(state)
    return Fit(tuple(losses), best, rate)


def held_loss(probe: ParseProbe, data: Data, indices: NDArray[np.int64]) -> float:
    """The mean cross-entropy over some sentences."""
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in buckets(data.lengths, indices):
            summed, words = loss_of(*_forward(probe, data, batch))
            total, count = total + float(summed), count + words
    return total / max(count, 1)


def predict(probe: ParseProbe, data: Data) -> list[Heads]:
    """The best candidate of every word, sentence by sentence: a place in the sentence, or ROOT. Ties: the root, then the leftmost."""
    found: list[Heads] = [np.zeros(0, np.int64)] * len(data)
    with torch.no_grad():
        for batch in buckets(data.lengths, np.arange(len(data))):
            scores, _ = _forward(probe, data, batch)
            heads = scores.numpy().argmax(-1) - 1
            for place, index in enumerate(batch):
                found[index] = heads[place, : data.lengths[index]].astype(np.int64)
    return found


def _forward(probe: ParseProbe, data: Data, indices: list[int]) -> tuple[Tensor, Tensor]:
    batch: Padded = data.pad(indices, maps=probe.uses_maps, vectors=probe.uses_vectors)
    return probe(batch), batch.gold
