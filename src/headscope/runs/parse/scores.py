"""How the parsing probes score a candidate head (Clark et al. 2019, §5): pure functions first, then the probes that learn their weights.

``maps`` are (batch, from, to, head): ``maps[b, i, j, k]`` is α^k_ij, what head k pays from word i to word j. Scores are (batch, dependent, candidate).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from headscope.runs.parse.data import Padded

NEAR = 5
"""Distances up to this one have an indicator of their own."""
HIDDEN = 100
"""The width of the hidden layer of the words + distances network."""


def attention_scores(maps: Tensor, w: Tensor, u: Tensor) -> Tensor:
    """Σ_k w_k α^k_ij + u_k α^k_ji for dependent j and candidate i (C9). ``w`` and ``u`` are (head,).

    >>> maps = torch.tensor([[[[0.0], [0.9]], [[0.2], [0.0]]]])  # word 0 pays 0.9 to word 1, which pays 0.2 back
    >>> attention_scores(maps, torch.tensor([1.0]), torch.tensor([0.0]))[0, 1, 0].item()  # the dependent is word 1, the candidate word 0
    0.8999999761581421
    """
    both = maps @ torch.stack([w, u], -1)
    return both[..., 0].transpose(1, 2) + both[..., 1]


def words_scores(maps: Tensor, vectors: Tensor, w: Tensor, u: Tensor) -> Tensor:
    """Σ_k W_k(v_i ⊕ v_j) α^k_ij + U_k(v_i ⊕ v_j) α^k_ji for dependent j and candidate i (C10). ``w`` and ``u`` are (head, 2·dimension).

    W_k(v_i ⊕ v_j) is a number of word i plus a number of word j: so each half is one product of a word's row (or column) of the maps with
    that word's own weights, and no pair of words ever needs a vector.
    """
    dimension = vectors.shape[-1]
    w_candidate, w_dependent = (
        vectors @ w[:, :dimension].T,
        vectors @ w[:, dimension:].T,
    )  # (batch, word, head)
    u_candidate, u_dependent = vectors @ u[:, :dimension].T, vectors @ u[:, dimension:].T
    rows = maps @ torch.stack(
        [w_candidate, u_dependent], -1
    )  # weights by the word that attends: the candidate in α_ij, the dependent in α_ji
    columns = maps.transpose(1, 2) @ torch.stack(
        [w_dependent, u_candidate], -1
    )  # by the word attended to; [b, to, from]
    return (
        rows[..., 0].transpose(1, 2)
        + rows[..., 1]
        + columns[..., 0]
        + columns[..., 1].transpose(1, 2)
    )


def distance_features(length: int) -> Tensor:
    """What the words + distances network knows of a candidate's place, by its distance from the dependent, -(length-1) … length-1: (2·length-1, feature).

    Ahead and behind apart, each with indicators of the short distances, the distance itself (in tens) and its logarithm (the paper's footnote 5).
    """
    distance = torch.arange(1 - length, length)
    ahead, behind = distance.clamp_min(0), (-distance).clamp_min(0)
    near = [side == step for side in (ahead, behind) for step in range(1, NEAR + 1)]
    far = [value for side in (ahead, behind) for value in (side > 0, side / 10, (side + 1).log())]
    return torch.stack([feature.to(torch.float32) for feature in (*near, *far)], -1)


FEATURES = 2 * (NEAR + 3)


def with_root(scores: Tensor, root: Tensor, mask: Tensor) -> Tensor:
    """Put the root's score (batch, dependent) before the words', and rule out padding and the dependent itself: (batch, dependent, 1 + candidate)."""
    itself = torch.eye(scores.shape[-1], dtype=torch.bool)
    ruled_out = itself[None] | ~mask[:, None, :]
    return torch.cat([root[..., None], scores.masked_fill(ruled_out, float("-inf"))], -1)


class ParseProbe(nn.Module):
    """Scores every candidate head of every word of a batch. ``uses_maps`` and ``uses_vectors`` say what it sees."""

    uses_maps: ClassVar[bool]
    uses_vectors: ClassVar[bool]

    @abstractmethod
    def forward(self, batch: Padded) -> Tensor:
        """(batch, dependent, 1 + candidate), the root first; minus infinity where there is no candidate."""

    @property
    def size(self) -> int:
        """How many numbers it learns."""
        return sum(parameter.numel() for parameter in self.parameters())


def _there(values: Tensor | None) -> Tensor:
    if values is None:
        raise ValueError("the batch lacks what this probe sees")
    return values


class AttentionProbe(ParseProbe):
    """C9: a weight for each head and direction, and one score for the root."""

    uses_maps, uses_vectors = True, False

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.w, self.u, self.root = (
            nn.Parameter(torch.zeros(heads)),
            nn.Parameter(torch.zeros(heads)),
            nn.Parameter(torch.zeros(())),
        )

    def forward(self, batch: Padded) -> Tensor:
        """See :class:`ParseProbe`."""
        scores = attention_scores(_there(batch.maps), self.w, self.u)
        return with_root(scores, self.root.expand(batch.mask.shape), batch.mask)


class WordsProbe(ParseProbe):
    """C10: the weights of heads depend on the two words; the root's score on the dependent."""

    uses_maps, uses_vectors = True, True

    def __init__(self, heads: int, dimension: int) -> None:
        super().__init__()
        self.w, self.u = (
            nn.Parameter(torch.zeros(heads, 2 * dimension)),
            nn.Parameter(torch.zeros(heads, 2 * dimension)),
        )
        self.root, self.bias = nn.Parameter(torch.zeros(dimension)), nn.Parameter(torch.zeros(()))

    def forward(self, batch: Padded) -> Tensor:
        """See :class:`ParseProbe`."""
        vectors = _there(batch.vectors)
        scores = words_scores(_there(batch.maps), vectors, self.w, self.u)
        return with_root(scores, vectors @ self.root + self.bias, batch.mask)


class DistanceProbe(ParseProbe):
    """The words + distances baseline: one hidden layer over v_i, v_j and distance features; no attention. The root has a learned vector in place of v_i and distance.

    The hidden layer's input is a sum of a part by candidate, a part by dependent and a part by distance, so pair vectors are not made here either.
    """

    uses_maps, uses_vectors = False, True

    def __init__(self, dimension: int, *, seed: int, hidden: int = HIDDEN) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.candidate, self.dependent = (
                nn.Linear(dimension, hidden, bias=False),
                nn.Linear(dimension, hidden),
            )
            self.distance, self.out = (
                nn.Linear(FEATURES, hidden, bias=False),
                nn.Linear(hidden, 1, bias=False),
            )
            self.root = nn.Parameter(torch.randn(hidden) / hidden**0.5)

    def forward(self, batch: Padded) -> Tensor:
        """See :class:`ParseProbe`."""
        vectors = _there(batch.vectors)
        length = vectors.shape[1]
        places = torch.arange(length)
        apart = self.distance(distance_features(length))[
            places[None, :] - places[:, None] + length - 1
        ]  # (dependent, candidate, hidden): candidate minus dependent
        dependent = self.dependent(vectors)
        hidden = torch.relu(dependent[:, :, None] + self.candidate(vectors)[:, None] + apart)
        scores, root = self.out(hidden)[..., 0], self.out(torch.relu(dependent + self.root))[..., 0]
        return with_root(scores, root, batch.mask)
