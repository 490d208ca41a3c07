"""Dependency probes on frozen attention maps (Clark et al. 2019, §5)."""

from headscope.corpus.vectors import WordVectors, forms, read_vectors
from headscope.papers.clark2019.parse.data import PaddedBatch, ParseData
from headscope.papers.clark2019.parse.networks import (
    AttentionProbe,
    DistanceProbe,
    ParseProbe,
    WordsProbe,
    attention_scores,
    words_scores,
)
from headscope.papers.clark2019.parse.probes import PROBES, parse_probes
from headscope.papers.clark2019.parse.sentences import ParseSentence
from headscope.papers.clark2019.parse.training import (
    RATES,
    TrainingHistory,
    fit_best_rate,
    fit_probe,
    predict_heads,
)
from headscope.papers.clark2019.parse.uas import (
    AttachmentScore,
    attachment_score,
    attachments,
    compare_probes,
    right_branching,
)
from headscope.papers.clark2019.parse.wordmaps import WordMaps, make_word_maps

__all__ = [
    "PROBES",
    "RATES",
    "AttachmentScore",
    "AttentionProbe",
    "DistanceProbe",
    "PaddedBatch",
    "ParseData",
    "ParseProbe",
    "ParseSentence",
    "TrainingHistory",
    "WordMaps",
    "WordVectors",
    "WordsProbe",
    "attachment_score",
    "attachments",
    "attention_scores",
    "compare_probes",
    "fit_best_rate",
    "fit_probe",
    "forms",
    "make_word_maps",
    "parse_probes",
    "predict_heads",
    "read_vectors",
    "right_branching",
    "words_scores",
]
