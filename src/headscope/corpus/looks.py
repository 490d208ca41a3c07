"""What the first lines of a file look like, to suggest a format where none or a wrong one is given.

Only formats that cannot be mistaken are named. Plain text and tables look like anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from headscope.corpus.files import lines
from headscope.errors import CorpusError, UserError
from headscope.limits import parse_json

LOOKED = 50
"""Lines that are looked at."""
CONLL_COLUMNS = 10
BEGIN = re.compile(r"# ?begin document\b")
"""How a document of CoNLL-2012 begins."""


def looks_like(path: Path) -> str | None:
    """The format that the first lines of a file are in, if it cannot be mistaken.

    Parameters
    ----------
    path : Path
        A file, gzipped or not.

    Returns
    -------
    str or None
        The name of a format of :func:`headscope.read`; None if the file cannot be read, or may be
        of several formats.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "persuasion.conll"
    >>> _ = path.write_text("#begin document (105); part 0\\n")
    >>> looks_like(path)
    'conll2012'
    """
    try:
        first = [line for _, line in islice(lines(path), LOOKED) if line.strip()]
    except CorpusError:
        return None
    if not first:
        return None
    if BEGIN.match(first[0]):
        return "conll2012"
    if first[0].startswith("{"):
        return _json_format(first[0])
    return _columns_format(first)


def begins_conll2012(path: Path) -> bool:
    """Whether the first line of a file begins a document of CoNLL-2012."""
    return looks_like(path) == "conll2012"


def _json_format(line: str) -> str | None:
    try:
        keys = parse_json(line, "the first line").keys()
    except (UserError, AttributeError):
        return None
    return "coref-jsonl" if {"sentences", "mentions"} <= keys else "jsonl"


def _columns_format(first: list[str]) -> str | None:
    """CoNLL-U and CoNLL-X have ten columns, of which the first numbers the words."""
    rows = list(_rows(first))
    if not rows or not all(
        len(cells) == CONLL_COLUMNS and re.fullmatch(r"\d+([-.]\d+)?", cells[0]) for cells in rows
    ):
        return None
    entities = any(re.search(r"(^|\|)Entity=\(", cells[-1]) for cells in rows)
    named = any(line.startswith("# global.Entity") for line in first)
    return "coref-conllu" if entities or named else "conll"


def _rows(first: list[str]) -> Iterator[list[str]]:
    return (line.split("\t") for line in first if not line.startswith("#"))
