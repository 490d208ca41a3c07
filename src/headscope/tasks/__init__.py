"""Data with labels (probing tasks, GLUE, your own tables), and the metrics that score them.

Names are imported when first used, so that :mod:`headscope.tasks.metrics` can be imported without
the readers of corpora.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.tasks.files import task_examples
    from headscope.tasks.labels import custom_task, label_ids
    from headscope.tasks.metrics import score
    from headscope.tasks.task import GLUE, Task, find_task

_WHERE = {
    "GLUE": "task",
    "Task": "task",
    "custom_task": "labels",
    "find_task": "task",
    "label_ids": "labels",
    "score": "metrics",
    "task_examples": "files",
}

__all__ = ["GLUE", "Task", "custom_task", "find_task", "label_ids", "score", "task_examples"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
