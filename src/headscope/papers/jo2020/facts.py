"""Published numbers of Jo and Myaeng 2020, each with its table or section; nothing is computed.

Table 5 is damaged in the text that these numbers were taken from: its rows have lost their names
and some of their cells. A row's name is certain because its BERT numbers are those of Table 3,
where they are kept. A cell's column is certain where its gain in brackets fits the last layer of
its encoder. Not given here are, for BERT base, the last layer (it is in Table 3) and the gains of
the best layer from Depth on (lost). GPT-2's top heads in Length (lost) and in OddManOut (printed as
"5.5 (1.6)": a digit is missing) are from the table that the authors released; their gains are not
given. Numbers of Table 3 are not repeated.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedEncoder:
    """A row of Table 1.

    Parameters
    ----------
    name
        The encoder.
    layers, heads
        Its layers, and the heads of each.
    total
        All heads.
    parameters
        The number of parameters, as printed.
    """

    name: str
    layers: int
    heads: int
    total: int
    parameters: str


TABLE_1 = (
    PublishedEncoder("GPT", 12, 12, 144, "110M"),
    PublishedEncoder("GPT2", 12, 12, 144, "117M"),
    PublishedEncoder("BERT base", 12, 12, 144, "110M"),
    PublishedEncoder("BERT large", 24, 16, 384, "340M"),
    PublishedEncoder("ELECTRA small", 12, 4, 48, "14M"),
    PublishedEncoder("ELECTRA base", 12, 12, 144, "110M"),
    PublishedEncoder("ELECTRA large", 24, 16, 384, "340M"),
)


@dataclass(frozen=True)
class PublishedTask:
    """A row of Table 2.

    Parameters
    ----------
    name
        The name of SentEval's file.
    title
        The name in the paper.
    classes
        The number of classes.
    description
        What is to be predicted.
    """

    name: str
    title: str
    classes: int
    description: str


TABLE_2 = (
    PublishedTask("sentence_length", "Length", 6, "Predict input sequence length"),
    PublishedTask("word_content", "WordContent", 1000, "Find words in a sentence"),
    PublishedTask("tree_depth", "Depth", 8, "Predict maximum depth of syntactic tree"),
    PublishedTask("top_constituents", "TopConst", 20, "Predict top-constituents"),
    PublishedTask("bigram_shift", "BigramShift", 2, "Detect bigram order perturbation"),
    PublishedTask("past_present", "Tense", 2, "Predict main verb's tense"),
    PublishedTask("subj_number", "SubjNum", 2, "Predict whether a subj is plural"),
    PublishedTask("obj_number", "ObjNum", 2, "Predict whether an obj is plural"),
    PublishedTask("odd_man_out", "OddManOut", 2, "Detect noun or verb perturbation"),
    PublishedTask(
        "coordination_inversion", "CoordInversion", 2, "Detect clausal order perturbation"
    ),
)
TASK_SIZES = {"train": "100k", "test": "10k"}
"""Sentences of each probing task (Table 2)."""

Scores = tuple[float | None, float | None, float | None]
"""Last layer, best layer, and as many top heads as a layer has; None where the number is lost."""

TABLE_3: dict[str, dict[str, Scores]] = {
    "BERT base": {
        "sentence_length": (58.0, 87.8, 95.0),
        "word_content": (25.2, 25.2, 73.1),
        "tree_depth": (29.8, 31.7, 38.3),
        "top_constituents": (69.8, 74.7, 84.2),
        "bigram_shift": (78.1, 78.1, 88.3),
        "past_present": (86.0, 87.0, 89.0),
        "subj_number": (82.0, 84.7, 88.2),
        "obj_number": (75.4, 75.4, 83.4),
        "odd_man_out": (59.6, 59.6, 65.1),
        "coordination_inversion": (65.5, 65.9, 74.6),
    },
    "BERT large": {
        "sentence_length": (54.8, 94.4, 95.2),
        "word_content": (12.2, 32.2, 79.8),
        "tree_depth": (27.8, 33.3, 39.5),
        "top_constituents": (62.8, 78.2, 85.6),
        "bigram_shift": (77.2, 81.1, 90.9),
        "past_present": (85.6, 86.7, 88.9),
        "subj_number": (80.0, 87.9, 90.5),
        "obj_number": (64.2, 78.0, 84.4),
        "odd_man_out": (55.5, 59.2, 69.0),
        "coordination_inversion": (64.9, 70.9, 78.5),
    },
}
"""Test accuracy in percent, by encoder and task (Table 3)."""

TABLE_5: dict[str, dict[str, Scores]] = {
    "GPT": {
        "sentence_length": (52.2, 96.4, 96.2),
        "word_content": (35.3, 35.3, 71.3),
        "tree_depth": (27.2, 30.6, 38.9),
        "top_constituents": (53.0, 65.1, 79.5),
        "bigram_shift": (69.3, 69.3, 80.7),
        "past_present": (88.6, 88.6, 89.0),
        "subj_number": (78.8, 78.8, 84.2),
        "obj_number": (71.2, 71.9, 80.5),
        "odd_man_out": (55.0, 58.2, 63.0),
        "coordination_inversion": (57.7, 60.7, 70.2),
    },
    "GPT2": {
        "sentence_length": (57.8, 88.9, 92.8),
        "word_content": (37.5, 37.5, 71.0),
        "tree_depth": (28.0, 31.0, 40.0),
        "top_constituents": (57.3, 63.1, 82.8),
        "bigram_shift": (68.8, 70.5, 78.8),
        "past_present": (88.2, 88.6, 89.3),
        "subj_number": (83.5, 83.5, 87.7),
        "obj_number": (70.2, 74.1, 82.5),
        "odd_man_out": (54.6, 54.9, 55.5),
        "coordination_inversion": (58.3, 60.0, 67.6),
    },
}
"""Test accuracy in percent of the encoders that Table 3 does not have."""

Gains = tuple[float | None, float | None]
"""Gains in percent of the best layer and the top heads over the last layer; None where lost."""

TABLE_5_GAINS: dict[str, dict[str, Gains]] = {
    "BERT base": {
        "sentence_length": (51.5, 64.0),
        "word_content": (0.0, 190.3),
        "tree_depth": (None, 28.7),
        "top_constituents": (None, 20.6),
        "bigram_shift": (None, 13.1),
        "past_present": (None, 3.6),
        "subj_number": (None, 7.6),
        "obj_number": (None, 10.6),
        "odd_man_out": (None, 9.3),
        "coordination_inversion": (None, 13.8),
    },
    "BERT large": {
        "sentence_length": (72.2, 73.6),
        "word_content": (165.2, 556.4),
        "tree_depth": (19.6, 41.9),
        "top_constituents": (24.6, 36.4),
        "bigram_shift": (5.1, 17.8),
        "past_present": (1.2, 3.8),
        "subj_number": (9.9, 13.0),
        "obj_number": (21.5, 31.4),
        "odd_man_out": (6.6, 24.2),
        "coordination_inversion": (9.2, 20.9),
    },
    "GPT": {
        "sentence_length": (84.7, 84.3),
        "word_content": (0.0, 102.0),
        "tree_depth": (12.2, 42.8),
        "top_constituents": (22.8, 50.0),
        "bigram_shift": (0.0, 16.5),
        "past_present": (0.0, 0.5),
        "subj_number": (0.0, 6.8),
        "obj_number": (0.9, 13.0),
        "odd_man_out": (5.9, 14.6),
        "coordination_inversion": (5.1, 21.6),
    },
    "GPT2": {
        "sentence_length": (53.9, None),
        "word_content": (0.0, 89.5),
        "tree_depth": (10.6, 42.7),
        "top_constituents": (10.2, 44.5),
        "bigram_shift": (2.5, 14.6),
        "past_present": (0.5, 1.2),
        "subj_number": (0.0, 5.1),
        "obj_number": (5.5, 17.5),
        "odd_man_out": (0.6, None),
        "coordination_inversion": (2.9, 15.9),
    },
}
"""The gains in brackets in Table 5: the certain ones."""

MEDIAN_GAIN = 19.22
"""Median gain in percent of the top heads over the "best" layer, as Section 4.4 has it.

