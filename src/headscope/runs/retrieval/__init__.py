"""Retrieval heads: which heads copy an answer out of a long text."""

from headscope.runs.retrieval.find import retrieval
from headscope.runs.retrieval.needles import Needle

__all__ = ["Needle", "retrieval"]
