"""Labelling sessions over a planted model, whose maps are known, with an untrained network."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from headscope.corpus import from_texts
from headscope.labelling import CorpusMaps, LabelSession, LabelStore
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
    """A network with random weights: its predictions mean nothing but never change."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return PatternNet().eval()


@pytest.fixture
def start(tmp_path):
    """Start a session in a folder; a second one in the same folder continues it."""

    def start(folder=tmp_path / "labels", *, seed=0):
        return LabelSession(
            CorpusMaps(planted(), from_texts(TEXTS), limit=3, seed=seed, max_length=24),
            LabelStore(folder),
            network(),
        )

    return start
