"""Results files: netCDF, written whole or not at all, with a digest that is checked on opening.

Files of older versions are brought up to date one version at a time. Whoever changes the layout
(:mod:`headscope.results.schema`) raises ``SCHEMA`` by one, writes a function for :data:`STEPS` that
turns a tree of the version before into one of the new version, and keeps a small file of the
version before in ``tests/data``, so that the step is tested on a real file.
"""

from __future__ import annotations

import hashlib
import mmap
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import xarray as xr

from headscope.errors import ResultsError, shorten
from headscope.files import atomic_write, check_writable, checksum, uncollected, uninterrupted
from headscope.limits import RESULTS
from headscope.results.moments import OLDER
from headscope.results.remote import on_disk
from headscope.results.schema import SCHEMA, check_contents, unreadable

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
_COPY = {"hint": "copy it again, or run the survey again"}
_HDF5 = b"\x89HDF\r\n\x1a\n"
_CLASSIC = b"CDF"
_END = {0: 40, 2: 28, 3: 28}
"""Where each version of HDF5 notes how long the whole file is."""


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
        digest = checksum(temporary)
        with temporary.open("ab") as file:
            file.write(MARK + digest.encode())
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


def read_tree(path: str | Path) -> xr.DataTree:
    """Open a results file and load it whole; a file of an older version is brought up to date.

    An address (``https://…``) is copied to the cache first.

    The digest is checked before the netCDF library sees the bytes, because damaged files can crash
    it. It finds damage; it does not protect against a file made to deceive. A file without a digest
    is never handed to the library. What the file holds is checked when it is loaded.
    """
    with on_disk(path) as file:
        return _read(file)


def _read(path: Path) -> xr.DataTree:
    if not path.is_file():
        raise ResultsError(f"no such results file: {path}", **_MAKE)
    try:
        if not _check_digest(path):
            raise _without_digest(path)
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error.strerror or error}", **_COPY) from None
    try:
        with _undisturbed(), xr.open_datatree(path, engine=ENGINE) as opened:
            size = sum(node.nbytes for node in opened.subtree)
            if size > RESULTS.value:
                raise ResultsError(
                    f"{path} would take {size / 1e9:.1f} GB of memory, more than the limit of "
                    f"{RESULTS.value / 1e9:.1f} GB",
                    hint=RESULTS.advice,
                )
            tree = opened.load()
    except ResultsError:
        raise
    except (OSError, ValueError, RuntimeError, KeyError, AttributeError) as error:
        raise _damaged(path, str(error)) from None
    except (TypeError, OverflowError, MemoryError) as error:
        raise unreadable(path, error) from None
    _check_schema(path, tree)
    return check_contents(migrate(tree, SCHEMA), path)


def _check_digest(path: Path) -> bool:
    """Compare the digest at the end of a file with its bytes; False if there is no digest."""
    left = path.stat().st_size - _TRAILER
    with path.open("rb") as file:
        file.seek(max(0, left))
        trailer = file.read()
        if not trailer.startswith(MARK):
            return False
        file.seek(0)
        digest = hashlib.sha256()
        while left and (chunk := file.read(min(left, 1 << 20))):
            digest.update(chunk)
            left -= len(chunk)
    if trailer[len(MARK) :] != digest.hexdigest().encode():
        raise ResultsError(
            f"{path} is damaged: its contents do not match the digest written with them", **_COPY
        )
    return True


def _without_digest(path: Path) -> ResultsError:
    """What is wrong with a file that has no digest.

    Its bytes tell: the netCDF library may crash on them, and a process of its own, in which it may
    crash, would import what lies in the current folder.
    """
    with path.open("rb") as file:
        begin = file.read(48)
        if any(kind.startswith(begin) for kind in (_HDF5, _CLASSIC)):
            return _damaged(path, "there is next to nothing in it")
        if not begin.startswith((_HDF5, _CLASSIC)):
            return ResultsError(
                f"{path} is not a results file: it does not begin as a netCDF file does", **_MAKE
            )
        offset = _END.get(begin[8]) if begin.startswith(_HDF5) and len(begin) == 48 else None
        if offset and path.stat().st_size < int.from_bytes(begin[offset : offset + 8], "little"):
            return _damaged(path, "its end is missing")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            ours = all(content.find(name) >= 0 for name in (b"headscope_schema", b"provenance"))
    if ours:
        return ResultsError(
            f"{path} is damaged: the digest at its end is missing (an incomplete copy?)", **_COPY
        )
    return _of_others(path)


