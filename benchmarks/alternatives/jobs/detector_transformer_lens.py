"""Previous-token heads with TransformerLens: its cache and its head detector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformer_lens.head_detector import detect_head
from transformer_lens.model_bridge import TransformerBridge

from benchmarks.alternatives.jobs.job import read_texts, run


def load(folder: Path) -> tuple[Any, list[str]]:
    """Load the decoder. TransformerLens 4 has no HookedTransformer; this is its successor."""
    model = TransformerBridge.boot_transformers(
        str(folder / "decoder"), device="cpu", dtype=torch.float32
    )
    return model, read_texts(folder, "texts_decoder")


def work(ready: tuple[Any, list[str]]) -> dict[str, Any]:
    """Detect, one text at a time, as the detector does it."""
    model, texts = ready
    with torch.inference_mode():
        return {"heads": detect_head(model, texts, "previous_token_head").numpy()}


if __name__ == "__main__":
    packages = ("transformer-lens", "torch", "transformers")
    run("detector_transformer_lens", load, work, packages=packages)
