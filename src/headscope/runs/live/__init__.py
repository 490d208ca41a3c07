"""A model that answers questions about one text at a time: what the live explorer runs on."""

from headscope.runs.live.model import Answers, LiveModel
from headscope.runs.live.text import Choice, Prediction

__all__ = ["Answers", "Choice", "LiveModel", "Prediction"]
