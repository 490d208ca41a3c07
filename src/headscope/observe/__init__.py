"""Observation: loading models, and seeing and changing attention as it is computed."""

from headscope.observe.attention import NAME, Watch, watching
from headscope.observe.load import load, wrap
from headscope.observe.model import Model, Shape
from headscope.observe.pooling import POSITIONS, Pooling, take
from headscope.observe.replace import Replacement, head_set
from headscope.observe.view import LayerView, Listener

__all__ = ["NAME", "POSITIONS", "LayerView", "Listener", "Model", "Pooling", "Replacement", "Shape", "Watch", "head_set", "load", "take", "watching", "wrap"]
