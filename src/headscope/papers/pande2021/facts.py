"""Published numbers of Pande et al. 2021: BERT base, four GLUE tasks, 1000 sequences each.

Nothing is computed here.
"""

from __future__ import annotations

MEAN_SCORE = 2.8
"""The mean sieve bias score over all heads, roles and sequences."""
TAU = 3
"""The threshold that follows from it."""
SEQUENCES = 1000
"""Sequences of each task."""
UNDECIDED = 0.018
"""Share of p-values between 0.05 and 0.95."""

SHARES = {
    "delimiter heads": 0.7343,
    "heads without a role": 0.0937,
    "syntactic heads that are local too": 0.709,
}
"""Shares of heads, means over the four tasks."""
SYNTACTIC_LOCAL_RANGE = (0.421, 0.888)
"""The smallest and the largest share of syntactic heads that are local too."""
SPEARMAN = {"QNLI": 0.78, "QQP": 0.81, "MRPC": 0.85, "SST-2": 0.73}
"""Spearman's correlation between local and syntactic scores, by task."""
