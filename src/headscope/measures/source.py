"""The code of a user's own measures and sieves, so that a changed one makes another run."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any


def code_digest(target: Callable[..., Any] | type) -> str:
    """A short digest of a function's or class' code."""
    return hashlib.sha256(_source(target).encode()).hexdigest()[:12]


def _source(target: Callable[..., Any] | type) -> str:
    """The file that something stands in, because it may use what stands beside it.

    Of a script or notebook only its own lines, and what was compiled where there is no text.
    """
    try:
        if target.__module__ == "__main__":
            return inspect.getsource(target)
        return Path(inspect.getfile(target)).read_text(encoding="utf-8", errors="replace")
    except (OSError, TypeError):
        if isinstance(target, type):
            parts = (value for value in vars(target).values() if inspect.isfunction(value))
            return repr([_compiled(part.__code__) for part in parts])
        return repr(_compiled(target.__code__))


def _compiled(code: CodeType) -> tuple[object, ...]:
    constants: list[object] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constants.append(_compiled(constant))
        elif isinstance(constant, frozenset):
            constants.append(sorted(map(repr, constant)))
        else:
            constants.append(repr(constant))
    return code.co_code, code.co_names, constants
