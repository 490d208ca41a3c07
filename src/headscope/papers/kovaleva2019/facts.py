"""Published numbers of Kovaleva et al. 2019, each with its table or section.

Nothing is computed here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GlueRow:
    """A row of Table 1: validation scores in percent, F1 before accuracy where there are two.

    Parameters
    ----------
    task
        The GLUE task.
    untrained
        Scores of pretrained BERT with an untrained classifier.
    random
        Scores after fine-tuning from weights drawn from normal(0, 0.02).
    pretrained
        Scores after fine-tuning from pretrained weights.
    metric
        The metric, as printed. For STS-B the paper prints accuracy; the task's labels are real
        numbers, and its metric in GLUE is a correlation.
    size
        The number of examples, as printed.
    """

    task: str
    untrained: tuple[float, ...]
    random: tuple[float, ...]
    pretrained: tuple[float, ...]
    metric: str
    size: str


TABLE_1 = (
    GlueRow("mrpc", (0, 31.6), (81.2, 68.3), (87.9, 82.3), "F1/Acc", "5.8K"),
    GlueRow("sts-b", (33.1,), (2.9,), (82.7,), "Acc", "8.6K"),
    GlueRow("sst-2", (49.1,), (80.5,), (92,), "Acc", "70K"),
    GlueRow("qqp", (0, 60.9), (0, 63.2), (65.2, 78.6), "F1/Acc", "400K"),
    GlueRow("rte", (52.7,), (52.7,), (64.6,), "Acc", "2.7K"),
    GlueRow("qnli", (52.8,), (49.5,), (84.4,), "Acc", "130K"),
    GlueRow("mnli", (31.7,), (61.0,), (78.6,), "Acc", "440K"),
)
"""GLUE scores (Table 1)."""
MEAN_GAIN = 35.9
"""Points by which fine-tuning beats the untrained classifier on average (Section 4.3)."""
GAINS = {"sts-b": 0.1, "mrpc": 1.2}
"""The smallest and the largest gain of a task from disabling its best head (Section 4.6)."""
LAYER_GAIN = {"rte": 3.2}
"""Points gained by disabling the first layer (Section 4.6)."""
FRAME_HEADS = (0.201, 0.209)
"""Mean attention along frame links of the two heads over the 99th percentile (Section 4.2)."""
HETEROGENEOUS = {"MRPC": 32, "QQP": 61}
"""The smallest and the largest share of heterogeneous maps of a task, in percent (Section 4.1)."""
