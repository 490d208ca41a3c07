"""Taking turns: two ways of doing a thing are timed alternately, and the best of several rounds counts, so that noise hits both alike."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_times(*ways: Callable[[], object], rounds: int = 5) -> list[float]:
    """The best time of each way over some rounds, after one warm-up."""
    for way in ways:
        way()
    best = [float("inf")] * len(ways)
    for _ in range(rounds):
        for index, way in enumerate(ways):
            start = time.perf_counter()
            way()
            best[index] = min(best[index], time.perf_counter() - start)
    return best
