"""The statistics of maps_numpy by a survey."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import headscope as hs
from benchmarks.alternatives.jobs.job import read_texts, run


def load(folder: Path) -> tuple[Any, list[str]]:
    """Load the encoder."""
    return hs.load(folder / "encoder"), read_texts(folder, "texts")


def work(ready: tuple[Any, list[str]]) -> dict[str, Any]:
    """Survey the texts."""
    atlas = hs.survey(*ready, measures=["position", "special", "entropy"], batch_size=16)
    special = atlas.mean("special").sel(row="all")
    found = (
        atlas.mean("position").sel(offset="previous"),
        special.sel(token="cls"),
        special.sel(token="sep"),
        atlas.mean("entropy").sel(row="all"),
    )
    return {"heads": np.stack([one.values for one in found], -1)}


if __name__ == "__main__":
    run("maps_headscope", load, work, packages=("headscope", "torch", "transformers"))
