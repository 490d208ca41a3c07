"""Reading and writing results files: whole or not at all, and never a foreign or damaged one."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any, Literal

import xarray as xr

from headscope.errors import ResultsError

ENGINE: Literal["netcdf4"] = "netcdf4"
_PACKED = {"zlib": True, "complevel": 4}


def check_writable(path: Path) -> None:
    """Fail now, before hours of work, if a file cannot be written here."""
    folder = path.resolve().parent
    if path.is_dir():
        raise ResultsError(
            f"{path} is a folder, not a file that can be written",
            hint="give a file name, e.g. -o results.nc",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError("the file is write-protected")
    except (FileExistsError, NotADirectoryError):
        wrong = next((place for place in (folder, *folder.parents) if place.is_file()), folder)
        raise ResultsError(
            f"{path} cannot be written: {wrong} is a file, not a folder",
            hint="give another place with -o",
        ) from None
    except OSError as error:
        raise ResultsError(
            f"{path} cannot be written: {error.strerror or error}",
            hint="give another place with -o",
        ) from None


def write_tree(tree: xr.DataTree, path: Path) -> Path:
    """Write beside the target, then put in place in one step."""
    check_writable(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    encoding: dict[str, Any] = {
        node.path: {str(name): _PACKED for name, array in node.data_vars.items() if array.ndim}
        for node in tree.subtree
    }
    try:
        tree.to_netcdf(temporary, engine=ENGINE, encoding=encoding)
        temporary.replace(path)
    except (OSError, RuntimeError) as error:  # netCDF's own errors are of the second kind
        raise ResultsError(
            f"{path} cannot be written: {getattr(error, 'strerror', None) or error}",
            hint="is the disk full? Give another place with -o",
        ) from None
    finally:
        temporary.unlink(missing_ok=True)
    return path


def read_tree(path: Path, *, schema: int) -> xr.DataTree:
    """Open a results file and load it whole."""
    if not path.is_file():
        raise ResultsError(
            f"no such results file: {path}",
            hint="make one with: headscope survey MODEL CORPUS -o results.nc",
        )
    try:
        with xr.open_datatree(path, engine=ENGINE) as opened:
            tree = opened.load()
    except (OSError, ValueError, RuntimeError, KeyError, AttributeError) as error:
        raise ResultsError(
            f"{path} is not a results file, or is damaged (a truncated copy?): {error}",
            hint="copy it again, or run the survey again",
        ) from None
    found = tree.attrs.get("headscope_schema")
    if found is None or "provenance" not in tree.attrs:
        raise ResultsError(
            f"{path} is a netCDF file, but not one of Headscope's",
            hint="make one with: headscope survey MODEL CORPUS -o results.nc",
        )
    if int(found) > schema:
        raise ResultsError(
            f"{path} was written by a newer Headscope (schema {int(found)}, this one reads up to {schema})",
            hint="pip install --upgrade headscope",
        )
    return tree


def slug(name: str) -> str:
    """A short file name from a model or corpus name.

    >>> slug("../data/en_ewt-ud-dev.conllu.gz"), slug("google/bert_uncased")
    ('en_ewt-ud-dev', 'bert_uncased')
    """
    return re.sub(r"[^\w-]", "_", Path(name).name.split(".")[0]) or "results"
