"""Timing: functions take turns and the best of several rounds counts."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_times(
    *ways: Callable[[], object], rounds: int = 5, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the best time in seconds of each function over some rounds, after one warm-up.

    ``clock`` may be ``time.process_time``: processor time, for ratios on a busy machine.
    """
    for way in ways:
        way()
    best = [float("inf")] * len(ways)
    for _ in range(rounds):
        for index, way in enumerate(ways):
            start = clock()
            way()
            best[index] = min(best[index], clock() - start)
    return best
