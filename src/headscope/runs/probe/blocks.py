"""Blocks of vectors on disk: safetensors files in half precision, with digests of their contents.

Each number is stored as its distance from its mean over the block, divided by a power of two, so
that the largest distance lies between half of ``LARGEST`` and ``LARGEST``. Nothing overflows, and
vectors that hardly change from text to text keep their digits (``electra-mini``: 0.00003 around
1.26, which half precision alone would round away).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from headscope.errors import UserError
from headscope.files import digest_of, write_bytes

FORMAT = 5
LARGEST = 32768.0
WHOLE, CUT, EMPTY = 0, 1, 2
"""State of a text: read in full; truncated; without any token, and so without vectors."""
DIGEST = 16
"""Bytes that identify a text in its block."""
DIGESTS = "digests"
WITHOUT_LAYERS = ("texts", "state")
CHANGED = "its contents have changed since it was written"
PATTERN = "block-*.safetensors"

Texts = tuple[str, ...]
"""One input: a text, or a pair of texts."""


def text_digest(text: Texts) -> bytes:
    """The bytes that identify a text.

    Examples
    --------
    >>> len(text_digest(("A dog barks.",)))
    16
    """
    return hashlib.sha256(repr(text).encode("utf-8", "surrogatepass")).digest()[:DIGEST]


def block_path(folder: Path, texts: Sequence[Texts]) -> Path:
    """Where the block of some texts is kept: its name follows from them and from their order."""
    name = hashlib.sha256(b"".join(map(text_digest, texts))).hexdigest()[:DIGEST]
    return folder / PATTERN.replace("*", name)


def write_block(
    folder: Path,
    texts: Sequence[Texts],
    state: NDArray[np.uint8],
    vectors: Mapping[str, NDArray[np.float32]],
) -> Path:
    """Write the vectors of some texts.

    Parameters
    ----------
    folder
        Where to write. The name of the file follows from the texts.
    texts
        The texts, (row,).
    state
        ``WHOLE``, ``CUT`` or ``EMPTY``, (row,).
    vectors
        Arrays by name, (layer, row, ...); overwritten.

    Returns
    -------
    Path
        The new file.
    """
    digests = [text_digest(text) for text in texts]
    tensors: dict[str, NDArray[Any]] = {
        "texts": np.frombuffer(b"".join(digests), np.uint8).reshape(len(texts), DIGEST),
        "state": state,
    }
    for name, values in vectors.items():
        mean = values.mean(1)
        values -= mean[:, None]
        farthest = np.abs(values).max(1)
        exponent = np.ceil(np.log2(np.where(farthest > 0, farthest, LARGEST) / LARGEST))
        scale = np.exp2(exponent).astype(np.float32)
        tensors[name] = (values / scale[:, None]).astype(np.float16)
        tensors[f"{name}_scale"], tensors[f"{name}_mean"] = scale, mean
    data = save(tensors, metadata={DIGESTS: json.dumps(_content_digests(tensors))})
    try:
        return write_bytes(block_path(folder, texts), data)
    except UserError as error:
        raise UserError(
            error.message, hint="free some disk space, then run it again: finished blocks are kept"
        ) from None


def read_vectors(path: Path, name: str, layer: int) -> NDArray[np.float32]:
    """The vectors of one layer of a block, (row, ...)."""
    values = read_tensor(path, name, layer).astype(np.float32)
    vectors: NDArray[np.float32] = values * read_tensor(path, f"{name}_scale", layer)
    vectors += read_tensor(path, f"{name}_mean", layer)
    return vectors


def read_tensor(path: Path, name: str, layer: int | None = None) -> NDArray[Any]:
    """A tensor of a block, or one layer of it, checked against its digest.

    Raises
    ------
    UserError
        If the file is damaged.
    """
    with _opened(path) as (file, digests):
        values = np.asarray(file.get_tensor(name) if layer is None else file.get_slice(name)[layer])
        if digests[_key(name, layer)] != _content_digest(values):
            raise ValueError(CHANGED)
    return values


def check_block(path: Path) -> None:
    """Check everything in a block against its digests.

    Raises
    ------
    UserError
        If the file is damaged.
    """
    with _opened(path) as (file, digests):
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if digests != _content_digests(tensors):
            raise ValueError(CHANGED)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, dict[str, str]]]:
    """A block and its digests; whatever is wrong with it is one error."""
    try:
        with safe_open(path, "np") as file:
            yield file, json.loads(file.metadata()[DIGESTS])
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is damaged: {error}",
            hint="run it again: its vectors are then computed again",
        ) from None


def _content_digests(tensors: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Digests of every part that is read at a time: layers where there are any."""
    digests: dict[str, str] = {}
    for name, values in tensors.items():
        parts = [(None, values)] if name in WITHOUT_LAYERS else enumerate(values)
        digests |= {_key(name, layer): _content_digest(part) for layer, part in parts}
    return digests


def _content_digest(values: NDArray[Any]) -> str:
    return digest_of(str(values.dtype), np.ascontiguousarray(values).data)


def _key(name: str, layer: int | None = None) -> str:
    return name if layer is None else f"{name}/{layer}"