By the paper's own tables this is the gain over the last layer, over all four encoders; over the
best layer it is about 12 %.
"""


@dataclass(frozen=True)
class PublishedTuning:
    """A row of Table 4 for one encoder: dev scores in percent, the median of five seeds.

    Parameters
    ----------
    task, metric
        The task and how it is scored.
    last, best, top
        Fine-tuned from the last layer, the best layer, and the top heads.
    """

    task: str
    metric: str
    last: float
    best: float
    top: float


TABLE_4: dict[str, tuple[PublishedTuning, ...]] = {
    "BERT base": (
        PublishedTuning("mrpc", "f1", 88.0, 88.2, 88.9),
        PublishedTuning("mrpc", "accuracy", 82.4, 83.1, 84.6),
        PublishedTuning("sts-b", "pearson", 88.2, 74.6, 88.6),
        PublishedTuning("sts-b", "spearman", 87.9, 73.5, 88.3),
        PublishedTuning("sst-2", "accuracy", 92.9, 92.4, 93.1),
    ),
    "BERT large": (
        PublishedTuning("mrpc", "f1", 89.3, 88.6, 91.4),
        PublishedTuning("mrpc", "accuracy", 84.6, 84.1, 87.7),
        PublishedTuning("sts-b", "pearson", 89.5, 54.8, 89.4),
        PublishedTuning("sts-b", "spearman", 89.1, 53.6, 88.7),
        PublishedTuning("sst-2", "accuracy", 94.0, 92.9, 94.5),
    ),
}
TUNED_GAINS = {"BERT base": 0.82, "BERT large": 1.04}
"""Points by which tuning from the top heads beats the last layer: mean of Table 4 (Section 5.2)."""
MRPC_GAINS = {"f1": 2.1, "accuracy": 3.1}
"""Points gained on MRPC by BERT large (Section 5.2)."""

PROBE = {"batch": 256, "rate": 0.1, "patience": 3, "folds": 5}
"""How the probes were trained, with RMSProp (Appendix A.2)."""
L2 = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""The L2 penalties tried (Appendix A.2)."""
TUNING = {"batch": 32, "rate": 2e-5, "epochs": 3, "dropout": 0.1, "seeds": 5}
"""How the encoders were fine-tuned (Section 5.2, Appendix A.4)."""
STS_LAYERS = (0.25, 0.30)
"""How far up, as a share of all layers, the influential layers of STS-B reach (Section 6.1)."""
DOWNSTREAM_SIZES = {
    "mrpc": ("4.1k", "1.7k"),
    "sts-b": ("5.7k", "1.4k"),
    "sst-2": ("67k", "1.8k"),
}
"""Train and test examples, as printed (Section 5.1)."""
