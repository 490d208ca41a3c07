"""A session of labelling: the planted model, whose maps are known exactly, a few texts, and a network that was never trained."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from headscope.corpus import from_texts
from headscope.labelling import Maps, Session, Store
from headscope.measures.patterns.network import PatternNet
from headscope.models import Model
from planted import planted_bert

TEXTS = ["the dog sat on the mat", ("the cat sat", "it saw the dog"), "who saw the old dog"]
SIZE = 3 * 2 * 5
"""Three texts, two layers, five heads."""


@cache
def planted() -> Model:
    return planted_bert()


@cache
def network() -> PatternNet:
    """Weights at random: what it says means nothing, but is always the same."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return PatternNet().eval()


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Session]:
    """Start a session in a folder; again in the same folder is the next day's session."""

    def start(folder: Path = tmp_path / "labels", *, seed: int = 0) -> Session:
        return Session(
            Maps(planted(), from_texts(TEXTS), limit=3, seed=seed, max_length=24),
            Store(folder),
            network(),
        )

    return start
