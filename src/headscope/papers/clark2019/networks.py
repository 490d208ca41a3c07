"""The parsing probes: what they see, how they score a candidate head, and how they are trained.

``maps`` are (batch, from, to, head): ``maps[b, i, j, k]`` is α^k_ij, the attention of head k from
word i to word j. Scores are (batch, dependent, candidate).
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from headscope.corpus.vectors import WordVectors
from headscope.errors import UserError
from headscope.papers.clark2019.word_maps import HeadWords, ParseSentence
from headscope.progress import PhaseUpdate, Update

WORDS = 512
"""Maximum number of words in a batch, padding included."""
IGNORED = -1
"""Gold candidate of padding, and of words that are not trained on."""


class MapsBySentence(Protocol):
    """Word maps by sentence, (from word, to word, head): a list of arrays, or those on disk."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> NDArray[np.float16]: ...


@dataclass(frozen=True)
class PaddedBatch:
    """A batch of sentences, padded to n words.

    Candidate 0 is the root; candidate i + 1 is word i.

    Parameters
    ----------
    mask
        (batch, n), true on words.
    gold
        (batch, n), the candidate that is the head, or ``IGNORED``.
    maps
        (batch, from, to, head)
    vectors
        (batch, n, dimension)
    """

    mask: Tensor
    gold: Tensor
    maps: Tensor | None
    vectors: Tensor | None


