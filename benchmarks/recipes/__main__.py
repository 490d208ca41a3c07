"""Measure every job in a process of its own: ``python -m benchmarks.recipes [name …]``.

One thread; processor time, best of two rounds after a short one; peak memory with and without what
was loaded before the work began. Results go to ``recorded.json``; jobs that are not named keep
theirs. ``python -m benchmarks.recipes.page`` then writes the tables of the docs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.__main__ import write
from benchmarks.memory import status
from headscope.cli.console import Console

RECORDED = Path(__file__).with_name("recorded.json")
ROUNDS = 2


def child(name: str) -> None:
    """Do one job in this process and print what it took, as JSON."""
    import torch

    from benchmarks.recipes.jobs import JOBS

    torch.set_num_threads(1)
    what, size, factor, make = JOBS[name]
    work = make(size)
    before, best = status("VmRSS"), float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    row = {
        "name": name,
        "job": what,
        "batch": size,
        "seconds": round(best * factor / size, 4),
        "beyond_model": round(status("VmHWM") - before),
        "peak": round(status("VmHWM")),
    }
    print(json.dumps(row))


def measure(name: str) -> dict[str, Any]:
    """Do one job in a process of its own."""
    code = f"from benchmarks.recipes.__main__ import child; child({name!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        stdout=subprocess.PIPE,  # what goes wrong is shown
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    row: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return row


def main() -> None:
    """Measure the jobs named, or all, and record them."""
    from benchmarks.recipes.jobs import JOBS

    before = json.loads(RECORDED.read_text(encoding="utf-8"))["rows"] if RECORDED.exists() else []
    rows = {row["name"]: row for row in before if row["name"] in JOBS}
    for name in sys.argv[1:] or JOBS:
        rows[name] = measure(name)
        print(json.dumps(rows[name]), file=sys.stderr)
    ordered = [rows[name] for name in JOBS if name in rows]
    Console().table(ordered)
    write(RECORDED, ordered)


if __name__ == "__main__":
    main()
