"""Published numbers of Pande et al. 2021: BERT base, four GLUE tasks, 1000 sequences each.

Nothing is computed here.
"""

from __future__ import annotations

from headscope.papers.claims import Claim

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

FINE_OVERLAPS = (("nsubj", "next-local"), ("dobj", "previous-local"))
"""Fine roles of which the paper says that they have a high overlap, without numbers."""
SKILLED_LAYERS, SYNTACTIC_LAYERS = (5 / 12, 10 / 12), (6 / 12, 9 / 12)
"""Where multi-skilled heads (layers 5 to 9 of 0 to 11) and syntactic heads (6 to 8) are most
frequent, as shares of the model's depth."""

_OVERLAP = "Are functional roles mutually exclusive?"
_LAYERS = "How are functional roles distributed across layers?"
_TUNING = "What is the effect of fine-tuning on functional roles"
CLAIMS = {
    "outliers": Claim(
        "averages are inflated by outliers: some heads with a mean above τ do not pass the test",
        "Hypothesis Testing, Figure 2",
        "one head shown",
        "a head has a mean above τ for one of the four roles, and p of 0.05 or more",
    ),
    "tau": Claim(
        "the mean score of all heads, roles and sequences is about 2.8, so that τ = 3",
        "Assigning functional roles, Figure 3a",
        "2.8",
        "the smallest integer above the mean is 3",
    ),
    "bimodal": Claim(
        "the test decides clearly: p-values are close to 0 or close to 1",
        "Assigning functional roles, Figure 3b",
        "1.8 % between 0.05 and 0.95",
        "at most 5 % lie between",
        ours="5 %",
    ),
    "delimiter": Claim(
        "a significant number of heads are delimiter heads",
        _OVERLAP,
        "73.4 %",
        "more than half of the heads are",
        ours="half",
    ),
    "unskilled": Claim(
        "very few heads do not have any role",
        _OVERLAP,
        "9.4 %",
        "at most 20 % do not",
        ours="20 %",
    ),
    "local": Claim(
        "syntactic heads overlap with local heads",
        _OVERLAP,
        "70.9 % (42.1 to 88.8 %)",
        "at least half of the syntactic heads are local too",
        ours="half",
    ),
    "spearman": Claim(
        "local and syntactic scores are highly correlated",
        _OVERLAP,
        "Spearman 0.73 to 0.85",
        "0.7 or more, over heads",
        ours="0.7, and over heads",
    ),
    "nsubj": Claim(
        "nsubj heads have a high overlap with next-local heads",
        _OVERLAP,
        "high",
        "at least half of the nsubj heads are next-local too",
        ours="half",
    ),
    "dobj": Claim(
        "dobj heads have a high overlap with previous-local heads",
        _OVERLAP,
        "high",
        "at least half of the dobj heads are previous-local too",
        ours="half",
    ),
    "block": Claim(
        "block heads hardly overlap with syntactic or local heads",
        _OVERLAP,
        "marginal",
        "fewer than a quarter of the block heads are syntactic or local",
        ours="a quarter",
    ),
    "skilled": Claim(
        "multi-skilled heads are most frequent in the middle layers",
        _LAYERS,
        "layers 6 to 10 of 12, in three of four tasks",
        "heads at this depth have more fine roles than others, on average",
        ours="comparing means, by depth",
    ),
    "delimiter last": Claim(
        "delimiter heads are often the only heads with a role in the last three layers",
        _LAYERS,
        "Figure 5",
        "in the last quarter of the layers, at least half of the heads with a fine role have only "
        "[CLS] or [SEP]",
        ours="half",
    ),
    "delimiter first": Claim(
        "the first layer has very few delimiter heads",
        _LAYERS,
        "Figure 5",
        "their share there is below half of that of the other layers",
        ours="half",
    ),
    "block first": Claim(
        "block heads are prevalent in the first layer",
        _LAYERS,
        "Figure 5",
        "the first layer has a larger share of them than the other layers, on average",
        ours="comparing means",
    ),
    "syntactic everywhere": Claim(
        "almost all layers have at least 3 syntactic heads of 12",
        _LAYERS,
        "3 of 12",
        "in at least three quarters of the layers, at least a quarter of the heads have nsubj, "
        "dobj, amod or advmod",
        ours="three quarters",
    ),
    "syntactic middle": Claim(
        "syntactic heads are most prevalent in layers 7 to 9 of 12",
        _LAYERS,
        "Figure 5",
        "the share of such heads at this depth is larger than elsewhere",
        ours="comparing means, by depth",
    ),
    "syntactic last": Claim(
        "the last two layers of 12 have very few syntactic heads",
        _LAYERS,
        "Figure 5",
        "in the last sixth of the layers, their share is below half of that of the others",
        ours="half",
    ),
    "delimiter falls": Claim(
        "the delimiter score falls in the last layers",
        f"{_TUNING}, Figure 6",
        "falls",
        "it is lower in the last third, by more than the smallest shift of interest",
        ours="the smallest shift",
    ),
    "sep falls": Claim(
        "it falls because of [SEP]; attention to [CLS] does not change much",
        _TUNING,
        "[SEP] falls",
        "in the last third [SEP] is lower, by more than the smallest shift of interest, and "
        "changes more than [CLS]",
        ours="the smallest shift",
    ),
    "block rises": Claim(
        "the block score rises in the last layers",
        f"{_TUNING}, Figure 6",
        "rises",
        "it is higher in the last third, by more than the smallest shift of interest",
        ours="the smallest shift",
    ),
    "early same": Claim(
        "roles do not change much in the first and middle layers",
        f"{_TUNING}, Figure 6",
        "little change",
        "the mean absolute shift of the four roles is largest in the last third",
        ours="comparing means",
    ),
}
"""What the paper says, in its order. Its layers count from 0, those here from 1."""
