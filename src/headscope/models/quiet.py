"""Silence around calls of transformers, whose own messages would repeat ours."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import transformers


@contextmanager
def quiet() -> Iterator[None]:
    """Switch off the log messages and progress bars of transformers and its libraries inside.

    Errors are raised as usual. Verbosity and progress bars are as before afterwards.
    """
    logger = transformers.logging
    level, bars = logger.get_verbosity(), logger.is_progress_bar_enabled()
    others = {name: logging.getLogger(name) for name in ("huggingface_hub", "accelerate")}
    levels = {name: other.level for name, other in others.items()}
    logger.set_verbosity(logging.CRITICAL)
    for other in others.values():
        other.setLevel(logging.CRITICAL)
    logger.disable_progress_bar()
    try:
        yield
    finally:
        logger.set_verbosity(level)
        for name, other in others.items():
            other.setLevel(levels[name])
        if bars:
            logger.enable_progress_bar()
