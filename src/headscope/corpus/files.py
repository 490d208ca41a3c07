"""Lines and JSON values of corpus files, gzipped or not; what is not UTF-8 is an error."""

from __future__ import annotations

import gzip
import json
import lzma
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headscope.errors import CorpusError, shorten
from headscope.limits import open_bytes, parse_json, raw_lines

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
        where = f"{path}, line {number}"
        value = parse_json(line, where, error=CorpusError, hint=ONE_OBJECT)
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
