"""Limits on what is read from files, so that a small or damaged file cannot fill the memory.

Every reader of users' files goes through this module. The limits are far above what real corpora
have. Each can be raised by an environment variable, which the error names.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Never, Protocol, cast

from headscope.errors import UserError
from headscope.files import show_size

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?) ?([kMGT]?)B?", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_GZIP = b"\x1f\x8b"
_BUFFER = 1 << 17


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
        given = os.environ.get(self.variable, "").strip()
        if not given:
            return self.default
        match = _SIZE.fullmatch(given)
        size = int(float(match[1]) * _UNITS[match[2].lower()]) if match else 0
        if size < 1:
            raise UserError(
                f"{self.variable} must be a positive number such as {self.example}; "
                f"got {given[:40]!r} instead",
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
NESTING = Limit("HEADSCOPE_MAX_NESTING", 400, "600")
"""How deeply JSON values and bracketed trees may be nested. Python can recurse to about 900."""
UNPACKED = Limit("HEADSCOPE_MAX_UNPACKED", 100 * 10**9, "1TB")
"""Bytes of a compressed file once it is unpacked."""
RATIO = Limit("HEADSCOPE_MAX_RATIO", 200, "1000")
"""Unpacked bytes per compressed byte, counted after the first :data:`FREE` of them."""
MEMBER = Limit("HEADSCOPE_MAX_MEMBER", 10**9, "4GB")
"""Bytes of one file in an archive, which is held in memory while it is read."""
RECORD = Limit("HEADSCOPE_MAX_RECORD", 64_000_000, "256MB")
"""Bytes of a small file that is read whole: JSON records and tables of labels."""
ALL = (LINE, NESTING, UNPACKED, RATIO, MEMBER, RECORD)
FREE = 10_000_000
"""Unpacked bytes for which the ratio is not checked."""


class Openable(Protocol):
    """A path, or a file of an archive that can be opened like one."""

    def open(self, mode: str) -> Any:
        """The bytes of the file."""


def open_bytes(
    path: Openable, *, packed: bool | None = None, error: type[UserError] = UserError
) -> BinaryIO:
    """Open a file, gzipped or not; what unpacks to too much is an error while it is read.

    Parameters
    ----------
    path
        The file.
    packed
        Whether the file is gzipped; None looks at its first bytes.
    error
        The class of the error.

    Raises
    ------
    UserError
        While reading, if the file unpacks to more than :data:`UNPACKED` allows, or to more than
        :data:`RATIO` times its size.
    OSError, EOFError, zlib.error
        If the file cannot be read, or is not a complete gzip file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.gz"
    >>> _ = path.write_bytes(gzip.compress(b"One."))
    >>> with open_bytes(path) as file:
    ...     file.read()
    b'One.'
    """
    file = cast(BinaryIO, path.open("rb"))
    if packed is None:
        packed = file.read(2) == _GZIP
        file.seek(0)
    if not packed:
        return file
    return io.BufferedReader(_Unpacked(file, str(path), error), _BUFFER)


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a gzip file, counted as they are read."""

    def __init__(self, file: BinaryIO, name: str, error: type[UserError]) -> None:
        self.file, self.name, self.error = file, name, error
        self.unpacker = gzip.GzipFile(fileobj=file, mode="rb")
        self.size = 0
        self.most, self.ratio = UNPACKED.value, RATIO.value

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes, and check how many there are by now."""
        data = self.unpacker.read1(len(buffer))
        buffer[: len(data)] = data
        self.size += len(data)
        if self.size > self.most:
            raise self.error(
                f"{self.name} unpacks to more than {show_size(self.most)}, which is the limit",
                hint=UNPACKED.advice,
            )
        if self.size > FREE and self.size > self.ratio * self.file.tell():
            raise self.error(
                f"{self.name} unpacks to more than {self.ratio} times its size, as files do that "
                "were made to fill a memory",
                hint=RATIO.advice,
            )
        return len(data)

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self.unpacker.close()
            self.file.close()
        super().close()


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


def parse_json(
    text: str,
    where: str,
    *,
    error: type[UserError] = UserError,
    hint: str = "",
    nesting: int | None = None,
) -> Any:
    """Read a JSON value strictly.

    Parameters
    ----------
    text
        The value.
    where
        The file, or the file and line, for errors.
    error, hint
        The class of the error, and what to do if the text is not JSON.
    nesting
        How deeply it may be nested; None takes :data:`NESTING`.

    Raises
    ------
    UserError
        If the text is not JSON: NaN and Infinity are not, and a number may have up to 4300 digits;
        or if it is nested more deeply than :data:`NESTING` allows.

    Examples
    --------
    >>> parse_json('{"a": [1]}', "a.json")
    {'a': [1]}
    >>> parse_json('{"a": NaN}', "a.json")
    Traceback (most recent call last):
        ...
    headscope.errors.UserError: a.json: not JSON (NaN is not a JSON value)
    """
    nesting = NESTING.value if nesting is None else nesting
    try:
        if not _too_deep(text, nesting):
            return _STRICT.decode(text)
    except RecursionError:
        pass
    except MemoryError:
        raise error(f"{where}: there is not enough memory to read this") from None
    except ValueError as problem:
        why = "a number has too many digits" if "digits" in str(problem) else problem
        raise error(f"{where}: not JSON ({why})", hint=hint) from None
    raise error(
        f"{where}: nested more deeply than {nesting} levels, which is the limit",
        hint=NESTING.advice,
    )


def read_json(path: Path, *, error: type[UserError] = UserError, hint: str = "") -> Any:
    """Read a small JSON file; see :func:`parse_json`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    UserError
        If it cannot be read, is too large, not UTF-8 or not JSON.
    """
    return parse_json(read_text(path, error=error, hint=hint), str(path), error=error, hint=hint)


def read_text(path: Path, *, error: type[UserError] = UserError, hint: str = "") -> str:
    """Read a small UTF-8 file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    UserError
        If it cannot be read, is larger than :data:`RECORD` allows, or not UTF-8.
    """
    most = RECORD.value
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise error(f"{path} cannot be read: {reason}", hint=hint) from None
    if len(data) > most:
        raise error(
            f"{path} is larger than {show_size(most)}, which is the limit", hint=RECORD.advice
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise error(f"{path} is not valid UTF-8 (byte {problem.start + 1})", hint=hint) from None


def _refused(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON value")


_STRICT = json.JSONDecoder(parse_constant=_refused)


def _too_deep(text: str, most: int) -> bool:
    """Whether brackets outside strings are nested more deeply than this.

    >>> _too_deep('[["[[["]]', 2), _too_deep('[[["\\\\""]]]', 2)
    (False, True)
    """
    if text.count("[") + text.count("{") <= most:
        return False
    import numpy as np

    # Without escapes, a character is inside a string if an odd number of quotes is before it.
    plain = text.replace("\\\\", "").replace('\\"', "").encode("utf-8", "surrogatepass")
    signs = np.frombuffer(plain, np.uint8)
    steps = np.isin(signs, (91, 123)).astype(np.int8) - np.isin(signs, (93, 125)).astype(np.int8)
    steps[np.logical_xor.accumulate(signs == 34)] = 0
    return int(np.cumsum(steps, dtype=np.int32).max()) > most
