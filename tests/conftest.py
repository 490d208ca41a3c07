"""Fixtures that every part uses: where the research data is, and tiny models with tokenizers made on the spot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of research data and models beside the project."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the research data beside the project (../shared) is not here")
    return SHARED