def _of_others(path: Path) -> ResultsError:
    return ResultsError(f"{path} is a netCDF file, but was not written by Headscope", **_MAKE)


def _damaged(path: Path, reason: str) -> ResultsError:
    return ResultsError(
        f"{path} is not a results file, or it is damaged (an incomplete copy?): {reason}", **_COPY
    )


# --- older versions ---


def older_intervals(tree: xr.DataTree) -> xr.DataTree:
    """Version 3 took the texts of a document as independent: say so beside its intervals."""
    for node in tree.subtree:
        if "sum" in node.data_vars:
            node.attrs["intervals"] = OLDER
    return tree


STEPS: dict[int, Callable[[xr.DataTree], xr.DataTree]] = {3: older_intervals}
"""What turns results of one version of the layout into results of the next, by the version that it
starts from."""


def oldest(schema: int) -> int:
    """The oldest version from which there is a way to a version.

    >>> oldest(3), oldest(4)
    (3, 3)
    """
    while schema - 1 in STEPS:
        schema -= 1
    return schema


def migrate(tree: xr.DataTree, schema: int) -> xr.DataTree:
    """Bring results of an older version up to a version of the layout. The file is not changed.

    >>> tree = xr.DataTree(xr.Dataset(attrs={"headscope_schema": 3}))
    >>> migrate(tree, 3) is tree, migrate(tree, 4).attrs["headscope_schema"]
    (True, 4)
    """
    while (version := int(tree.attrs["headscope_schema"])) < schema:
        tree = STEPS[version](tree)
        tree.attrs = {**tree.attrs, "headscope_schema": version + 1}
    return tree


def _check_schema(path: Path, tree: xr.DataTree) -> None:
    """Refuse files of others, and those of versions that cannot be read."""
    schema = tree.attrs.get("headscope_schema")
    if schema is None or "provenance" not in tree.attrs:
        raise _of_others(path)
    try:
        number, first = int(str(schema)), oldest(SCHEMA)
    except ValueError:
        raise _damaged(path, f"the schema must be a number, got {shorten(str(schema))}") from None
    if not first <= number <= SCHEMA:
        age, advice = (
            ("a newer", "pip install --upgrade headscope")
            if number > SCHEMA
            else ("an older", "run the survey again")
        )
        known = str(SCHEMA) if first == SCHEMA else f"{first} to {SCHEMA}"
        raise ResultsError(
            f"{path} was written by {age} version of Headscope (schema {number}; "
            f"this version reads schema {known})",
            hint=advice,
        )


# --- what is not written ---

_FOLDERS = re.compile(r"(?<![\w.:/\\])(?:~|[A-Za-z]:)?(?:[/\\][^/\\\s'\",;:]+)+[/\\](?=[^/\\\s])")


def without_folders(value: Any) -> Any:
    """Provenance with absolute paths cut to their last part: they may hold the names of users.

    Hub ids and relative paths are unchanged.

    >>> without_folders({"name": "/home/anna/models/bert", "hub": "google/bert"})
    {'name': 'bert', 'hub': 'google/bert'}
    >>> without_folders(["/tmp/a b.txt", "C:\\\\Users\\\\anna\\\\c.txt", "../data/x.tsv", 3])
    ['a b.txt', 'c.txt', '../data/x.tsv', 3]
    """
    if isinstance(value, str):
        return _FOLDERS.sub("", value) if "/" in value or "\\" in value else value
    if isinstance(value, dict):
        return {without_folders(key): without_folders(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_folders(item) for item in value]
    return value
