"""Tiny models in folders."""

from __future__ import annotations

import pytest

from runs.tune.animals import saved


@pytest.fixture(scope="session")
def bert(tmp_path_factory):
    """A tiny BERT without a classifier."""
    return saved("bert", tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="session")
def gpt2(tmp_path_factory):
    """A tiny GPT-2, whose tokenizer has no padding token."""
    return saved("gpt2", tmp_path_factory.mktemp("gpt2"))
