"""Models: loading them, and observing and changing their attention as it is computed.

Names are imported when first used, so that :mod:`headscope.models.names` can check a model's name
without importing torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.models.attention import Watch, watching
    from headscope.models.implementation import NAME
    from headscope.models.like import ModelLike, as_model, using_model
    from headscope.models.loading import load, wrap
    from headscope.models.model import Model
    from headscope.models.names import check_model_name, model_label
    from headscope.models.pooling import POSITIONS, Pooling
    from headscope.models.replacement import Replacement
    from headscope.models.shape import Shape
    from headscope.models.vectors import take
    from headscope.models.view import LayerView, Listener, OutputListener, RowListener

_WHERE = {
    "NAME": "implementation",
    "Watch": "attention",
    "watching": "attention",
    "ModelLike": "like",
    "as_model": "like",
    "using_model": "like",
    "load": "loading",
    "wrap": "loading",
    "Model": "model",
    "check_model_name": "names",
    "model_label": "names",
    "POSITIONS": "pooling",
    "Pooling": "pooling",
    "Replacement": "replacement",
    "Shape": "shape",
    "take": "vectors",
    "LayerView": "view",
    "Listener": "view",
    "OutputListener": "view",
    "RowListener": "view",
}

__all__ = [
    "NAME",
    "POSITIONS",
    "LayerView",
    "Listener",
    "Model",
    "ModelLike",
    "OutputListener",
    "Pooling",
    "Replacement",
    "RowListener",
    "Shape",
    "Watch",
    "as_model",
    "check_model_name",
    "load",
    "model_label",
    "take",
    "using_model",
    "watching",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
