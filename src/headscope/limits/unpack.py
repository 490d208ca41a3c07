"""Opening files and archives whose unpacked bytes are counted as they are read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self, cast

from headscope.errors import UserError
from headscope.files import check_regular, show_size
from headscope.limits.limit import FREE, LINE, RATIO, UNPACKED

_GZIP, _BZIP2, _XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0"
_BUFFER = 1 << 17
_LARGEST_HEADER = 1 << 16
"""Bytes of a name or of further fields. They are held in memory, maybe hundreds one in another."""
_LARGEST_DICTIONARY = 1 << 28
"""Bytes of memory that unpacking xz may take; its strongest preset takes a quarter of this."""


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
        While reading, if the file unpacks to more than :data:`UNPACKED` allows, or to more than
        :data:`RATIO` times its size.
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
    begins = _GZIP if packed else b""
    if packed is None:
        begins = file.read(6)
        file.seek(0)
    unpacker: Any
    if begins.startswith(_GZIP):
        unpacker = gzip.GzipFile(fileobj=file, mode="rb")
    elif begins.startswith(_BZIP2):
        unpacker = bz2.BZ2File(file)
    elif begins.startswith(_XZ):
        unpacker = _Xz(file)
    else:
        return file
    return io.BufferedReader(_Unpacked(file, unpacker, str(path), error), _BUFFER)


class _Xz:
    """The unpacked bytes of an xz file, which may have several streams.

    :class:`lzma.LZMAFile` would allocate whatever dictionary the file asks for.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.stream = file, self._new()

    def _new(self) -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LARGEST_DICTIONARY)

    def read1(self, size: int) -> bytes:
        """The next bytes, at most so many; none at the end."""
        data = b""
        while not data:
            packed = b""
            if self.stream.eof:
                packed = self.stream.unused_data.lstrip(b"\0") or self.file.read(_BUFFER)
                if not packed:
                    return b""
                self.stream = self._new()
            elif self.stream.needs_input:
                packed = self.file.read(_BUFFER)
                if not packed:
                    raise EOFError("the end of the xz file is missing")
            data = self.stream.decompress(packed, size)
        return data

    def close(self) -> None:
        """Nothing is left open but the file."""


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a packed file, counted as they are read."""

    def __init__(self, file: BinaryIO, unpacker: Any, name: str, error: type[UserError]) -> None:
        self.file, self.unpacker, self.name, self.error = file, unpacker, name, error
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


@contextmanager
def open_tar(path: Path, *, error: type[UserError] = UserError) -> Iterator[tarfile.TarFile]:
    """Open a tar archive, packed or not, to be read once from start to end.

    What it unpacks to is limited as in :func:`open_bytes`, and the names and further fields of its
    files, which tarfile holds in memory, may have 64 kB.

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
            tarfile.open(fileobj=file, mode="r|", tarinfo=_Member) as archive,
        ):
            yield archive
    except RecursionError:  # tarfile reads a header that belongs to a header within the first
        raise tarfile.ReadError("too many headers for one file") from None


class _Member(tarfile.TarInfo):
    """A file in an archive, whose header is not too large."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Read the first block of a header; long names and further fields come after it."""
        found = super().frombuf(buf, encoding, errors)
        names = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
        fields = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
        if found.size < 0 or (found.type in (*names, *fields) and found.size > _LARGEST_HEADER):
            raise tarfile.ReadError("a header of an impossible size")
        if found.type == tarfile.GNUTYPE_SPARSE:
            raise found._sparse()
        return found

    def _proc_gnusparse_10(self, *_: object) -> None:
        """Called by tarfile for the list of the parts of a sparse file, which may be endless."""
        raise self._sparse()

    def _sparse(self) -> tarfile.ReadError:
        return tarfile.ReadError("a sparse file, which is not read")
