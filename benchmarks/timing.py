"""Timing: functions take turns and the best of several rounds counts. And rows of the table."""

from __future__ import annotations

import time
from collections.abc import Callable

Row = dict[str, object]


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


def row(
    benchmark: str,
    ratio: float,
    bar: str = "none",
    *,
    base: str = "",
    ours: str = "",
    digits: int = 3,
) -> Row:
    """A row of the benchmark table; a bar such as "≤ 1.1" or "≥ 100" decides whether it is ok.

    >>> row("a", 1.23456, "≤ 1.1")["ok"], row("a", 1.23456)["ratio"]
    (False, 1.235)
    """
    sign, _, limit = bar.partition(" ")
    return {
        "benchmark": benchmark,
        "base": base,
        "ours": ours,
        "ratio": round(ratio, digits),
        "bar": bar,
        "ok": {"≤": ratio <= float(limit), "≥": ratio >= float(limit)}[sign] if limit else True,
    }


def times_row(benchmark: str, base: float, ours: float, bar: float) -> Row:
    """A row that compares two times in seconds: ours may be ``bar`` times the base at most."""
    seconds = {"base": f"{base:.2f} s", "ours": f"{ours:.2f} s"}
    return row(benchmark, ours / base, f"≤ {bar:g}", **seconds)
