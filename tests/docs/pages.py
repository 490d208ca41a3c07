"""The pages of the documentation, their code blocks, and what they must cover.

Pages are found by what they contain rather than by their path, so that they can be moved freely.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from headscope.figures import all_figures
from headscope.measures import MEASURES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
GUIDES = [page for page in PAGES if DOCS in page.parents and page.parent.name != "findings"]
"""Pages written for readers: not the generated reference, not reports of findings."""

FENCE = re.compile(
    r"^(?P<skip><!-- no-run -->\n)?^```(?P<kind>\w*)[^\n]*\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
STOPS = {"|", ">", "&&", ";"}


class Block(NamedTuple):
    """A fenced block of code; ``run`` is false after a ``<!-- no-run -->`` line."""

    kind: str
    code: str
    run: bool


def read(page: Path) -> str:
    """The text of a page."""
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    """The path of a page, for test ids."""
    return str(page.relative_to(ROOT))


def blocks(text: str, kind: str) -> list[Block]:
    """The fenced blocks of one language, in order."""
    return [
        Block(kind, match["code"], match["skip"] is None)
        for match in FENCE.finditer(text)
        if match["kind"] == kind
    ]


def command_lines(page: Path) -> Iterator[list[str]]:
    """The words of each ``headscope`` command on a page, up to a pipe, redirection or comment."""
    for block in blocks(read(page), "sh"):
        for line in block.code.replace("\\\n", " ").splitlines():
            if line.lstrip().startswith("headscope "):
                words = shlex.split(line, comments=True)
                ends = [place for place, word in enumerate(words) if word in STOPS]
                yield words[1 : min(ends, default=len(words))]


@cache
def hooks() -> ModuleType:
    """The module that writes the command-line reference when the site is built."""
    spec = importlib.util.spec_from_file_location("docs_hooks", DOCS / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure_names() -> list[str]:
    """Every measure of Headscope."""
    return sorted(MEASURES)


def figure_names() -> list[str]:
    """Every figure of the gallery, whatever results it needs."""
    return [figure.name for figure in all_figures()]


def has_row(text: str, name: str) -> bool:
    """Whether a text has a table with a row for a name."""
    return f"\n| `{name}` |" in text
