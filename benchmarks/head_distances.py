"""Distances of all 10,296 pairs of 144 heads: the sum of exponentials against direct loops."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.timing import Row, best_times, row, times_row
from headscope.measures import exact_divergence, fast_divergence

HEADS, TOKENS = 144, 128


def pair_by_pair(maps: Tensor) -> Tensor:
    """Compute the divergence directly, in float32, one pair of heads at a time."""
    flat = maps.flatten(1)
    entropy = torch.special.entr(flat).sum(1)
    result = torch.zeros(len(flat), len(flat))
    for one in range(len(flat)):
        for other in range(one + 1, len(flat)):
            result[one, other] = (
                torch.special.entr((flat[one] + flat[other]) / 2).sum()
                - (entropy[one] + entropy[other]) / 2
            )
    return result / maps.shape[1]


def one_against_later(maps: Tensor) -> Tensor:
    """Compute the divergence directly, each head against all later ones in one tensor operation."""
    flat = maps.flatten(1)
    entropy = torch.special.entr(flat).sum(1)
    result = torch.zeros(len(flat), len(flat))
    for one in range(len(flat) - 1):
        middle = torch.special.entr((flat[one] + flat[one + 1 :]) / 2).sum(1)
        result[one, one + 1 :] = middle - (entropy[one] + entropy[one + 1 :]) / 2
    return result / maps.shape[1]


def run() -> list[Row]:
    """Return the rows of the benchmark table."""
    generator = torch.Generator().manual_seed(0)
    sharpness = torch.linspace(0.5, 6, HEADS)[:, None, None]
    maps = torch.softmax(torch.randn(HEADS, TOKENS, TOKENS, generator=generator) * sharpness, -1)
    loop, tensors, fast = best_times(
        lambda: pair_by_pair(maps),
        lambda: one_against_later(maps),
        lambda: fast_divergence(maps),
        rounds=3,
    )
    exact, found = exact_divergence(maps), fast_divergence(maps)
    upper = torch.triu_indices(HEADS, HEADS, 1)
    error = float(((found - exact).abs() / exact)[upper[0], upper[1]].max())
    name = f"head distances, {HEADS} heads, {TOKENS} tokens"
    return [
        times_row(f"{name}: fast ÷ pair by pair", loop, fast, 0.2),
        times_row(f"{name}: fast ÷ one against all later", tensors, fast, 0.3),
        row(f"{name}: largest relative error", error, "≤ 0.001", digits=6),
    ]
