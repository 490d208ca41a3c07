"""Probing classifiers on the output of every head and layer (Jo and Myaeng 2020)."""

from headscope.runs.probe.run import probe

__all__ = ["probe"]
