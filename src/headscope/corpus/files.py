"""Opening corpus files: plain or gzip, UTF-8 or a clear error."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path

from headscope.errors import CorpusError


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end) of a UTF-8 file, gzip or not."""
    try:
        opened = gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")
        with opened as file:
            for number, raw in enumerate(file, 1):
                try:
                    text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise CorpusError(
                        f"{path}, line {number}: not valid UTF-8 (byte {error.start + 1} of the line)",
                        hint=f"convert the file, e.g. iconv -f latin1 -t utf-8 {path.name} > utf8-{path.name}",
                    ) from None
                yield number, text.rstrip("\r\n")
    except FileNotFoundError:
        raise CorpusError(f"no such corpus file: {path}", hint="give the path of a text, TSV, JSON-lines or CoNLL file, or 'demo'") from None
    except IsADirectoryError:
        raise CorpusError(f"{path} is a folder, not a corpus file", hint="give one file") from None
    except PermissionError:
        raise CorpusError(f"{path} cannot be read: permission denied", hint="check the file's permissions") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CorpusError(f"{path} is not a whole gzip file ({error})", hint="copy or download it again") from None


def checksum(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
