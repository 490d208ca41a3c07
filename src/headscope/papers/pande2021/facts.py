"""Published numbers of Pande et al. 2021 (BERT base, four GLUE tasks, 1000 sequences each). Facts only: nothing here is computed."""

from __future__ import annotations

MEAN_SCORE = 2.8
TAU = 3
SEQUENCES = 1000
UNDECIDED = 0.018
"""Share of p-values between 0.05 and 0.95."""

SHARES = {
    "delimiter heads": 0.7343,
    "heads without a role": 0.0937,
    "syntactic heads that are local too": 0.709,
}
"""Means over the four tasks."""
SYNTACTIC_LOCAL_RANGE = (0.421, 0.888)
SPEARMAN = {"QNLI": 0.78, "QQP": 0.81, "MRPC": 0.85, "SST-2": 0.73}
"""Between local and syntactic scores, by task."""
