"""Opening corpus files: plain or gzip, UTF-8 or a clear error."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headscope.errors import CorpusError

BOM = "\ufeff"
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def zipped(path: Path) -> bool:
    """Whether a file's name says that it is gzip."""
    return path.suffix.lower() == ".gz"


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end) of a UTF-8 file, gzip or not."""
    try:
        with gzip.open(path, "rb") if zipped(path) else path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                try:
                    text = raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    convert = (
                        "zcat {0} | iconv -f latin1 -t utf-8 | gzip > utf8-{0}"
                        if zipped(path)
                        else "iconv -f latin1 -t utf-8 {0} > utf8-{0}"
                    )
                    raise CorpusError(
                        f"{path}, line {number}: not valid UTF-8 (byte {error.start + 1} of the line)",
                        hint=f"convert the file, e.g. {convert.format(path.name)}",
                    ) from None
                yield number, text.removeprefix(BOM if number == 1 else "").rstrip("\r\n")
    except (FileNotFoundError, NotADirectoryError):
        raise CorpusError(
            f"no such corpus file: {path}",
            hint="give the path of a text, TSV, CSV, JSON-lines or CoNLL file, or 'demo'",
        ) from None
    except IsADirectoryError:
        raise CorpusError(f"{path} is a folder, not a corpus file", hint="give one file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CorpusError(
            f"{path} is not a whole gzip file ({error})", hint="copy or download it again"
        ) from None
    except OSError as error:
        raise CorpusError(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}",
            hint="check the path and the file's permissions",
        ) from None


def json_values(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line number from 1, value) of a file with one JSON value a line; blank lines are passed over."""
    for number, line in lines(path):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise CorpusError(
                f"{path}, line {number}: not JSON ({error})",
                hint="every line must be one JSON object; use .txt for plain text",
            ) from None
        if SURROGATE.search(line) and not _encodable(value):
            raise CorpusError(
                f"{path}, line {number}: half of a surrogate pair (\\ud800 … \\udfff), which is no character",
                hint="write the character itself, or both halves of the pair",
            )
        yield number, value


def _encodable(value: Any) -> bool:
    """Whether all characters of a JSON value are real ones."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
