"""Digests inside the files that Headscope writes, checked when they are read again.

A seal finds damage: a flipped bit, a block of zeros, half a copy. It does not stop anybody who
changes a file on purpose, because whoever can write the file can write a new digest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.files import checksum, digest_of, write_bytes, write_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIGEST = "digest"
"""The key of a digest, in JSON objects and in the metadata of tensors."""
FILES = "headscope-files.json"
"""The digests of a folder's files, beside them."""
CHANGED = "its contents do not match the digest written with them"


class Damaged(ValueError):
    """The contents of a file do not match its digest."""


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with a digest of its contents.

    Examples
    --------
    >>> unsealed(json.loads(json.dumps(sealed({"seed": 0}))))
    {'seed': 0}
    """
    return {**values, DIGEST: _json_digest(values)}


def unsealed(values: Mapping[str, Any], *, required: bool = False) -> dict[str, Any]:
    """The contents of a sealed JSON object.

    Parameters
    ----------
    values
        What :func:`sealed` returned.
    required
        Whether an object without a digest is damaged, or just older than digests.

    Raises
    ------
    Damaged
        If the contents have changed.

    Examples
    --------
    >>> unsealed(sealed({"seed": 0}) | {"seed": 1})
    Traceback (most recent call last):
    headscope.seals.Damaged: its contents do not match the digest written with them
    """
    if not isinstance(values, Mapping):
        raise Damaged("it does not hold a JSON object")
    contents = {key: value for key, value in values.items() if key != DIGEST}
    if DIGEST not in values and not required:
        return contents
    if values.get(DIGEST) != _json_digest(contents):
        raise Damaged(CHANGED)
    return contents


def write_tensors(
    path: Path, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> Path:
    """Write arrays as a safetensors file with a digest, whole or not at all."""
    import numpy as np
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    meta = {**(metadata or {}), DIGEST: tensor_digest(arrays)}
    return write_bytes(path, save(arrays, metadata=meta))


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a safetensors file, and check them against its digest if it has one.

    Raises
    ------
    Damaged
        If the arrays have changed.
    SafetensorError
        If the file is something else, or not complete.
    """
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        meta = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if meta.get(DIGEST, "") and meta[DIGEST] != tensor_digest(tensors):
        raise Damaged(CHANGED)
    return tensors


def tensor_digest(tensors: Mapping[str, NDArray[Any]]) -> str:
    """A digest of arrays: names, types, shapes and contents.

    Examples
    --------
    >>> import numpy as np
    >>> zeros = tensor_digest({"a": np.zeros(4)})
    >>> zeros == tensor_digest({"a": np.zeros((2, 2))}), zeros == tensor_digest({"b": np.zeros(4)})
    (False, False)
    """
    import numpy as np

    parts: list[str | bytes] = []
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        parts += [f"{name} {array.dtype} {array.shape}", array.tobytes()]
    return digest_of(*parts)


def seal_folder(folder: Path) -> None:
    """Write the digests of a folder's files beside them, once all of them are on the disk.

    Parameters
    ----------
    folder
        A folder that another library filled. Folders inside it and hidden files are left out.

    See Also
    --------
    folder_damage : Check them.
    """
    files = sorted(
        file
        for file in folder.iterdir()
        if file.is_file() and file.name != FILES and not file.name.startswith(".")
    )
    digests = {}
    for file in files:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
        digests[file.name] = checksum(file)
    write_text(folder / FILES, json.dumps(sealed({"files": digests}), indent=1) + "\n")


def folder_damage(folder: Path) -> str:
    """What is wrong with a sealed folder, in words; nothing if all files are as they were written.

    Parameters
    ----------
    folder
        A folder. Nothing is wrong with one that was never sealed.
    """
    if not (folder / FILES).is_file():
        return ""
    try:
        found = json.loads((folder / FILES).read_text(encoding="utf-8"))
        digests = unsealed(found, required=True)["files"]
    except (OSError, ValueError, KeyError, RecursionError) as error:
        return f"{FILES} cannot be used ({error})"
    for name, digest in digests.items():
        try:
            if checksum(folder / name) != digest:
                return f"{name} has changed since it was written"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror or error})"
    return ""


def _json_digest(values: Mapping[str, Any]) -> str:
    # As it will be read: keys are strings, and tuples are lists.
    return digest_of(json.dumps(json.loads(json.dumps(values)), sort_keys=True))
