"""Observation: loading models, and seeing and changing attention as it is computed."""

from headscope.models.attention import NAME, Watch, watching
from headscope.models.load import load, wrap
from headscope.models.model import Model, Shape
from headscope.models.pooling import POSITIONS, Pooling, take
from headscope.models.replacement import Replacement, head_set
from headscope.models.view import LayerView, Listener

__all__ = [
    "NAME",
    "POSITIONS",
    "LayerView",
    "Listener",
    "Model",
    "Pooling",
    "Replacement",
    "Shape",
    "Watch",
    "head_set",
    "load",
    "take",
    "watching",
    "wrap",
]
