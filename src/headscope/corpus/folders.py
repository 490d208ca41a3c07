"""Corpora of many files: a folder, or a tar archive."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from headscope.corpus.files import DAMAGED, unreadable
from headscope.errors import CorpusError
from headscope.files import checksum
from headscope.limits import open_tar

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
    found = False
    for file in _folder(path, endings) if path.is_dir() else _archive(path, endings):
        found = True
        yield file
    if not found:
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
