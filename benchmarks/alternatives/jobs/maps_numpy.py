"""Statistics from whole maps, as the papers' scripts compute them: loops over numpy arrays.

All maps come out of transformers through ``output_attentions``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

from benchmarks.alternatives.jobs.job import read_texts, run

BATCH = 16


def load(folder: Path) -> tuple[Any, Any, list[str]]:
    """Load the encoder with eager attention, which returns maps."""
    model = AutoModel.from_pretrained(folder / "encoder", attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder / "encoder")
    return model, tokenizer, read_texts(folder, "texts")


def work(ready: tuple[Any, Any, list[str]]) -> dict[str, Any]:
    """Average over examples: attention to the previous token, [CLS] and [SEP], and entropy."""
    model, tokenizer, texts = ready
    rows = []
    for first in range(0, len(texts), BATCH):
        batch = tokenizer(
            texts[first : first + BATCH],
            padding=True,
            truncation=True,
            max_length=128,
            return_tensors="pt",
        )
        with torch.inference_mode():
            maps = torch.stack(model(**batch, output_attentions=True).attentions).numpy()
        for index in range(maps.shape[1]):
            length = int(batch["attention_mask"][index].sum())
            ids = batch["input_ids"][index, :length].numpy()
            separator = ids == tokenizer.sep_token_id
            rows.append(one_example(maps[:, index, :, :length, :length], separator))
    return {"heads": np.mean(rows, 0)}


def one_example(maps: np.ndarray, separator: np.ndarray) -> np.ndarray:
    """Compute four statistics of one example: (layer, head, statistic)."""
    layers, heads, length, _ = maps.shape
    found = np.zeros((layers, heads, 4))
    for layer in range(layers):
        for head in range(heads):
            one = maps[layer, head].astype(np.float64)
            logarithm = np.log(one, where=one > 0, out=np.zeros_like(one))
            found[layer, head] = (
                np.mean([one[place, place - 1] for place in range(1, length)]),
                one[:, 0].mean(),
                one[:, separator].sum(1).mean(),
                -(one * logarithm).sum(1).mean(),
            )
    return found


if __name__ == "__main__":
    run("maps_numpy", load, work, packages=("torch", "transformers", "numpy"))
