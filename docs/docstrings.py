"""Docstrings as Markdown: examples become code blocks, and names lose their Sphinx roles."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

EXAMPLE = re.compile(r"(?:^>>> .*\n?)(?:^(?!\s*$).*\n?)*", re.MULTILINE)
ROLE = re.compile(r":(?:func|class|meth|mod|attr|data):(?=`)")


class Markdown(Extension):
    """Rewrites each docstring when the code is read for the reference."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Called for every module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(docstring: str) -> str:
    """Fence the lines from a prompt to the next blank line."""
    return ROLE.sub(
        "", EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", docstring)
    )
