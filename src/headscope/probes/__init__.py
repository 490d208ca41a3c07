"""Probes: what is trained on frozen heads."""

from headscope.probes.data import Data
from headscope.probes.parse import PROBES, parse_probes
from headscope.probes.random_init import random_init
from headscope.probes.scores import AttentionProbe, DistanceProbe, ParseProbe, WordsProbe, attention_scores, words_scores
from headscope.probes.sentences import Sentence
from headscope.probes.training import RATES, Fit, fit, fit_best, predict
from headscope.probes.uas import Score, attachments, right_branching, score
from headscope.probes.vectors import WordVectors, forms, read_vectors
from headscope.probes.wordmaps import WordMaps, make_word_maps

__all__ = [
    "PROBES",
    "RATES",
    "AttentionProbe",
    "Data",
    "DistanceProbe",
    "Fit",
    "ParseProbe",
    "Score",
    "Sentence",
    "WordMaps",
    "WordVectors",
    "WordsProbe",
    "attachments",
    "attention_scores",
    "fit",
    "fit_best",
    "forms",
    "make_word_maps",
    "parse_probes",
    "predict",
    "random_init",
    "read_vectors",
    "right_branching",
    "score",
    "words_scores",
]
