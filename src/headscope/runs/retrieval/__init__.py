"""Retrieval heads: which heads copy an answer out of a long text."""

from headscope.runs.retrieval.needles import Needle
from headscope.runs.retrieval.run import retrieval

__all__ = ["Needle", "retrieval"]
