"""What may stand for a model wherever one is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headscope.models.load import load, wrap
from headscope.models.model import Model

ModelLike = str | Path | Model | tuple[Any, Any]
"""A hub id, a folder, "demo", a loaded model, or a network with its tokenizer."""


def as_model(model: ModelLike, *, head: Any = None) -> Model:
    """The model that something stands for, loaded if need be."""
    if isinstance(model, Model):
        return model
    if isinstance(model, tuple):
        return wrap(*model)
    return load(model, head=head)
