"""Published numbers of Kovaleva et al. 2019, each with the table or figure that it stands in. Facts only: nothing here is computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GlueRow:
    """A row of Table 1: scores in percent on the validation data, F1 before accuracy where there are two.

    ``untrained`` is pretrained BERT with a classifier that was not trained; ``random`` and ``pretrained`` are fine-tuned, from normal(0, 0.02) and from pretrained weights.
    """

    task: str
    untrained: tuple[float, ...]
    random: tuple[float, ...]
    pretrained: tuple[float, ...]
    metric: str
    size: str


KOVALEVA_TABLE_1 = (
    GlueRow("mrpc", (0, 31.6), (81.2, 68.3), (87.9, 82.3), "F1/Acc", "5.8K"),
    GlueRow("sts-b", (33.1,), (2.9,), (82.7,), "Acc", "8.6K"),
    GlueRow("sst-2", (49.1,), (80.5,), (92,), "Acc", "70K"),
    GlueRow("qqp", (0, 60.9), (0, 63.2), (65.2, 78.6), "F1/Acc", "400K"),
    GlueRow("rte", (52.7,), (52.7,), (64.6,), "Acc", "2.7K"),
    GlueRow("qnli", (52.8,), (49.5,), (84.4,), "Acc", "130K"),
    GlueRow("mnli", (31.7,), (61.0,), (78.6,), "Acc", "440K"),
)
"""The metric of STS-B is printed as accuracy; the task's scores are real numbers, and its metric in GLUE is a correlation."""
KOVALEVA_MEAN_GAIN = 35.9
"""Points by which fine-tuning is better than the untrained classifier, on average (§4.3)."""
KOVALEVA_GAINS = {"sts-b": 0.1, "mrpc": 1.2}
"""Points gained by disabling one head: the least and the largest best gain of a task (§4.6)."""
KOVALEVA_LAYER_GAIN = {"rte": 3.2}
"""Points gained by disabling the first layer (§4.6)."""
KOVALEVA_FRAME_HEADS = (0.201, 0.209)
"""Mean attention along frame links of the two heads over the 99th percentile (§4.2)."""
