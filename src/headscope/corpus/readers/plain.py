"""Plain text: paragraphs with blank lines between them, in pairs or alone; or one text per line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from headscope.corpus.example import Example
from headscope.corpus.files import lines as read_lines
from headscope.errors import CorpusError
from headscope.limits import LINE, too_long

PEEK = 1000
"""How many lines are looked at to see how a file is laid out."""
FULL_STOPS = (".", "!", "?", "…", "。", "！", "？", "।", "۔")
CLOSING = "\"'”’»)]}"
MOST = 0.8
"""The share of lines that must end like a sentence for a file to look like one per line."""
LONGEST = 20
"""With more lines than this to a blank line, blank lines do not divide a file."""
FULL, WIDEST, FIRST_WORD = 0.6, 132, 20
"""The share of lines that must leave no room for the next line's first word, for a file to look
wrapped; the widest page; and how long a first word may be."""


def read_plain(path: Path, *, lines: bool | None = None, pairs: bool = True) -> Iterator[Example]:
    """Yield the paragraphs of a text, two to an example; or its lines.

    A blank line ends a paragraph; the lines of one paragraph are joined by spaces. Paragraphs 1 and
    2 are the first example, 3 and 4 the second. A last one without a partner stands alone.

    Parameters
    ----------
    path : Path
        The file, gzipped or not.
    lines : bool, optional
        Whether every line that is not blank is a text of its own. By default, the file decides; see
        :func:`find_layout`.
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
    if lines or (lines is None and pairs and find_layout(path).lines):
        yield from _lines(path)
        return
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


class Layout(NamedTuple):
    """How a plain text is laid out.

    Parameters
    ----------
    lines : bool
        Whether every line is a text of its own.
    why : str
        What decided it; empty where blank lines divide paragraphs, or there is one line.
    sentences : bool
        Whether lines within paragraphs end like sentences.
    """

    lines: bool
    why: str
    sentences: bool


def find_layout(path: Path) -> Layout:
    """Find out whether the lines of a file are texts, or parts of paragraphs.

    Where blank lines divide a file (at least one to twenty lines), its paragraphs are texts. In a
    file without them, every line is a text, unless the file looks wrapped: most lines do not end
    like a sentence, and most are so full that the first word of the next line had no room. The
    first 1000 lines decide.

    Parameters
    ----------
    path : Path
        The file, gzipped or not.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> _ = path.write_text("A dog barks.\\nWho hears it?\\n")
    >>> find_layout(path).lines
    True
    >>> _ = path.write_text("A dog barks, and it is so\\nloud that all can hear it.\\n")
    >>> find_layout(path).lines
    False
    """
    found = [line.strip() for _, line in islice(read_lines(path), PEEK)]
    texts = [line for line in found if line]
    joined = [(one, two) for one, two in pairwise(found) if one and two]
    gaps = len(texts) - 1 - len(joined)
    ended = sum(map(_ends, texts))
    inside = sum(_ends(one) for one, _ in joined)
    sentences = len(joined) >= 2 and inside >= MOST * len(joined)
    if not joined or gaps * LONGEST >= len(texts):
        return Layout(False, "", sentences)
    blank = "it has few blank lines" if gaps else "it has no blank lines"
    if ended >= MOST * len(texts):
        return Layout(True, f"{blank} and its lines end like sentences", sentences)
    width = sorted(map(len, texts))[int(0.9 * len(texts))]
    full = sum(len(one) + 1 + min(len(two.split()[0]), FIRST_WORD) > width for one, two in joined)
    if width <= WIDEST and full >= FULL * len(joined):
        return Layout(False, f"{blank} and its lines look wrapped at {width} characters", sentences)
    return Layout(True, f"{blank} and its lines do not look wrapped", sentences)


def layout_notes(path: Path, *, lines: bool | None, pairs: bool) -> tuple[str, ...]:
    """What was decided about the lines of a file, if anything was, and how to decide otherwise.

    Parameters
    ----------
    path, lines, pairs
        As for :func:`read_plain`.
    """
    if lines is not None:
        return ()
    found = find_layout(path)
    if found.lines and pairs:
        return (
            f"{path}: {found.why}, so every line is read as a text; lines=False (--paragraphs on "
            "the command line) joins the lines between blank lines",
        )
    if found.why and pairs:
        return (
            f"{path}: {found.why}, so lines without a blank line between them are read as one "
            "paragraph; lines=True (--lines on the command line) reads every line as a text",
        )
    if not found.sentences and not found.lines:
        return ()
    return (
        f"{path} looks like one sentence per line, but lines without a blank line between them "
        "are read as one paragraph; lines=True (--lines on the command line) reads every line as "
        "a text",
    )


def _ends(line: str) -> bool:
    """Whether a line ends like a sentence."""
    return line.rstrip(CLOSING).endswith(FULL_STOPS)


def _lines(path: Path) -> Iterator[Example]:
    """Yield every line that is not blank as a text of its own."""
    for number, line in read_lines(path):
        if line.strip():
            yield Example(str(number), (line.strip(),), source=f"{path}, line {number}")


def _paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number of its first line, paragraph joined to one line)."""
    start = size = 0
    most = LINE.value
    held: list[str] = []
    for number, line in read_lines(path):
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
