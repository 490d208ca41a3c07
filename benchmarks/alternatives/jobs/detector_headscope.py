"""Previous-token heads by a survey of the decoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import headscope as hs
from benchmarks.alternatives.jobs.job import read_texts, run


def load(folder: Path) -> tuple[Any, list[str]]:
    """Load the decoder; TransformerLens puts a BOS before every text, so does this."""
    return hs.load(folder / "decoder", bos="add"), read_texts(folder, "texts_decoder")


def work(ready: tuple[Any, list[str]]) -> dict[str, Any]:
    """Survey the texts.

    TransformerLens divides by all rows of a map, the first included, which has no previous token.
    """
    atlas = hs.survey(*ready, measures=["position", "entropy"], batch_size=8)
    # Every text has the same length, so one factor turns the mean into the other's.
    length = round(float(atlas.provenance["settings"]["max_length"]))
    score = atlas.mean("position").sel(offset="previous").values
    return {"heads": score * (length - 1) / length}


if __name__ == "__main__":
    run("detector_headscope", load, work, packages=("headscope", "torch", "transformers"))
