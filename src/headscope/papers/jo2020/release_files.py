"""The files that Jo and Myaeng released: read from a folder or an archive, never unpacked to disk.

Their repository has per-head scores in ``results/linear_head_wise_results/MODEL_TASK.json`` (and
``ds_linear_head_wise_results`` for downstream tasks), and a table of layers and top heads in
``examples/embedding_reconstruction.csv``.
"""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from pathlib import Path, PurePosixPath

from headscope.errors import UserError
from headscope.files import show_size
from headscope.limits import open_tar

FOLDERS = ("linear_head_wise_results", "ds_linear_head_wise_results")
TABLE = "embedding_reconstruction.csv"
ONE, ALL, MEMBERS = 8 << 20, 256 << 20, 10_000
"""The largest file, the largest archive once unpacked, and the most files of an archive.

The release has 90 files of 11 MB in all, the largest of 0.3 MB.
"""
EXPECTED = f"{FOLDERS[0]}/MODEL_TASK.json"


def release_files(source: str | Path) -> dict[str, bytes]:
    """Read the released files of a folder or a tar archive.

    Parameters
    ----------
    source
        The authors' repository or any folder that has their results in it, or a tar archive of
        one (``.tar``, ``.tar.gz``, ``.tar.bz2``, ``.tar.xz``).

    Returns
    -------
    dict
        Contents by ``FOLDER/NAME``; the table by its name alone. Other files are ignored.

    Raises
    ------
    UserError
        Nothing of the release is there; or the archive is damaged, too large, or has links or
        paths that lead out of it.
    """
    path = Path(source)
    if not path.exists():
        raise UserError(
            f"the published numbers are not there: {path} does not exist",
            hint="give the folder of the authors' repository, or a tar archive of it",
        )
    found = dict(_folder(path) if path.is_dir() else _archive(path))
    if not any(name != TABLE for name in found):
        raise UserError(
            f"{path} has none of the published results ({EXPECTED})",
            hint="give the folder of the authors' repository "
            "(github.com/heartcored98/transformer_anatomy), or a tar archive of it",
        )
    return found


def _name(path: PurePosixPath | Path) -> str:
    """What a file of the release is called here; empty for any other."""
    if path.name == TABLE:
        return TABLE
    wanted = path.suffix == ".json" and path.parent.name in FOLDERS
    return f"{path.parent.name}/{path.name}" if wanted else ""


def _folder(path: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(path.rglob("*")):
        if _name(file) and file.is_file() and not file.is_symlink():
            _check_size(file.name, file.stat().st_size)
            yield _name(file), file.read_bytes()


def _archive(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files of an archive. Sizes are checked in the headers, before anything is unpacked."""
    total = 0
    try:
        with open_tar(path) as archive:
            for number, member in enumerate(archive, 1):
                _check_member(path, member)
                total += member.size
                if number > MEMBERS or total > ALL:
                    raise UserError(
                        f"{path} is too large: more than {MEMBERS:,} files or {show_size(ALL)}",
                        hint="unpack it yourself and give the folder",
                    )
                name = _name(PurePosixPath(member.name)) if member.isfile() else ""
                data = archive.extractfile(member) if name else None
                if data is not None:
                    _check_size(member.name, member.size)
                    yield name, data.read()
    except (tarfile.TarError, OSError, EOFError, zlib.error, LZMAError) as error:
        raise UserError(
            f"{path} is not a complete tar archive ({error})",
            hint="download it again, or unpack it and give the folder",
        ) from None


def _check_member(path: Path, member: tarfile.TarInfo) -> None:
    """Refuse links, devices and paths that lead out of the archive."""
    try:
        tarfile.data_filter(member, ".")
    except tarfile.FilterError as error:
        raise UserError(f"{path} is not safe to read: {error}", hint="do not use it") from None
    if member.issym() or member.islnk():
        raise UserError(
            f"{path} is not safe to read: {member.name} is a link",
            hint="unpack it yourself and give the folder",
        )


def _check_size(name: str, size: int) -> None:
    if size > ONE:
        raise UserError(
            f"{name} is too large for published results: {show_size(size)}, "
            f"at most {show_size(ONE)}",
            hint="give the authors' own files",
        )
