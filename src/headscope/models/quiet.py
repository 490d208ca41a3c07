"""Silence around calls of transformers, whose own messages would repeat ours."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import transformers


@contextmanager
def quiet() -> Iterator[None]:
    """Switch off the log messages and progress bars of transformers and huggingface_hub inside.

    Errors are raised as usual. Verbosity and progress bars are as before afterwards.
    """
    logger = transformers.logging
    level, bars = logger.get_verbosity(), logger.is_progress_bar_enabled()
    hub = logging.getLogger("huggingface_hub")
    hub_level = hub.level
    logger.set_verbosity(logging.CRITICAL)
    hub.setLevel(logging.CRITICAL)
    logger.disable_progress_bar()
    try:
        yield
    finally:
        logger.set_verbosity(level)
        hub.setLevel(hub_level)
        if bars:
            logger.enable_progress_bar()
