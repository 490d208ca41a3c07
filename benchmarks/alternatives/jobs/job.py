"""What every job does: load, then work against the clock, then write what was found.

``python -m benchmarks.alternatives.jobs.NAME FOLDER`` runs a job. The folder holds models and
texts; the job leaves ``NAME.npz`` there and prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.memory import status

T = TypeVar("T")


def run(
    name: str,
    load: Callable[[Path], T],
    work: Callable[[T], dict[str, Any]],
    *,
    packages: tuple[str, ...],
) -> None:
    """Run a job: time and memory of ``work``, without imports and loading.

    Parameters
    ----------
    name
        The job's name, also that of its file of arrays.
    load
        Makes what the work needs from the folder.
    work
        The job itself. It returns arrays, by name.
    packages
        Those whose versions are reported.
    """
    folder = Path(sys.argv[1])
    ready = load(folder)
    before = status("VmRSS")
    wall, processor = time.perf_counter(), time.process_time()
    found = work(ready)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    np.savez(folder / f"{name}.npz", **found)
    print(
        json.dumps(
            {
                "seconds": wall,
                "processor": processor,
                "memory": status("VmHWM"),
                "beyond_model": status("VmHWM") - before,
                "versions": {package: version(package) for package in packages},
            }
        )
    )


def read_texts(folder: Path, name: str) -> list[str]:
    """Read the texts of a job."""
    texts: list[str] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return texts
