"""Text files: their lines, gzipped or not, JSON values in them, folders of them, and plain text.

What is not UTF-8 is an error, as is what is larger than :mod:`headscope.limits` allows.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

from headscope.corpus.example import Example
from headscope.errors import CorpusError, shorten
from headscope.files import checksum
from headscope.limits import LINE, open_bytes, open_tar, parse_json, raw_lines, too_long

# --- lines and JSON values ---

BOM = "\ufeff"
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError)
ONE_OBJECT = "every line must be one JSON object; use .txt for plain text"


def zipped(path: Path) -> bool:
    """Whether a file's name says that it is gzipped.

    >>> zipped(Path("dev.tsv.gz")), zipped(Path("dev.tsv"))
    (True, False)
    """
    return path.suffix.lower() == ".gz"


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end) of a UTF-8 file, gzipped or not.

    Raises
    ------
    CorpusError
        If the file is missing, cannot be read, is larger than :mod:`headscope.limits` allows, or
        has a line that is too long or not UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> _ = path.write_text("One.\\nTwo.\\n")
    >>> list(lines(path))
    [(1, 'One.'), (2, 'Two.')]
    """
    if "\0" in str(path):
        raise CorpusError(
            f"the path {shorten(str(path))} has a null character, which no file name has",
            hint="give the path of a file",
        )
    try:
        with open_bytes(path, packed=zipped(path), error=CorpusError) as file:
            for number, raw in raw_lines(file, path, error=CorpusError):
                text = _decoded(raw, path, number)
                yield number, text.removeprefix(BOM if number == 1 else "").rstrip("\r\n")
    except (FileNotFoundError, NotADirectoryError):
        raise CorpusError(
            f"no such corpus file: {path}",
            hint="give the path of a text, TSV, CSV, JSON-lines or CoNLL file, or 'demo'",
        ) from None
    except IsADirectoryError:
        raise CorpusError(f"{path} is a folder, not a corpus file", hint="give one file") from None
    except DAMAGED as error:
        raise CorpusError(
            f"{path} is not a complete gzip file ({error})", hint="copy or download it again"
        ) from None
    except OSError as error:
        raise unreadable(path, error) from None
    except MemoryError:
        raise CorpusError(
            f"there is not enough memory to read {path}",
            hint="close other programs, or read a smaller file",
        ) from None


def unreadable(path: Path, error: OSError) -> CorpusError:
    """The error for a file that the system refuses to read."""
    return CorpusError(
        f"{path} cannot be read: {(error.strerror or str(error)).lower()}",
        hint="check the path and the file's permissions",
    )


def json_values(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line number from 1, value) of a file with one JSON value per line; skip blank lines.

    Raises
    ------
    CorpusError
        If a line is not JSON, is nested too deeply, or has half of a surrogate pair.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.jsonl"
    >>> _ = path.write_text('{"a": 1}\\n\\n[2]\\n')
    >>> list(json_values(path))
    [(1, {'a': 1}), (3, [2])]
    """
    for number, line in lines(path):
        if not line.strip():
            continue
        value = parse_json(line, f"{path}, line {number}", error=CorpusError, hint=ONE_OBJECT)
        if SURROGATE.search(line) and not _encodable(value):
            raise CorpusError(
                f"{path}, line {number}: half of a surrogate pair (\\ud800 to \\udfff), which is "
                "not a character",
                hint="write the character itself, or both halves of the pair",
            )
        yield number, value


def _decoded(raw: bytes, path: Path, number: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        name = path.name
        convert = f"iconv -f latin1 -t utf-8 {name} > utf8-{name}"
        if zipped(path):
            convert = f"zcat {name} | iconv -f latin1 -t utf-8 | gzip > utf8-{name}"
        raise CorpusError(
            f"{path}, line {number}: not valid UTF-8 (byte {error.start + 1} of the line)",
            hint=f"convert the file, e.g. {convert}",
        ) from None


def _encodable(value: Any) -> bool:
    """Whether all characters of a JSON value are real ones."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


# --- folders and archives ---

ARCHIVES = (".tar.gz", ".tgz", ".tar")


class ArchiveMember:
    """A file in an archive, which can be opened like a path.

    It is held in memory while it is read, because archives cannot be read at random.
    """

    suffix = ""

    def __init__(self, archive: Path, name: str, data: bytes) -> None:
        self.archive, self.path, self.data = archive, name, data
        self.name = Path(name).name

    def open(self, mode: str = "rb") -> io.BytesIO:
        """The bytes of the file."""
        return io.BytesIO(self.data)

    def __str__(self) -> str:
        return f"{self.archive}/{self.path}"


def is_collection(path: Path) -> bool:
    """Whether a path is a folder or a tar archive, rather than one file.

    >>> is_collection(Path("gum.tar.gz")), is_collection(Path("gum.conllu"))
    (True, False)
    """
    return path.is_dir() or path.name.lower().endswith(ARCHIVES)


