"""What BertViz prepares for its head view and its model view of one text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bertviz import head_view, model_view
from transformers import AutoModel, AutoTokenizer

from benchmarks.alternatives.jobs.job import read_texts, run


def load(folder: Path) -> tuple[Any, Any, list[str]]:
    """Load the encoder."""
    model = AutoModel.from_pretrained(folder / "encoder", attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder / "encoder")
    return model, tokenizer, read_texts(folder, "texts_views")


def work(ready: tuple[Any, Any, list[str]]) -> dict[str, Any]:
    """Prepare both views of every text; keep the maps that the head view would show."""
    model, tokenizer, texts = ready
    maps = {}
    for number, text in enumerate(texts):
        inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=128)
        with torch.inference_mode():
            attention = model(**inputs, output_attentions=True).attentions
        tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
        head = head_view(attention, tokens, html_action="return")
        model_view(attention, tokens, html_action="return")
        maps[f"text{number}"] = shown(head.data)
    return maps


def shown(html: str) -> np.ndarray:
    """Read the maps out of a view: (layer, head, query, key)."""
    start = html.index('{"attention"')
    params, _ = json.JSONDecoder().raw_decode(html[start:])
    return np.asarray(params["attention"][0]["attn"])


if __name__ == "__main__":
    run("views_bertviz", load, work, packages=("bertviz", "torch", "transformers"))