@dataclass(frozen=True)
class ParseData:
    """Sentences with what probes see of them.

    Parameters
    ----------
    sentences
        The sentences.
    maps
        Their word maps; None for probes that do not use them.
    vectors
        Word vectors; None for probes that do not use them.

    Examples
    --------
    >>> sentence = ParseSentence(("A", "dog"), np.array([1, -1]), np.zeros(2, bool))
    >>> ParseData([sentence]).pad([0], maps=False, vectors=False).gold.tolist()
    [[2, 0]]
    """

    sentences: Sequence[ParseSentence]
    maps: MapsBySentence | None = None
    vectors: WordVectors | None = None

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of words of each sentence."""
        return np.array([len(sentence) for sentence in self.sentences], np.int64)

    @cached_property
    def rows(self) -> list[NDArray[np.int64]]:
        """The row of each word in the matrix of word vectors, by sentence."""
        if self.vectors is None:
            return []
        return [self.vectors.rows(sentence.words) for sentence in self.sentences]

    def part(self, indices: NDArray[np.int64]) -> ParseData:
        """Some of the sentences."""
        chosen = indices.tolist()
        maps = self.maps
        return ParseData(
            [self.sentences[index] for index in chosen],
            None if maps is None else [maps[index] for index in chosen],
            self.vectors,
        )

    def pad(self, indices: Sequence[int], *, maps: bool, vectors: bool) -> PaddedBatch:
        """Make a batch of some sentences.

        Parameters
        ----------
        indices
            Which sentences.
        maps, vectors
            Whether the probe needs word maps and word vectors.
        """
        shape = (len(indices), int(self.lengths[list(indices)].max()))
        mask = np.zeros(shape, np.bool_)
        gold, rows = np.full(shape, IGNORED, np.int64), np.full(shape, -1, np.int64)
        padded = self._empty_maps(shape, indices[0]) if maps else None
        for place, index in enumerate(indices):
            length = int(self.lengths[index])
            mask[place, :length] = True
            # UNKNOWN and LOST are both ignored.
            gold[place, :length] = np.maximum(self.sentences[index].heads + 1, IGNORED)
            if padded is not None and self.maps is not None:
                padded[place, :length, :length] = self.maps[index]
            if vectors:
                rows[place, :length] = self.rows[index]
        return PaddedBatch(
            torch.from_numpy(mask),
            torch.from_numpy(gold),
            None if padded is None else torch.from_numpy(padded).float(),
            torch.from_numpy(self.vectors.take(rows)) if vectors and self.vectors else None,
        )

    def _empty_maps(self, shape: tuple[int, int], index: int) -> NDArray[np.float16]:
        if self.maps is None:
            raise UserError("this probe needs word maps, and the data have none")
        return np.zeros((*shape, shape[1], self.maps[index].shape[-1]), np.float16)


def buckets(
    lengths: NDArray[np.int64], order: NDArray[np.int64], *, words: int = WORDS
) -> list[list[int]]:
    """Divide sentences into batches of similar length.

    Parameters
    ----------
    lengths
        Number of words of every sentence.
    order
        The sentences to use. Sentences of equal length keep this order: shuffle it to group them
        differently.
    words
        Maximum number of words in a batch, padding included. A longer sentence is a batch of its
        own.

    Returns
    -------
    list of lists
        Sentences of each batch.

    Examples
    --------
    >>> buckets(np.array([3, 1, 3, 2]), np.array([2, 1, 0, 3]), words=6)
    [[1, 3], [2, 0]]
    """
    batches: list[list[int]] = []
    for index in order[np.argsort(lengths[order], kind="stable")].tolist():
        if not batches or (len(batches[-1]) + 1) * int(lengths[index]) > words:
            batches.append([])
        batches[-1].append(index)
    return batches


NEAR = 5
"""Distances up to this one have an indicator of their own."""
HIDDEN = 100
"""Width of the hidden layer of the words + distances network."""
FEATURES = 2 * (NEAR + 3)


def attention_scores(maps: Tensor, w: Tensor, u: Tensor) -> Tensor:
    """Σ_k w_k α^k_ij + u_k α^k_ji for dependent j and candidate i (the attention-only probe).

    Parameters
    ----------
    maps
        (batch, from, to, head)
    w, u
        Weights of the heads in the two directions, (head,).

    Returns
    -------
    Tensor
        (batch, dependent, candidate)

    Examples
    --------
    Word 0 attends to word 1 with 0.9, and word 1 to word 0 with 0.2. The dependent is word 1, the
    candidate word 0:

    >>> maps = torch.tensor([[[[0.0], [0.9]], [[0.2], [0.0]]]])
    >>> scores = attention_scores(maps, torch.tensor([1.0]), torch.tensor([0.0]))
    >>> round(scores[0, 1, 0].item(), 3)
    0.9
    """
    both = maps @ torch.stack([w, u], -1)
    return both[..., 0].transpose(1, 2) + both[..., 1]


def words_scores(maps: Tensor, vectors: Tensor, w: Tensor, u: Tensor) -> Tensor:
    """Σ_k W_k(v_i ⊕ v_j) α^k_ij + U_k(v_i ⊕ v_j) α^k_ji (the attention-and-words probe).

    W_k(v_i ⊕ v_j) is a number for word i plus a number for word j. Each half is therefore one
    product of a word's row (or column) of the maps with that word's own weights, and no pair of
    words ever needs a vector.

    Parameters
    ----------
    maps
        (batch, from, to, head)
    vectors
        Word vectors, (batch, word, dimension).
    w, u
        (head, 2 · dimension): first the candidate i, then the dependent j.

    Returns
    -------
    Tensor
        (batch, dependent, candidate)
    """
    dimension = vectors.shape[-1]
    # (batch, word, head)
    w_candidate, w_dependent = vectors @ w[:, :dimension].T, vectors @ w[:, dimension:].T
    u_candidate, u_dependent = vectors @ u[:, :dimension].T, vectors @ u[:, dimension:].T
    # Weights by the word that attends: the candidate in α_ij, the dependent in α_ji.
    rows = maps @ torch.stack([w_candidate, u_dependent], -1)
    # Weights by the word that is attended to; (batch, to, from, ...).
    columns = maps.transpose(1, 2) @ torch.stack([w_dependent, u_candidate], -1)
    return (
        rows[..., 0].transpose(1, 2)
        + rows[..., 1]
        + columns[..., 0]
        + columns[..., 1].transpose(1, 2)
    )


def distance_features(length: int) -> Tensor:
    """What the words + distances network sees of a candidate's position.

    Candidates ahead of and behind the dependent are kept apart, each with indicators of short
    distances, the distance itself (in tens) and its logarithm (Clark et al. 2019, footnote 5).

    Parameters
    ----------
    length
        Number of words in the sentence.

    Returns
    -------
    Tensor
        (2 · length - 1, feature), for the distances -(length - 1) to length - 1.
    """
    distance = torch.arange(1 - length, length)
    ahead, behind = distance.clamp_min(0), (-distance).clamp_min(0)
    near = [side == step for side in (ahead, behind) for step in range(1, NEAR + 1)]
    far = [value for side in (ahead, behind) for value in (side > 0, side / 10, (side + 1).log())]
    return torch.stack([feature.to(torch.float32) for feature in (*near, *far)], -1)


def with_root(scores: Tensor, root: Tensor, mask: Tensor) -> Tensor:
    """Add the root as the first candidate; rule out padding and the dependent itself.

    Parameters
    ----------
    scores
        (batch, dependent, candidate)
    root
        The root's scores, (batch, dependent).
    mask
        (batch, word), true on words.

    Returns
    -------
    Tensor
        (batch, dependent, 1 + candidate)
    """
    itself = torch.eye(scores.shape[-1], dtype=torch.bool)
    ruled_out = itself[None] | ~mask[:, None, :]
    return torch.cat([root[..., None], scores.masked_fill(ruled_out, float("-inf"))], -1)


class ParseProbe(nn.Module):
    """Scores every candidate head of every word in a batch.

    Attributes
    ----------
    uses_maps, uses_vectors
        Whether it needs word maps and word vectors.
    """

    uses_maps: ClassVar[bool]
    uses_vectors: ClassVar[bool]

    @abstractmethod
    def forward(self, batch: PaddedBatch) -> Tensor:
        """(batch, dependent, 1 + candidate), the root first; -inf where there is no candidate."""

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(parameter.numel() for parameter in self.parameters())


def _needed(values: Tensor | None) -> Tensor:
    if values is None:
        raise UserError("the batch lacks the word maps or word vectors that this probe needs")
    return values


class AttentionProbe(ParseProbe):
    """The attention-only probe: one weight per head and direction, and one score for the root."""

    uses_maps, uses_vectors = True, False

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.w, self.u = nn.Parameter(torch.zeros(heads)), nn.Parameter(torch.zeros(heads))
        self.root = nn.Parameter(torch.zeros(()))

    def forward(self, batch: PaddedBatch) -> Tensor:
        """See :class:`ParseProbe`."""
        scores = attention_scores(_needed(batch.maps), self.w, self.u)
        return with_root(scores, self.root.expand(batch.mask.shape), batch.mask)


class WordsProbe(ParseProbe):
    """The attention-and-words probe: the weights of heads depend on both words.

    The score of the root depends on the dependent.
    """

    uses_maps, uses_vectors = True, True

    def __init__(self, heads: int, dimension: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(heads, 2 * dimension))
        self.u = nn.Parameter(torch.zeros(heads, 2 * dimension))
        self.root, self.bias = nn.Parameter(torch.zeros(dimension)), nn.Parameter(torch.zeros(()))

    def forward(self, batch: PaddedBatch) -> Tensor:
        """See :class:`ParseProbe`."""
        vectors = _needed(batch.vectors)
        scores = words_scores(_needed(batch.maps), vectors, self.w, self.u)
        return with_root(scores, vectors @ self.root + self.bias, batch.mask)


class DistanceProbe(ParseProbe):
    """The words + distances baseline: one hidden layer over both vectors and the distance.

    It sees no attention. A learned vector replaces the vector and distance of the root. The input
    of the hidden layer is a sum of parts for the candidate, the dependent and the distance, so no
    pair of words needs a vector here either.
    """

    uses_maps, uses_vectors = False, True

    def __init__(self, dimension: int, *, seed: int, hidden: int = HIDDEN) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.candidate = nn.Linear(dimension, hidden, bias=False)
            self.dependent = nn.Linear(dimension, hidden)
            self.distance = nn.Linear(FEATURES, hidden, bias=False)
            self.out = nn.Linear(hidden, 1, bias=False)
            self.root = nn.Parameter(torch.randn(hidden) / hidden**0.5)

    def forward(self, batch: PaddedBatch) -> Tensor:
        """See :class:`ParseProbe`."""
        vectors = _needed(batch.vectors)
        length = vectors.shape[1]
        places = torch.arange(length)
        difference = places[None, :] - places[:, None]  # candidate minus dependent
        by_distance = self.distance(distance_features(length))[difference + length - 1]
        dependent = self.dependent(vectors)
        hidden = torch.relu(dependent[:, :, None] + self.candidate(vectors)[:, None] + by_distance)
        scores, root = self.out(hidden)[..., 0], self.out(torch.relu(dependent + self.root))[..., 0]
        return with_root(scores, root, batch.mask)


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
            "no training word has an annotated head", hint="use a treebank with heads in column 7"
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
