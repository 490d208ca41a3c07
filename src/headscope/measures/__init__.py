"""Measures: streaming statistics of every head, whose sums add up."""

from headscope.measures.base import BLOCKS, Kept, Measure, Setting, Sums
from headscope.measures.coreference import Coreference
from headscope.measures.dependency import Dependency
from headscope.measures.distance import Distance, exact_divergence, fast_divergence
from headscope.measures.entropy import Entropy, row_entropy
from headscope.measures.feature import Feature
from headscope.measures.frame import Frame
from headscope.measures.gradient import Gradient
from headscope.measures.link import Link
from headscope.measures.patterns.measure import Pattern
from headscope.measures.position import Position
from headscope.measures.registry import available, choose
from headscope.measures.relation import Bank, Linear, mass_weights
from headscope.measures.role import Role, bias_weights
from headscope.measures.sieves.base import Sieve, known_sieves, load_sieves, sieve
from headscope.measures.special import Special
from headscope.measures.strongest import Strongest
from headscope.measures.words import WordMap, WordMeasure, word_map

__all__ = [
    "BLOCKS",
    "Bank",
    "Coreference",
    "Dependency",
    "Distance",
    "Entropy",
    "Feature",
    "Frame",
    "Gradient",
    "Kept",
    "Linear",
    "Link",
    "Measure",
    "Pattern",
    "Position",
    "Role",
    "Setting",
    "Sieve",
    "Special",
    "Strongest",
    "Sums",
    "WordMap",
    "WordMeasure",
    "available",
    "bias_weights",
    "choose",
    "exact_divergence",
    "fast_divergence",
    "known_sieves",
    "load_sieves",
    "mass_weights",
    "row_entropy",
    "sieve",
    "word_map",
]
