"""What a model is judged by while its heads are disabled.

A task's labels, the model's own language-model loss, or any function of its outputs.
"""

from headscope.runs.ablate.objectives.base import Objective, Question, example_losses
from headscope.runs.ablate.objectives.custom import CustomObjective, OutputFunction
from headscope.runs.ablate.objectives.language_model import LanguageModelObjective
from headscope.runs.ablate.objectives.task import TaskObjective, label_columns

__all__ = [
    "CustomObjective",
    "LanguageModelObjective",
    "Objective",
    "OutputFunction",
    "Question",
    "TaskObjective",
    "example_losses",
    "label_columns",
]
