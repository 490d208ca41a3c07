"""Sentences for the page: one description per head, and the summary of the model."""

from __future__ import annotations

from typing import Any

from headscope.heads import Head
from headscope.results import Atlas
from headscope.stats.words.describe import descriptions
from headscope.stats.words.summary import model_summary

NOTHING = {"lead": "", "evidence": ""}


def head_texts(atlas: Atlas) -> list[dict[str, str]]:
    """What every head does, in the order of the model."""
    found = descriptions(atlas)
    texts = []
    for layer in atlas.layers:
        for number in range(atlas.shape[1]):
            one = found.get(str(Head(layer - 1, number)))
            texts.append(NOTHING if one is None else {"lead": one.lead, "evidence": one.evidence})
    return texts


def summary_lines(atlas: Atlas) -> list[dict[str, Any]]:
    """What the heads do, each sentence with the heads it speaks of."""
    return [
        {
            "family": line.family,
            "parts": [
                {
                    "text": part.text,
                    **({"heads": list(part.heads)} if part.heads else {}),
                    **({"strong": True} if part.strong else {}),
                }
                for part in line.parts
            ],
        }
        for line in model_summary(atlas)
    ]
