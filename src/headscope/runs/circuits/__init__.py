"""Circuits: what the weights of heads say without any text."""

from headscope.runs.circuits.run import circuits
from headscope.runs.circuits.scores import KINDS

__all__ = ["KINDS", "circuits"]
