"""Engines: where the units of a run are worked on."""

from headscope.runs.engines.base import (
    Engine,
    EngineName,
    LocalWorkers,
    Task,
    Work,
    Workers,
    check_engine,
    make_engine,
)

__all__ = [
    "Engine",
    "EngineName",
    "LocalWorkers",
    "Task",
    "Work",
    "Workers",
    "check_engine",
    "make_engine",
]
