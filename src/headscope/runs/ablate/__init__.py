"""Disabling heads: what it does to a task's score or a language model's loss.

Kovaleva et al. 2019 (§4.6) disable each head and each layer; Michel et al. 2019 prune heads by
gradient importance or greedily.
"""

from headscope.runs.ablate.ablate import Way, ablate
from headscope.runs.ablate.objectives import (
    CustomObjective,
    LanguageModelObjective,
    Objective,
    TaskObjective,
)

__all__ = [
    "CustomObjective",
    "LanguageModelObjective",
    "Objective",
    "TaskObjective",
    "Way",
    "ablate",
]
