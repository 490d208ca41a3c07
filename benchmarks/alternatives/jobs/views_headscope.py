"""What ``headscope.attention`` gives of one text: all maps, labelled, and a drawing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import headscope as hs
from benchmarks.alternatives.jobs.job import read_texts, run


def load(folder: Path) -> tuple[Any, list[str]]:
    """Load the encoder."""
    return hs.load(folder / "encoder"), read_texts(folder, "texts_views")


def work(ready: tuple[Any, list[str]]) -> dict[str, Any]:
    """Look at every text and draw it as a notebook would."""
    model, texts = ready
    maps = {}
    for number, text in enumerate(texts):
        found = hs.attention(model, text, max_length=128)
        found._repr_html_()
        maps[f"text{number}"] = found.maps.transpose("layer", "head", "query", "key").values
    return maps


if __name__ == "__main__":
    run("views_headscope", load, work, packages=("headscope", "torch", "transformers"))
