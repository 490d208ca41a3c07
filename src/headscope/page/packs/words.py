"""Sentences for the page: one description per head, and the summary of the model."""

from __future__ import annotations

from typing import Any

from headscope.results import Atlas


def head_texts(atlas: Atlas) -> list[dict[str, str]]:
    """What every head does, in the order of the model."""
    return [{"lead": "", "evidence": ""}] * (atlas.shape[0] * atlas.shape[1])


def summary_lines(atlas: Atlas) -> list[dict[str, Any]]:
    """What the heads do, each sentence with the heads it speaks of."""
    return [{"family": "", "parts": [{"text": text}]} for text in atlas.remarks()]


def convergence_lines(atlas: Atlas) -> list[dict[str, Any]]:
    """How the intervals of the strongest statistics shrink with the number of examples."""
    return []
