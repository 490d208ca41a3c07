"""What a large run needs, computed from what was measured at BERT-base size.

The arithmetic, for a model of 32 layers of 32 heads, 2048 wide, and sequences of 128 tokens:

- A forward pass takes 16 times as long as one through two such layers, which is measured.
- A job takes as many forward passes as at BERT-base size, except for what it computes from maps.
- What a survey computes from maps (its time minus the bare pass) grows with the number of heads,
  1024 ÷ 144; distances between heads with its square.
- Disabling each head in turn grows with the number of heads, too.
- N workers share the units of work, 128 sequences each. A unit is never split, so the run takes as
  many rounds as a worker has units, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SEQUENCES, UNIT = 100_000, 128
WORKERS = (1, 8, 64)
LAYERS, HEADS, WIDTH = 32, 32, 2048
MEASURED_LAYERS = 2
BASE_HEADS = 144
MORE = LAYERS * HEADS / BASE_HEADS
MAPS = {"surface": MORE, "offered": MORE, "pattern": MORE, "distance": MORE**2, "comparison": MORE}
"""By how much the work on maps grows. Other jobs consist of passes alone."""
PASSES = {"comparison": 2}
"""Forward passes of a job whose rest is work on maps; one, if not named."""
SCALED = ("bare", "surface", "offered", "distance", "pattern", "gradient-4", "vectors", "ablation")
SCALED += ("comparison",)


@dataclass(frozen=True)
class Need:
    """What a job needs at scale: processor seconds per sequence, and hours by number of workers."""

    seconds: float
    hours: tuple[float, ...]


def seconds_at_scale(name: str, measured: Mapping[str, float]) -> float:
    """Compute the processor seconds per sequence of a job on the large model.

    Parameters
    ----------
    name
        The job.
    measured
        Seconds per sequence of the jobs at BERT-base size, and of ``wide``.

    Examples
    --------
    >>> measured = {"bare": 0.25, "wide": 0.5, "surface": 0.25 + 0.036, "gradient-4": 1.0}
    >>> seconds_at_scale("bare", measured), seconds_at_scale("gradient-4", measured)
    (8.0, 32.0)
    >>> round(seconds_at_scale("surface", measured), 3)  # 8 + 0.036 · 1024 / 144
    8.256
    """
    forward = measured["wide"] * LAYERS / MEASURED_LAYERS
    bare = measured["bare"]
    if name in MAPS:
        passes = PASSES.get(name, 1)
        return passes * forward + max(0.0, measured[name] - passes * bare) * MAPS[name]
    share = measured[name] / bare
    return share * forward * (MORE if name == "ablation" else 1)


def need(name: str, measured: Mapping[str, float]) -> Need:
    """Compute what a job needs at scale."""
    seconds = seconds_at_scale(name, measured)
    units = math.ceil(SEQUENCES / UNIT)
    hours = tuple(math.ceil(units / workers) * UNIT * seconds / 3600 for workers in WORKERS)
    return Need(seconds, hours)


def weights_memory(width: int = WIDTH, layers: int = LAYERS) -> float:
    """Compute the memory of the layers' weights in GB, 4 bytes each: 12 times width² per layer.

    >>> round(weights_memory(768, 12), 2)
    0.34
    """
    return 12 * width**2 * layers * 4 / 1e9


def by_name(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return seconds per sequence by the name of the job."""
    return {row["name"]: float(row["seconds"]) for row in rows}
