"""Measures: streaming statistics of every head, whose sums add up."""

from headscope.measures.base import BLOCKS, Measure, Setting, Sums
from headscope.measures.entropy import Entropy, row_entropy
from headscope.measures.position import Position
from headscope.measures.registry import available, choose
from headscope.measures.relation import Bank, Linear, mass_weights
from headscope.measures.special import Special
from headscope.measures.words import WordMap, word_map

__all__ = ["BLOCKS", "Bank", "Entropy", "Linear", "Measure", "Position", "Setting", "Special", "Sums", "WordMap", "available", "choose", "mass_weights", "row_entropy", "word_map"]
