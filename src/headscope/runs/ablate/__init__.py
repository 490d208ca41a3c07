"""Disabling heads: what it does to a task's score or a language model's loss.

Kovaleva et al. 2019 (§4.6) disable each head and each layer; Michel et al. 2019 prune heads by
gradient importance or greedily. Names are imported when first used, so that settings can be checked
without importing torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.runs.ablate.ablation import ablate
    from headscope.runs.ablate.objectives import (
        CustomObjective,
        LanguageModelObjective,
        Objective,
        TaskObjective,
    )
    from headscope.runs.ablate.settings import Way

_WHERE = {
    "ablate": "ablation",
    "CustomObjective": "objectives",
    "LanguageModelObjective": "objectives",
    "Objective": "objectives",
    "TaskObjective": "objectives",
    "Way": "settings",
}

__all__ = [
    "CustomObjective",
    "LanguageModelObjective",
    "Objective",
    "TaskObjective",
    "Way",
    "ablate",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
