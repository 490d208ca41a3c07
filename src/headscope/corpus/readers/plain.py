"""Plain text: paragraphs with blank lines between them, in pairs or alone; or one text per line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from headscope.corpus.example import Example
from headscope.corpus.files import lines
from headscope.errors import CorpusError
from headscope.limits import LINE, too_long

PEEK = 1000
"""How many lines are looked at to see whether each is a sentence."""
FULL_STOPS = (".", "!", "?", "…", "。", "！", "？", "।", "۔")
CLOSING = "\"'”’»)]}"
MOST = 0.8
"""The share of lines that must end like a sentence for a file to look like one per line."""
LONGEST = 20
"""A paragraph of so many lines in a file without blank lines is reported in any case."""


def read_plain(path: Path, *, pairs: bool = True) -> Iterator[Example]:
    """Yield the paragraphs of a text, two to an example.

    A blank line ends a paragraph; the lines of one paragraph are joined by spaces. Paragraphs 1 and
    2 are the first example, 3 and 4 the second. A last one without a partner stands alone.

    Parameters
    ----------
    path : Path
        The file, gzipped or not.
    pairs : bool, default True
        False makes every paragraph an example of its own.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> _ = path.write_text("One.\\n\\nTwo,\\nstill two.\\n")
    >>> [example.texts for example in read_plain(path)]
    [('One.', 'Two, still two.')]
    """
    waiting: tuple[int, str] | None = None
    for number, paragraph in _paragraphs(path):
        if not pairs:
            yield Example(str(number), (paragraph,), source=f"{path}, line {number}")
        elif waiting is None:
            waiting = (number, paragraph)
        else:
            first, text = waiting
            yield Example(str(first), (text, paragraph), source=f"{path}, line {first}")
            waiting = None
    if waiting is not None:
        first, text = waiting
        yield Example(str(first), (text,), source=f"{path}, line {first}")


def read_lines(path: Path) -> Iterator[Example]:
    """Yield every line that is not blank as a text of its own.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> _ = path.write_text("One.\\nTwo.\\n")
    >>> [example.texts for example in read_lines(path)]
    [('One.',), ('Two.',)]
    """
    for number, line in lines(path):
        if line.strip():
            yield Example(str(number), (line.strip(),), source=f"{path}, line {number}")


def paragraph_notes(path: Path) -> tuple[str, ...]:
    """A note if a file that is read by paragraphs looks like one sentence per line."""
    joined = ended = blank = 0
    before = ""
    for _, line in islice(lines(path), PEEK):
        line = line.strip()
        if before and line:  # both lines are in one paragraph
            joined += 1
            ended += before.rstrip(CLOSING).endswith(FULL_STOPS)
        blank += not line
        before = line
    sentences = joined >= 2 and ended >= MOST * joined
    if not sentences and (blank or joined < LONGEST - 1):
        return ()
    seems = "looks like one sentence per line" if sentences else "has no blank lines"
    return (
        f"{path} {seems}, but lines without a blank line between them are read as one paragraph; "
        "lines=True (--lines on the command line) reads every line as a text",
    )


def _paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number of its first line, paragraph joined to one line)."""
    start = size = 0
    most = LINE.value
    held: list[str] = []
    for number, line in lines(path):
        size = size + len(line) if held else len(line)
        if size > most:
            raise too_long(f"{path}, line {start}", "the paragraph", error=CorpusError)
        if line.strip():
            start = start if held else number
            held.append(line.strip())
        elif held:
            yield start, " ".join(held)
            held = []
    if held:
        yield start, " ".join(held)
