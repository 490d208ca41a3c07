"""Two workers of one thread each against one process with two threads: examples per second."""

from __future__ import annotations

import time

import torch

import headscope as hs
from headscope.runs.engines.base import cores

COPIES = 12


def run() -> list[dict[str, object]]:
    """Return the row of the benchmark table."""
    if cores() < 2:
        return []
    texts = [example.texts[0] for example in hs.read("demo")] * COPIES
    model = hs.load("demo")

    def timed(**options: object) -> float:
        marks: list[tuple[int, float]] = []
        hs.survey(
            model,
            texts,
            measures=["position", "special", "entropy", "role"],
            progress=lambda done, _: marks.append((done, time.perf_counter())),
            **options,
        )
        # Without the start of the workers: from the first unit of work that is done to the last.
        (first, began), (last, ended) = marks[0], marks[-1]
        return (last - first) / (ended - began)

    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    one = max(timed() for _ in range(2))
    two = max(timed(engine="processes", workers=2) for _ in range(2))
    torch.set_num_threads(threads)
    return [
        {
            "benchmark": "two workers of one thread ÷ one process with two threads, throughput",
            "base": f"{one:.0f} examples/s",
            "ours": f"{two:.0f} examples/s",
            "ratio": round(two / one, 3),
            "bar": "≥ 1.0",
            "ok": two / one >= 1.0,
        }
    ]
