"""Training a parsing probe by cross-entropy on gold heads, and predicting heads with it.

Some training sentences are held out to decide when to stop.
"""

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
from headscope.papers.clark2019.parse.data import IGNORED, ParseData, buckets
from headscope.papers.clark2019.parse.networks import ParseProbe
from headscope.papers.clark2019.parse.uas import HeadWords
from headscope.progress import PhaseUpdate, Update

HELD_OUT = 0.1
PATIENCE = 3
RATES = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Learning rates from which every probe chooses."""
PILOT = 2000
"""Maximum number of training sentences on which a rate is chosen."""


@dataclass(frozen=True)
class TrainingHistory:
    """The course of training.

    Parameters
    ----------
    losses
        Loss on the held-out sentences after each epoch, in nats per word.
    best
        The epoch, counted from 1, whose weights were kept.
    rate
        The learning rate.
    """

    losses: tuple[float, ...]
    best: int
    rate: float

    @property
    def loss(self) -> float:
        """The held-out loss of the weights that were kept."""
        return self.losses[self.best - 1]


def summed_loss(scores: Tensor, gold: Tensor) -> tuple[Tensor, int]:
    """Sum of cross-entropies over the words with a known head, and the number of these words.

    Parameters
    ----------
    scores
        (batch, dependent, candidate)
    gold
        (batch, dependent)
    """
    summed = functional.cross_entropy(
        scores.flatten(0, 1), gold.flatten(), ignore_index=IGNORED, reduction="sum"
    )
    return summed, int((gold != IGNORED).sum())


def hold_out(
    count: int, *, seed: int, share: float = HELD_OUT
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split sentence numbers into those to train on and those held out.

    Examples
    --------
    >>> [len(part) for part in hold_out(50, seed=0)]
    [45, 5]
    """
    if count < 2:
        raise UserError(
            f"a probe needs at least 2 training sentences, got {count} instead",
            hint="use a larger treebank",
        )
    order = np.random.default_rng(seed).permutation(count)
    held_out = max(1, round(count * share))
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def fit_best_rate(
    make: Callable[[], ParseProbe],
    data: ParseData,
    *,
    seed: int,
    epochs: int,
    rates: Sequence[float] = RATES,
    pilot: int = PILOT,
    progress: PhaseUpdate | None = None,
) -> tuple[ParseProbe, TrainingHistory]:
    """Train with each learning rate and keep the probe with the lowest held-out loss.

    A single rate for all probes would not be a fair comparison. Where attention is almost uniform,
    as in a random encoder, weights must grow far larger, and such a probe would merely be trained
    less. So each probe chooses from the same rates; the test corpus plays no part in it.

    Parameters
    ----------
    make
        Makes an untrained probe.
    data
        The training data.
    seed
        Seed of the split and of the order of batches.
    epochs
        Maximum number of epochs.
    rates
        Learning rates.
    pilot
        Maximum number of sentences on which rates are tried. If there are more, the best rate is
        then used on all of them.
    progress
        Called with the phase, the epoch and the number of epochs.

    Returns
    -------
    probe, history
    """
    small = data
    if len(data) > pilot:
        chosen = np.random.default_rng(seed).permutation(len(data))[:pilot]
        small = data.part(np.sort(chosen))

    def train(part: ParseData, rate: float, phase: str) -> tuple[ParseProbe, TrainingHistory]:
        probe = make()
        update = partial(progress, phase) if progress else None
        return probe, fit_probe(probe, part, seed=seed, epochs=epochs, rate=rate, progress=update)

    tried = [train(small, rate, f"rate {rate:g}") for rate in rates]
    best = min(tried, key=lambda pair: pair[1].loss)
    return best if small is data else train(data, best[1].rate, "all sentences")


def fit_probe(
    probe: ParseProbe,
    data: ParseData,
    *,
    seed: int,
    epochs: int,
    rate: float,
    patience: int = PATIENCE,
    progress: Update | None = None,
) -> TrainingHistory:
    """Train a probe in place, with Adam on batches of similar length.

    Training stops when the held-out loss no longer falls; the best weights are kept. The learning
    rate is halved after an epoch without improvement.

    Parameters
    ----------
    probe
        The probe.
    data
        The training data.
    seed
        Seed of the split and of the order of batches.
    epochs
        Maximum number of epochs.
    rate
        Learning rate.
    patience
        Number of epochs without improvement after which training stops.
    progress
        Called with the epoch and the number of epochs.

    Returns
    -------
    TrainingHistory

    Raises
    ------
    UserError
        If ``epochs`` is below 1, or no training word has a head.
    """
    if epochs < 1:
        raise UserError(f"the number of epochs must be 1 or more, got {epochs} instead")
    train, held_out = hold_out(len(data), seed=seed)
    if not any((data.sentences[index].heads >= -1).any() for index in train):
        raise UserError(
            "no training word has an annotated head",
            hint="use a treebank with heads in column 7",
        )
    random = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(probe.parameters(), lr=rate)
    losses: list[float] = []
    best, state = 0, copy.deepcopy(probe.state_dict())
    for epoch in range(1, epochs + 1):
        batches = buckets(data.lengths, random.permutation(train))
        for place in random.permutation(len(batches)):
            _step(probe, optimizer, data, batches[place])
        losses.append(held_out_loss(probe, data, held_out))
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
    return TrainingHistory(tuple(losses), best, rate)


def _step(
    probe: ParseProbe, optimizer: torch.optim.Optimizer, data: ParseData, batch: list[int]
) -> None:
    """One step on a batch, unless none of its words has a head."""
    summed, count = summed_loss(*_forward(probe, data, batch))
    if count:
        optimizer.zero_grad()
        (summed / count).backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def held_out_loss(probe: ParseProbe, data: ParseData, indices: NDArray[np.int64]) -> float:
    """Mean cross-entropy over the words of some sentences, in nats."""
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in buckets(data.lengths, indices):
            summed, words = summed_loss(*_forward(probe, data, batch))
            total, count = total + float(summed), count + words
    return total / max(count, 1)


def predict_heads(probe: ParseProbe, data: ParseData) -> list[HeadWords]:
    """The best candidate of every word, by sentence: the index of a word, or ``ROOT``.

    Of equally good candidates, the root comes first, then the leftmost word.
    """
    predicted: list[HeadWords] = [np.zeros(0, np.int64)] * len(data)
    with torch.no_grad():
        for batch in buckets(data.lengths, np.arange(len(data))):
            scores, _ = _forward(probe, data, batch)
            heads = scores.numpy().argmax(-1) - 1
            for place, index in enumerate(batch):
                predicted[index] = heads[place, : data.lengths[index]].astype(np.int64)
    return predicted


def _forward(probe: ParseProbe, data: ParseData, indices: list[int]) -> tuple[Tensor, Tensor]:
    """Scores and gold candidates of a batch."""
    batch = data.pad(indices, maps=probe.uses_maps, vectors=probe.uses_vectors)
    return probe(batch), batch.gold
