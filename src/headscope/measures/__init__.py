"""Measures: streaming statistics of every head, whose sums add up."""

from headscope.measures.base import BLOCKS, Measure, Setting, Sums
from headscope.measures.coreference import Coreference
from headscope.measures.dependency import Dependency
from headscope.measures.divergence import Distance, exact_divergence, fast_divergence
from headscope.measures.entropy import Entropy, row_entropy
from headscope.measures.gradient import Gradient
from headscope.measures.position import Position
from headscope.measures.registry import available, choose
from headscope.measures.relation import Bank, Linear, mass_weights
from headscope.measures.special import Special
from headscope.measures.words import WordMap, WordMeasure, word_map

__all__ = [
    "BLOCKS",
    "Bank",
    "Coreference",
    "Dependency",
    "Distance",
    "Entropy",
    "Gradient",
    "Linear",
    "Measure",
    "Position",
    "Setting",
    "Special",
    "Sums",
    "WordMap",
    "WordMeasure",
    "available",
    "choose",
    "exact_divergence",
    "fast_divergence",
    "mass_weights",
    "row_entropy",
    "word_map",
]
