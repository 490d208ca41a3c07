"""Timing: functions take turns and the best of several rounds counts."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_times(*ways: Callable[[], object], rounds: int = 5) -> list[float]:
    """Return the best time in seconds of each function over some rounds, after one warm-up."""
    for way in ways:
        way()
    best = [float("inf")] * len(ways)
    for _ in range(rounds):
        for index, way in enumerate(ways):
            start = time.perf_counter()
            way()
            best[index] = min(best[index], time.perf_counter() - start)
    return best