def files_in(path: Path, endings: Sequence[str]) -> Iterator[Path]:
    """Yield the files of a corpus.

    Parameters
    ----------
    path : Path
        A file, which is yielded itself; a folder, whose files are sorted by name; or a tar
        archive, whose files keep their order.
    endings : sequence of str
        The endings of the files to read; in a folder, ``.gz`` may follow.

    Raises
    ------
    CorpusError
        If there is no such file, or the archive is damaged.
    """
    if not is_collection(path) or not path.exists():
        yield path
        return
    empty = True
    for file in _folder(path, endings) if path.is_dir() else _archive(path, endings):
        empty = False
        yield file
    if empty:
        raise CorpusError(
            f"{path} has no files that end in {', '.join(endings)}",
            hint="give the folder or archive that holds them, or one file",
        )


def has_files(path: Path, endings: Sequence[str]) -> bool:
    """Whether a path is a folder that has files with these endings; ``.gz`` may follow."""
    try:
        return path.is_dir() and bool(_folder(path, endings))
    except OSError:  # a name that is too long, or a folder that may not be read
        return False


def fingerprint(path: Path, endings: Sequence[str] = ()) -> str:
    """The SHA-256 of a file's bytes; of a folder, that of its files' names and checksums."""
    if not path.is_dir():
        return checksum(path)
    files = [f"{file.relative_to(path)} {checksum(file)}\n" for file in _folder(path, endings)]
    return hashlib.sha256("".join(files).encode()).hexdigest()


def _fits(name: str, endings: Sequence[str]) -> bool:
    return name.lower().endswith(tuple(endings)) and not name.startswith(".")


def _folder(path: Path, endings: Sequence[str]) -> list[Path]:
    return sorted(
        file
        for file in path.rglob("*")
        if file.is_file() and _fits(file.name.removesuffix(".gz"), endings)
    )


def _archive(path: Path, endings: Sequence[str]) -> Iterator[Path]:
    try:
        with open_tar(path, error=CorpusError) as archive:
            for member in archive:
                if not member.isfile() or not _fits(Path(member.name).name, endings):
                    continue
                data = archive.extractfile(member)
                if data is not None:
                    yield cast(Path, ArchiveMember(path, member.name, data.read()))
    except (tarfile.TarError, *DAMAGED) as error:
        raise CorpusError(
            f"{path} is not a complete tar archive ({error})", hint="copy or download it again"
        ) from None
    except OSError as error:
        raise unreadable(path, error) from None


# --- plain text ---

PEEK = 1000
"""How many lines are looked at to see how a file is laid out."""
FULL_STOPS = (".", "!", "?", "…", "。", "！", "？", "।", "۔")
CLOSING = "\"'”’»)]}"
ENDED = 0.8
"""The share of lines that must end like a sentence for a file to look like one per line."""
GAP = 20
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
        :func:`line_layout`.
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
    if lines or (lines is None and pairs and line_layout(path).lines):
        yield from _line_examples(path)
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


class Lines(NamedTuple):
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


def line_layout(path: Path) -> Lines:
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
    >>> line_layout(path).lines
    True
    >>> _ = path.write_text("A dog barks, and it is so\\nloud that all can hear it.\\n")
    >>> line_layout(path).lines
    False
    """
    stripped = [line.strip() for _, line in islice(lines(path), PEEK)]
    texts = [line for line in stripped if line]
    joined = [(one, two) for one, two in pairwise(stripped) if one and two]
    gaps = len(texts) - 1 - len(joined)
    ended = sum(map(_ends, texts))
    inside = sum(_ends(one) for one, _ in joined)
    sentences = len(joined) >= 2 and inside >= ENDED * len(joined)
    if not joined or gaps * GAP >= len(texts):
        return Lines(False, "", sentences)
    blank = "it has few blank lines" if gaps else "it has no blank lines"
    if ended >= ENDED * len(texts):
        return Lines(True, f"{blank} and its lines end like sentences", sentences)
    width = sorted(map(len, texts))[int(0.9 * len(texts))]
    full = sum(len(one) + 1 + min(len(two.split()[0]), FIRST_WORD) > width for one, two in joined)
    if width <= WIDEST and full >= FULL * len(joined):
        return Lines(False, f"{blank} and its lines look wrapped at {width} characters", sentences)
    return Lines(True, f"{blank} and its lines do not look wrapped", sentences)


def layout_notes(path: Path, *, lines: bool | None, pairs: bool) -> tuple[str, ...]:
    """What was decided about the lines of a file, if anything was, and how to decide otherwise.

    Parameters
    ----------
    path, lines, pairs
        As for :func:`read_plain`.
    """
    if lines is not None:
        return ()
    layout = line_layout(path)
    if layout.lines and pairs:
        return (
            f"{path}: {layout.why}, so every line is read as a text; lines=False (--paragraphs on "
            "the command line) joins the lines between blank lines",
        )
    if layout.why and pairs:
        return (
            f"{path}: {layout.why}, so lines without a blank line between them are read as one "
            "paragraph; lines=True (--lines on the command line) reads every line as a text",
        )
    if not layout.sentences and not layout.lines:
        return ()
    return (
        f"{path} looks like one sentence per line, but lines without a blank line between them "
        "are read as one paragraph; lines=True (--lines on the command line) reads every line as "
        "a text",
    )


def _ends(line: str) -> bool:
    """Whether a line ends like a sentence."""
    return line.rstrip(CLOSING).endswith(FULL_STOPS)


def _line_examples(path: Path) -> Iterator[Example]:
    """Yield every line that is not blank as a text of its own."""
    for number, line in lines(path):
        if line.strip():
            yield Example(str(number), (line.strip(),), source=f"{path}, line {number}")


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
