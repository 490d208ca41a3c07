"""Results files: netCDF, written whole or not at all, with a digest that is checked on opening."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

import xarray as xr

from headscope.errors import ResultsError
from headscope.files import atomic_write, check_writable

ENGINE: Literal["netcdf4"] = "netcdf4"
MARK = b"\nheadscope-sha256:"
"""Precedes the digest at the end of a file. HDF5 readers ignore what follows their own data."""
_TRAILER = len(MARK) + 64
_PACKED = {"zlib": True, "complevel": 4}
_MAKE = {
    "hint": "make one with hs.survey(model, corpus).save(path)",
    "command": "make one with: headscope survey MODEL CORPUS -o results.nc",
}
_COPY = {"hint": "copy it again, or run the survey again"}


def write_tree(tree: xr.DataTree, path: Path) -> Path:
    """Write a tree as one netCDF file with a digest of its bytes at the end."""
    check_writable(path, error=ResultsError)
    encoding: dict[str, Any] = {
        node.path: {str(name): _PACKED for name, array in node.data_vars.items() if array.ndim}
        for node in tree.subtree
    }
    with atomic_write(path, error=ResultsError) as temporary:
        try:
            tree.to_netcdf(temporary, engine=ENGINE, encoding=encoding)
        except RuntimeError as error:  # what the netCDF library raises when a write fails
            raise OSError(str(error)) from None
        _append_digest(temporary)
    return path


def read_tree(path: Path, *, schema: int) -> xr.DataTree:
    """Open a results file and load it whole.

    The digest is checked before the netCDF library sees the bytes. It finds damage; it does not
    protect against a file made to deceive.
    """
    if not path.is_file():
        raise ResultsError(f"no such results file: {path}", **_MAKE)
    checked = _check_digest(path)
    try:
        with xr.open_datatree(path, engine=ENGINE) as opened:
            tree = opened.load()
    except (OSError, ValueError, RuntimeError, KeyError, AttributeError) as error:
        raise ResultsError(
            f"{path} is not a results file, or it is damaged (an incomplete copy?): {error}",
            **_COPY,
        ) from None
    found = tree.attrs.get("headscope_schema")
    if found is None or "provenance" not in tree.attrs:
        raise ResultsError(f"{path} is a netCDF file, but was not written by Headscope", **_MAKE)
    if int(found) != schema:
        age, advice = (
            ("a newer", "pip install --upgrade headscope")
            if int(found) > schema
            else ("an older", "run the survey again")
        )
        raise ResultsError(
            f"{path} was written by {age} version of Headscope (schema {int(found)}; "
            f"this version reads schema {schema})",
            hint=advice,
        )
    if not checked:
        raise ResultsError(
            f"{path} is damaged: the digest at its end is missing (an incomplete copy?)", **_COPY
        )
    return tree


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
