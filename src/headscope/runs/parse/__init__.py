"""Dependency probes on frozen attention maps (Clark et al. 2019, §5)."""

from headscope.corpus.vectors import WordVectors, forms, read_vectors
from headscope.runs.parse.data import PaddedBatch, ParseData
from headscope.runs.parse.networks import (
    AttentionProbe,
    DistanceProbe,
    ParseProbe,
    WordsProbe,
    attention_scores,
    words_scores,
)
from headscope.runs.parse.probes import PROBES, parse_probes
from headscope.runs.parse.sentences import ParseSentence
from headscope.runs.parse.training import (
    RATES,
    TrainingHistory,
    fit_best_rate,
    fit_probe,
    predict_heads,
)
from headscope.runs.parse.uas import (
    AttachmentScore,
    attachment_score,
    attachments,
    compare_probes,
    right_branching,
)
from headscope.runs.parse.wordmaps import WordMaps, make_word_maps

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
