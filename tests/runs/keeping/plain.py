"""What a survey keeps of every head, in plain loops over transformers' own eager maps."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.models import Model
from tiny import tiny_tokenizer

CAUSAL = {"gpt2", "llama"}


@dataclass
class Plain:
    """One example: its tokens, which of them are special or sinks, and (layer, head, T, T) maps."""

    number: int
    id: str
    text: str
    special: list[bool]
    sink: list[bool]
    maps: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.sink)


def plain_examples(kind: str, model: Model, texts: list[str], longest: int) -> list[Plain]:
    """Every text alone through transformers' eager attention, without padding."""
    tokenizer: Any = tiny_tokenizer(kind)
    found = []
    model.network.set_attn_implementation("eager")
    try:
        for number, text in enumerate(texts, 1):
            coded = tokenizer(text, truncation=True, max_length=longest)
            ids = coded["input_ids"]
            with torch.no_grad():
                output = model.network(torch.tensor([ids]), output_attentions=True)
            maps = torch.stack(output.attentions)[:, 0].double().numpy()
            special = [token in tokenizer.all_special_ids for token in ids]
            shown = [tokenizer.decode([token]).strip() for token in ids]
            sink = [
                special[place] or place == 0 or shown[place] in {".", ","}
                for place in range(len(ids))
            ]
            found.append(Plain(number, str(number), text, special, sink, maps))
    finally:
        model.network.set_attn_implementation("headscope")
    return found


def score(example: Plain, layer: int, head: int, window: int = 128) -> float:
    """Mean over the rows of words of the attention that is neither on sinks nor on the row."""
    total, rows = 0.0, 0
    for query in range(min(len(example), window)):
        if example.special[query]:
            continue
        rows += 1
        for key in range(len(example)):
            if not example.sink[key] and key != query:
                total += example.maps[layer, head, query, key]
    return total / rows


def histogram(
    examples: list[Plain], layer: int, head: int, causal: bool, window: int = 128
) -> tuple[list[float], list[float]]:
    """Attention by distance that is not on sinks, and the same spread evenly, over all rows."""
    share, even, rows = [0.0] * 33, [0.0] * 33, 0
    for example in examples:
        for query in range(min(len(example), window)):
            if example.special[query]:
                continue
            rows += 1
            seen = [
                key
                for key in range(len(example))
                if not example.sink[key] and not (causal and key > query)
            ]
            working = sum(example.maps[layer, head, query, key] for key in seen)
            for key in seen:
                place = max(-16, min(16, key - query)) + 16
                share[place] += example.maps[layer, head, query, key]
                even[place] += working / len(seen)
    return [one / rows for one in share], [one / rows for one in even]


def digest(example: Plain, seed: int) -> bytes:
    """SHA-256 of seed, part, id, group and text, each after its length."""
    found = hashlib.sha256()
    for part in (str(seed), "0", example.id, "", example.text):
        data = part.encode()
        found.update(len(data).to_bytes(8, "little") + data)
    return found.digest()


def top_keys(row: NDArray[np.float64]) -> list[tuple[int, int]]:
    """The eight largest multiples of 1/65535 of a row over 0.005, with their keys."""
    rounded = [(round(float(weight) * 65535), key) for key, weight in enumerate(row)]
    kept = sorted((-weight, key) for weight, key in rounded if weight / 65535 > 0.005)[:8]
    return [(key, -weight) for weight, key in kept]
