"""Results files: netCDF, written whole or not at all, with a digest that is checked on opening."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import xarray as xr

from headscope.errors import ResultsError, shorten
from headscope.files import atomic_write, check_writable, uncollected, uninterrupted
from headscope.limits import RESULTS
from headscope.results.migrations import migrate, oldest

ENGINE: Literal["netcdf4"] = "netcdf4"
MARK = b"\nheadscope-sha256:"
"""Precedes the digest at the end of a file. HDF5 readers ignore what follows their own data."""
_TRAILER = len(MARK) + 64
_PACKED = {"zlib": True, "complevel": 4}
CHUNK = 1 << 20
"""Bytes that are compressed together. The netCDF library's own choice cuts every axis, and pads."""
MOST = 1 << 31
"""A chunk of HDF5 must be smaller than twice this: longer rows are left to the library."""
_MAKE = {
    "hint": "make one with hs.survey(model, corpus).save(path)",
    "command": "make one with: headscope survey MODEL CORPUS -o results.nc",
}
_HDF5 = b"\x89HDF\r\n\x1a\n"
_CLASSIC = b"CDF"
_END = {0: 40, 2: 28, 3: 28}
"""Where each version of HDF5 notes how long the whole file is."""
_COPY = {"hint": "copy it again, or run the survey again"}


def write_tree(tree: xr.DataTree, path: Path) -> Path:
    """Write a tree as one netCDF file with a digest of its bytes at the end."""
    check_writable(path, error=ResultsError)
    encoding: dict[str, Any] = {
        node.path: {str(name): _packed(array) for name, array in node.data_vars.items()}
        for node in tree.subtree
    }
    with atomic_write(path, error=ResultsError) as temporary:
        try:
            with _undisturbed():
                tree.to_netcdf(temporary, engine=ENGINE, encoding=encoding)
        except RuntimeError as error:  # what the netCDF library raises when a write fails
            raise OSError(str(error)) from None
        _append_digest(temporary)
    return path


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let xarray and the netCDF library work.

    An interrupt could leave xarray's lock taken for ever. And a file that someone has opened with
    xarray and not closed is closed when its last object is collected: if that happens while the
    same file is opened again, the netCDF library crashes.
    """
    with uninterrupted(), uncollected():
        yield


def _packed(array: xr.DataArray) -> dict[str, Any]:
    """How an array is written: in chunks that are whole along all axes but the first."""
    if not array.ndim:
        return {}
    row = array.nbytes // max(array.shape[0], 1)
    if not 0 < row < MOST:
        return _PACKED
    rows = min(max(CHUNK // row, 1), array.shape[0])
    return _PACKED | {"chunksizes": (rows, *array.shape[1:])}


def read_tree(path: Path, *, schema: int) -> xr.DataTree:
    """Open a results file and load it whole; a file of an older version is brought up to date.

    The digest is checked before the netCDF library sees the bytes, because damaged files can crash
    it. It finds damage; it does not protect against a file made to deceive. A file without a digest
    is never handed to the library.

    Parameters
    ----------
    path
        The file.
    schema
        The version of the layout that is wanted.
    """
    if not path.is_file():
        raise ResultsError(f"no such results file: {path}", **_MAKE)
    if not _check_digest(path):
        raise _without_digest(path)
    try:
        with _undisturbed(), xr.open_datatree(path, engine=ENGINE) as opened:
            _check_size(path, sum(node.nbytes for node in opened.subtree))
            tree = opened.load()
    except ResultsError:
        raise
    except (OSError, ValueError, RuntimeError, KeyError, AttributeError) as error:
        raise _unreadable(path, str(error)) from None
    _check_schema(path, tree.attrs.get("headscope_schema"), "provenance" in tree.attrs, schema)
    return migrate(tree, schema)


def _check_size(path: Path, size: int) -> None:
    """Refuse what would fill the memory."""
    if size > RESULTS.value:
        raise ResultsError(
            f"{path} would take {size / 1e9:.1f} GB of memory, more than the limit of "
            f"{RESULTS.value / 1e9:.1f} GB",
            hint=RESULTS.advice,
        )


def _check_schema(path: Path, found: object, described: bool, schema: int) -> None:
    """Refuse files of others, and those of versions that cannot be read."""
    if found is None or not described:
        raise _of_others(path)
    try:
        number = int(str(found))
    except ValueError:
        raise _unreadable(path, f"the schema must be a number, got {shorten(str(found))}") from None
    if number > schema or number < oldest(schema):
        age, advice = (
            ("a newer", "pip install --upgrade headscope")
            if number > schema
            else ("an older", "run the survey again")
        )
        raise ResultsError(
            f"{path} was written by {age} version of Headscope (schema {number}; "
            f"this version reads schema {_range(oldest(schema), schema)})",
            hint=advice,
        )


def _range(first: int, last: int) -> str:
    return str(last) if first == last else f"{first} to {last}"


def _without_digest(path: Path) -> ResultsError:
    """What is wrong with a file that has no digest.

    Its bytes tell: the netCDF library may crash on them, and a process of its own, in which it may
    crash, would import what lies in the current folder.
    """
    try:
        with path.open("rb") as file:
            begin = file.read(48)
            if not begin.startswith((_HDF5, _CLASSIC)):
                return _unreadable(path, "it does not begin as a netCDF file does")
            place = _END.get(begin[8]) if begin.startswith(_HDF5) and len(begin) == 48 else None
            if place and path.stat().st_size < int.from_bytes(begin[place : place + 8], "little"):
                return _unreadable(path, "its end is missing")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                ours = all(content.find(name) >= 0 for name in (b"headscope_schema", b"provenance"))
    except OSError as error:
        return _unreadable(path, error.strerror or str(error))
    if ours:
        return ResultsError(
            f"{path} is damaged: the digest at its end is missing (an incomplete copy?)", **_COPY
        )
    return _of_others(path)


def _of_others(path: Path) -> ResultsError:
    return ResultsError(f"{path} is a netCDF file, but was not written by Headscope", **_MAKE)


def _unreadable(path: Path, reason: str) -> ResultsError:
    return ResultsError(
        f"{path} is not a results file, or it is damaged (an incomplete copy?): {reason}", **_COPY
    )


def _append_digest(path: Path) -> None:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with path.open("ab") as file:
        file.write(MARK + digest.encode())


def _check_digest(path: Path) -> bool:
    """Compare the digest at the end of a file with its bytes; False if there is no digest."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, size - _TRAILER))
            trailer = file.read()
            if not trailer.startswith(MARK):
                return False
            file.seek(0)
            digest = hashlib.sha256()
            left = size - _TRAILER
            while left:
                chunk = file.read(min(left, 1 << 20))
                digest.update(chunk)
                left -= len(chunk)
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error.strerror or error}", **_COPY) from None
    if trailer[len(MARK) :] != digest.hexdigest().encode():
        raise ResultsError(
            f"{path} is damaged: its contents do not match the digest written with them", **_COPY
        )
    return True
