"""Probes: what is trained on frozen heads."""

from headscope.runs.parse.data import Data
from headscope.runs.parse.probes import PROBES, parse_probes
from headscope.runs.parse.scores import (
    AttentionProbe,
    DistanceProbe,
    ParseProbe,
    WordsProbe,
    attention_scores,
    words_scores,
)
from headscope.runs.parse.sentences import Sentence
from headscope.runs.parse.training import RATES, Fit, fit, fit_best, predict
from headscope.runs.parse.uas import Score, attachments, right_branching, score
from headscope.runs.parse.vectors import WordVectors, forms, read_vectors
from headscope.runs.parse.wordmaps import WordMaps, make_word_maps

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
    "read_vectors",
    "right_branching",
    "score",
    "words_scores",
]
