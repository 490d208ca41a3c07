"""Two workers of one thread each against one process with two threads: examples per second."""

from __future__ import annotations

import time
from importlib.util import find_spec

import torch

import headscope as hs
from benchmarks.timing import Row, row
from headscope.options import cores

COPIES = 12
TIMES = 3
"""Each way is timed so often, in turn, and the best counts: other work only makes it slower."""


def run() -> list[Row]:
    """Return the rows of the benchmark table."""
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

    engines = ["processes", *(["ray"] if find_spec("ray") else [])]
    best = dict.fromkeys(["local", *engines], 0.0)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    for _ in range(TIMES):
        for engine in best:
            workers = 1 if engine == "local" else 2
            best[engine] = max(best[engine], timed(engine=engine, workers=workers))
    torch.set_num_threads(threads)
    return [
        row(
            f"two workers ({engine}) of one thread ÷ one process with two threads, throughput",
            best[engine] / best["local"],
            "≥ 1",
            base=f"{best['local']:.0f} examples/s",
            ours=f"{best[engine]:.0f} examples/s",
        )
        for engine in engines
    ]
