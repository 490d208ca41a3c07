"""Reading users' files with care: a small or damaged file must not fill the memory, or hang.

Every reader goes through this module. Three limits hold, far above what real files have: the length
of a line, what a packed file unpacks to, and the size of results. Each can be raised by an
environment variable, which the error names.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Never, Protocol, cast

from headscope.errors import UserError, cut, shorten
from headscope.files import check_regular, show_size

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?) ?([kMGT]?)B?", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@dataclass(frozen=True)
class Limit:
    """A limit that an environment variable can change.

    Parameters
    ----------
    variable
        The name of the environment variable.
    default
        The limit where the variable is not set.
    example
        A larger value, for the advice of errors.

    Examples
    --------
    >>> Limit("HEADSCOPE_MAX_LINE_OF_EXAMPLE", 1000, "2kB").value
    1000
    """

    variable: str
    default: int
    example: str

    @property
    def value(self) -> int:
        """The limit that is in force now.

        Raises
        ------
        UserError
            If the variable is not a positive number.
        """
        text = os.environ.get(self.variable, "").strip()
        if not text:
            return self.default
        match = _SIZE.fullmatch(text)
        size = int(float(match[1]) * _UNITS[match[2].lower()]) if match else 0
        if size < 1:
            raise UserError(
                f"{self.variable} must be a positive number such as {self.example}; "
                f"got {shorten(text)} instead",
                hint=f"set it to e.g. {self.example}, or unset it",
            )
        return size

    @property
    def advice(self) -> str:
        """What to do if a file is above the limit."""
        return (
            f"if the file is as it should be, raise the limit: set the environment variable "
            f"{self.variable}={self.example}"
        )


LINE = Limit("HEADSCOPE_MAX_LINE", 16_000_000, "64MB")
"""Bytes of one line, or of the lines that make up one example."""
UNPACKED = Limit("HEADSCOPE_MAX_UNPACKED", 100 * 10**9, "1TB")
"""Bytes of a packed file, or an archive, once it is unpacked."""
RESULTS = Limit("HEADSCOPE_MAX_RESULTS", 16 * 10**9, "64GB")
"""Bytes of a results file once it is unpacked: it is held in memory."""
ALL = (LINE, UNPACKED, RESULTS)
DEEPEST = 400
"""How deeply JSON values and bracketed trees may be nested. Python can recurse to about 900."""


# --- packed files, archives and lines ---

_UNPACKERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
"""What reads a packed file, by how it begins."""
_BUFFER = 1 << 17


class Openable(Protocol):
    """A path, or a file of an archive that can be opened like one."""

    def open(self, mode: str) -> Any:
        """The bytes of the file."""


def open_bytes(
    path: Openable, *, packed: bool | None = None, error: type[UserError] = UserError
) -> BinaryIO:
    """Open a file, packed or not; what unpacks to too much is an error while it is read.

    Parameters
    ----------
    path
        The file.
    packed
        Whether the file is gzipped; None looks at its first bytes, and reads bzip2 and xz, too.
    error
        The class of the error.

    Raises
    ------
    UserError
        While reading, if the file unpacks to more than :data:`UNPACKED` allows.
    OSError, EOFError, zlib.error, lzma.LZMAError
        If the file cannot be read, or is not a complete packed file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.gz"
    >>> _ = path.write_bytes(gzip.compress(b"One."))
    >>> with open_bytes(path) as file:
    ...     file.read()
    b'One.'
    """
    if isinstance(path, Path):
        check_regular(path, error=error)
    file = cast(BinaryIO, path.open("rb"))
    if packed is None:
        begins = file.read(6)
        file.seek(0)
        unpack = next((kind for mark, kind in _UNPACKERS.items() if begins.startswith(mark)), None)
    else:
        unpack = gzip.GzipFile if packed else None
    if unpack is None:
        return file
    unpacker = unpack(fileobj=file) if unpack is gzip.GzipFile else unpack(file)
    return io.BufferedReader(_Unpacked(file, unpacker, str(path), error), _BUFFER)


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a packed file, counted as they are read."""

    def __init__(self, file: BinaryIO, unpacker: Any, name: str, error: type[UserError]) -> None:
        self.file, self.unpacker, self.name, self.error = file, unpacker, name, error
        self.size, self.most = 0, UNPACKED.value

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.unpacker.read1(len(buffer))
        buffer[: len(data)] = data
        self.size += len(data)
        if self.size > self.most:
            raise self.error(
                f"{self.name} unpacks to more than {show_size(self.most)}, which is the limit",
                hint=UNPACKED.advice,
            )
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self.unpacker.close()
            self.file.close()
        super().close()


