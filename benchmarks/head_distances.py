"""All 10,296 pairs of 144 heads: the sum of exponentials against the direct loop over pairs, and how far apart they are."""

from __future__ import annotations

import torch

from benchmarks.timing import best_times
from headscope.measures import fast_divergence

HEADS, TOKENS = 144, 128


def direct(maps: torch.Tensor) -> torch.Tensor:
    """The plain way, in float32 as the fast one: one head against all later ones at a time."""
    flat = maps.flatten(1)
    entropy = torch.special.entr(flat).sum(1)
    result = torch.zeros(len(flat), len(flat))
    for one in range(len(flat) - 1):
        middle = torch.special.entr((flat[one] + flat[one + 1 :]) / 2).sum(1)
        result[one, one + 1 :] = middle - (entropy[one] + entropy[one + 1 :]) / 2
    return (result + result.T) / maps.shape[1]


def run() -> list[dict[str, object]]:
    """Rows of the benchmark table."""
    generator = torch.Generator().manual_seed(0)
    sharpness = torch.linspace(0.5, 6, HEADS)[:, None, None]
    maps = torch.softmax(torch.randn(HEADS, TOKENS, TOKENS, generator=generator) * sharpness, -1)
    loop, fast = best_times(lambda: direct(maps), lambda: fast_divergence(maps), rounds=3)
    exact, found = direct(maps.double()), fast_divergence(maps)
    upper = torch.triu_indices(HEADS, HEADS, 1)
    error = float(((found - exact).abs() / exact)[upper[0], upper[1]].max())
    return [
        {
            "benchmark": f"head distances, {HEADS} heads, {TOKENS} tokens: fast ÷ direct",
            "base": f"{loop:.2f} s",
            "ours": f"{fast:.2f} s",
            "ratio": round(fast / loop, 3),
            "bar": "≤ 0.2",
            "ok": fast / loop <= 0.2,
        },
        {"benchmark": "head distances: largest relative error", "base": "", "ours": "", "ratio": round(error, 6), "bar": "≤ 0.001", "ok": error <= 1e-3},
    ]
