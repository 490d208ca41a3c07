"""A model that answers questions about one text at a time: what the live explorer runs on."""

from headscope.runs.live.model import LiveModel
from headscope.runs.live.text import Choice, Prediction

__all__ = ["Choice", "LiveModel", "Prediction"]
