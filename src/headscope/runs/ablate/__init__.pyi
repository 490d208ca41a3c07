from .ablation import ablate as ablate
from .objectives import (
    CustomObjective as CustomObjective,
    LanguageModelObjective as LanguageModelObjective,
    Objective as Objective,
    TaskObjective as TaskObjective,
)
from .settings import Way as Way
