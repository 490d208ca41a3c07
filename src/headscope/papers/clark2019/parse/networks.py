"""How the parsing probes score a candidate head (Clark et al. 2019, §5).

Pure functions come first, then the probes that learn their weights. ``maps`` are (batch, from, to,
head): ``maps[b, i, j, k]`` is α^k_ij, the attention of head k from word i to word j. Scores are
(batch, dependent, candidate).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from headscope.errors import UserError
from headscope.papers.clark2019.parse.data import PaddedBatch

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
