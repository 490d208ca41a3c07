"""Texts whose vectors are computed, and the vectors that transformers computes for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headscope.runs.probe.vectors import HeadOutputs, Texts
from models.test_pooling import alone, at, head_outputs, hidden_states
from tiny import LAYERS

FEW: tuple[Texts, ...] = (
    ("the cat sat.",),
    ("a small bird sang in the old tree while rain fell on the roof.",),
    ("we walked",),
    ("the dog sat by the door.", "a small bird sang."),
)
WORDS = ("cat", "dog", "bird", "tree", "roof")
MANY: tuple[Texts, ...] = tuple(
    (
        " ".join(
            [WORDS[place % 5], WORDS[place // 5 % 5], WORDS[place // 25], *["the"] * (place % 7)]
        ),
    )
    for place in range(70)
)
"""Three blocks of 32, 32 and 6 texts, for batches of one text."""
HALF = {"rtol": 0.0, "atol": 2e-3}
"""Distances from the mean, at most 8 here, are rounded to 11 bits: errors of up to 8 · 2⁻¹²."""


def rows(count: int) -> Any:
    return np.arange(count)


def blocks(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file() and "block" in path.name)


def expected(kind: str, texts: Sequence[Texts], position: str) -> tuple[Any, Any]:
    """(layer, text, head, width) and (layer, text, hidden), computed by transformers.

    Eager attention and hidden states, one text at a time, without padding.
    """
    heads = [
        [[at(position, head) for head in layer] for layer in head_outputs(kind, alone(kind, *text))]
        for text in texts
    ]
    layers = [
        [at(position, state[0]) for state in hidden_states(kind, alone(kind, *text))]
        for text in texts
    ]
    return np.array(heads).swapaxes(0, 1), np.array(layers).swapaxes(0, 1)


def check(found: HeadOutputs, kind: str, texts: Sequence[Texts], position: str) -> None:
    heads, layers = expected(kind, texts, position)
    for layer in range(LAYERS):
        np.testing.assert_allclose(found.heads(layer, rows(len(texts))), heads[layer], **HALF)
        np.testing.assert_allclose(found.layer(layer, rows(len(texts))), layers[layer], **HALF)
