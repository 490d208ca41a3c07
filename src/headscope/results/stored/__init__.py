"""Storing and merging the examples of every head."""

from headscope.results.stored.entries import PARTS, Bars, Sampled, SparseMap, Standing, StoredText
from headscope.results.stored.store import ExampleStore

__all__ = ["PARTS", "Bars", "ExampleStore", "Sampled", "SparseMap", "Standing", "StoredText"]