@contextmanager
def open_tar(path: Path, *, error: type[UserError] = UserError) -> Iterator[tarfile.TarFile]:
    """Open a tar archive, packed or not, to be read once from start to end.

    What it unpacks to is limited as in :func:`open_bytes`.

    Raises
    ------
    tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError
        If it is not a complete archive.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.tar"
    >>> with tarfile.open(path, "w") as archive:
    ...     archive.addfile(tarfile.TarInfo("a.txt"))
    >>> with open_tar(path) as archive:
    ...     [member.name for member in archive]
    ['a.txt']
    """
    try:
        with (
            open_bytes(path, error=error) as file,
            tarfile.open(fileobj=file, mode="r|") as archive,
        ):
            yield archive
    except RecursionError:  # tarfile reads a header that belongs to a header within the first
        raise tarfile.ReadError("too many headers for one file") from None


def raw_lines(
    file: BinaryIO, name: object, *, error: type[UserError] = UserError
) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line with its end) of an open file.

    Raises
    ------
    UserError
        If a line is longer than :data:`LINE` allows. No more than that is read.

    Examples
    --------
    >>> list(raw_lines(io.BytesIO(b"One.\\nTwo."), "a.txt"))
    [(1, b'One.\\n'), (2, b'Two.')]
    """
    most, number = LINE.value, 0
    while line := file.readline(most + 1):
        number += 1
        if len(line) > most:
            raise too_long(f"{name}, line {number}", "the line", error=error)
        yield number, line


def too_long(where: str, what: str, *, error: type[UserError] = UserError) -> UserError:
    """The error for a line, or the lines of an example, that are longer than :data:`LINE` allows.

    >>> print(too_long("a.txt, line 1", "the line").message)
    a.txt, line 1: the line is longer than 16.0 MB, which is the limit
    """
    return error(
        f"{where}: {what} is longer than {show_size(LINE.value)}, which is the limit",
        hint=LINE.advice,
    )


# --- JSON as the standard has it, and small files that are read whole ---


def parse_json(text: str, where: str, *, error: type[UserError] = UserError, hint: str = "") -> Any:
    """Read a JSON value strictly.

    Parameters
    ----------
    text
        The value.
    where
        The file, or the file and line, for errors.
    error, hint
        The class of the error, and what to do if the text is not JSON.

    Raises
    ------
    UserError
        If the text is not JSON: NaN and Infinity are not, and a number may have up to 4300 digits;
        or if it is nested more deeply than :data:`DEEPEST` levels.

    Examples
    --------
    >>> parse_json('{"a": [1]}', "a.json")
    {'a': [1]}
    >>> parse_json('{"a": NaN}', "a.json")
    Traceback (most recent call last):
        ...
    headscope.errors.UserError: a.json: not JSON (NaN is not a JSON value)
    """
    try:
        value = _STRICT.decode(text)
        if text.count("[") + text.count("{") <= DEEPEST or _depth(value) <= DEEPEST:
            return value
    except RecursionError:
        pass
    except MemoryError:
        raise error(f"{where}: there is not enough memory to read this") from None
    except ValueError as problem:
        why = "a number has too many digits" if "digits" in str(problem) else problem
        raise error(f"{where}: not JSON ({cut(str(why), 300)})", hint=hint) from None
    raise error(f"{where}: nested more deeply than {DEEPEST} levels, which is the limit", hint=hint)


def read_json(path: Path, *, error: type[UserError] = UserError, hint: str = "") -> Any:
    """Read a small JSON file; see :func:`read_text` and :func:`parse_json`."""
    return parse_json(read_text(path, error=error, hint=hint), str(path), error=error, hint=hint)


def read_text(path: Path, *, error: type[UserError] = UserError, hint: str = "") -> str:
    """Read a small UTF-8 file whole.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    UserError
        If it cannot be read, or is not UTF-8.
    """
    try:
        check_regular(path, error=error)
        return path.read_bytes().decode("utf-8")
    except (FileNotFoundError, UserError):
        raise
    except UnicodeDecodeError as problem:
        raise error(f"{path} is not valid UTF-8 (byte {problem.start + 1})", hint=hint) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise error(f"{path} cannot be read: {reason}", hint=hint) from None


def _refused(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON value")


_STRICT = json.JSONDecoder(parse_constant=_refused)


def _depth(value: Any) -> int:
    """How deeply lists and objects are nested.

    >>> _depth([{"a": []}]), _depth("[[")
    (3, 0)
    """
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, list | dict)]:
        depth += 1
        level = [
            inner for item in level for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return depth
